"""The same work through what a user would pick instead of siltstone, side by side, in turns.

    python -m venv /tmp/peers && /tmp/peers/bin/pip install -r benchmarks/peers/requirements.txt .
    python -m venv /tmp/txtai && /tmp/txtai/bin/pip install txtai==9.14.0 torch==2.13.0 onnxruntime .
    python benchmarks/peers locomo10.json --python /tmp/peers/bin/python --python /tmp/txtai/bin/python \\
        --out benchmarks/results/peers.json

A turn at a time is added, each stored as the store's documentation stores it; the store is opened by another process
and searched; turns are changed and deleted; a writer is killed. ``--turns 1000`` is a quick run. A step ends after
``--cap`` seconds of CPU, and its figure is that of what was done; what is missing then is added at once, so that all
searches are over the same number of rows. ``--cap 0 --rounds 1 --kills 12`` fills the stores at once and only kills.
siltstone and the limit run under this interpreter, each other store under the first ``--python`` that has its packages.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from embedder import SharedEmbedder
from figures import LIMIT, OURS, table
from rounds import LATE, Contender, Round
from stores import STORES
from work import Work, make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="LoCoMo's JSON file")
    parser.add_argument("--python", action="append", default=[], help="an interpreter that has peers; repeat it")
    parser.add_argument("--only", choices=STORES, action="append", help="this store alone; repeat it")
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--searches", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kills", type=int, default=4, help="per store and round")
    parser.add_argument("--cap", type=float, default=30, help="CPU seconds per store, step and round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="keeps work and vectors there, to go on with")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--more", action="store_true", help="adds rounds, of some stores perhaps, to those in --out")
    options = parser.parse_args()
    with nullcontext(options.work) if options.work else tempfile.TemporaryDirectory(prefix="peers-") as place:
        Path(place).mkdir(parents=True, exist_ok=True)
        found = run(Path(place).absolute(), options)
    print(table(found))


def run(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    work = make(options.data, options.turns, searches=options.searches, later=LATE + 60, seed=options.seed)
    work.save(place / "work.json")
    pythons = _interpreters(options.only or STORES, options.python)
    found: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "turns": len(work.turns),
        "users": work.users,
        "searches": options.searches,
        "cap_s": options.cap,
        "kills": options.kills,
        "machine": _machine(),
        "left out": [name for name in options.only or STORES if name not in pythons],
        "embedder": _embed(place, work),
        "rounds": [],
    }
    if options.more:
        before = json.loads(options.out.read_text())
        if any(before[key] != found[key] for key in ("turns", "searches", "cap_s", "kills")):
            raise SystemExit(f"{options.out} has rounds of another size")
        found = before
    chance = random.Random(options.seed + len(found["rounds"]))
    contenders = [Contender(name, python, place) for name, python in pythons.items()]
    for number in range(options.rounds):
        load = os.getloadavg()[0]
        for one in contenders:
            one.begin(number)
        Round(contenders, work, options.cap, chance).run(options.kills)
        found["rounds"].append({"load": load, "stores": {one.name: one.found for one in contenders}})
        shutil.rmtree(place / f"round-{number}", ignore_errors=True)
        if options.out:
            options.out.write_text(json.dumps(found) + "\n")
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    return found


def _interpreters(names: Iterable[str], pythons: list[str]) -> dict[str, str]:
    """Return for each store the first interpreter that has its packages; ours and the limit run under this one."""
    ask = "import json, importlib.metadata as m; print(json.dumps([d.metadata['Name'] for d in m.distributions()]))"
    has: dict[str, set[str]] = {}
    for python in pythons or [sys.executable]:
        told = subprocess.run([python, "-c", ask], stdout=subprocess.PIPE, check=True).stdout
        has[python] = {name.lower().replace("_", "-") for name in json.loads(told)}
    found: dict[str, str] = {}
    for name in names:
        packages = set(STORES[name][1])
        fit = [python for python in has if packages <= has[python]]
        if name in (OURS, LIMIT) or fit:
            found[name] = sys.executable if name in (OURS, LIMIT) else fit[0]
    return found


def _embed(place: Path, work: Work) -> dict[str, Any]:
    """Fill the cache of vectors, and time the model alone, one text at a time."""
    embedder = SharedEmbedder(place)
    texts = [turn.line for turn in [*work.turns, *work.later, *work.changed]]
    embedder.fill(place, texts, [question.text for question in work.questions])
    embedder.live = True
    embedder.warm()
    figures: dict[str, Any] = {}
    for kind, ask in (("turn", lambda text: embedder.embed_documents([text])), ("question", embedder.embed_query)):
        some = texts[:100] if kind == "turn" else [question.text for question in work.questions[:100]]
        wall, cpu = time.perf_counter(), time.process_time()
        for text in some:
            ask(text)
        figures[kind] = {"wall": (time.perf_counter() - wall) / 100, "cpu": (time.process_time() - cpu) / 100}
    return figures


def _machine() -> dict[str, Any]:
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    return {
        "cpu": cpu.partition(": ")[2],
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "file system": subprocess.run(["df", "-T", "."], capture_output=True, text=True).stdout.split()[-6:-5],
        "commit": _told("git", "describe", "--always", "--dirty").strip(),
    }


def _told(*command: str) -> str:
    return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
