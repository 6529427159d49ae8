"""Kill a writer with SIGKILL while it stores a row, and look at what is left: ours beside its peers.

    python -m venv /tmp/peers && /tmp/peers/bin/pip install mem0ai faiss-cpu langchain langchain-community \\
        llama-index-core
    python benchmarks/kill_peers --python /tmp/peers/bin/python --out benchmarks/results/kill-peers.json

Each round begins with a store of ``--rows`` rows. A process adds rows one by one, each stored in the way that the
peer's documentation gives; after the second one it is killed at a random moment of the next. Another process then
opens the store and reads all rows. Each store is first read without a kill.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stores import PEERS

FIRST = 1_000_000
"""Number of the first row that is added."""
ADDED = 1_000


class Round:
    """Rows acknowledged by a writer that was killed, and what could be read afterwards."""

    def __init__(self, python: str, name: str, folder: Path, rows: int, chance: random.Random) -> None:
        self._call = [python, str(Path(__file__).with_name("child.py"))]
        self._name, self._folder, self._rows = name, folder, rows
        self.stored: list[int] = []
        self._kill(chance)

    def _kill(self, chance: random.Random) -> None:
        call = [*self._call, "write", self._name, str(self._folder), str(FIRST), str(ADDED)]
        writer = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        usual = 0.0
        for line in writer.stdout:
            event = json.loads(line)
            if "stored" in event:
                self.stored.append(event["stored"])
                usual = event["seconds"]
            elif len(self.stored) == 2:
                time.sleep(chance.uniform(0, usual))
                writer.send_signal(signal.SIGKILL)
                break
        rest, errors = writer.communicate()
        self.stored += [event["stored"] for event in map(json.loads, rest.splitlines()) if "stored" in event]
        if len(self.stored) < 2:
            raise RuntimeError(f"{self._name} did not write: {errors[-2000:]}")

    def outcome(self) -> dict[str, Any]:
        return _read(self._call, self._name, self._folder, [*range(self._rows), *self.stored])


def _read(child: list[str], name: str, folder: Path, expected: Sequence[int]) -> dict[str, Any]:
    """Return what another process finds of the rows that were acknowledged."""
    read = subprocess.run([*child, "read", name, str(folder), "0", "0"], capture_output=True, text=True)
    if read.returncode:
        return {"outcome": "unopenable", "error": read.stderr.strip().splitlines()[-1][:200]}
    found = Counter(json.loads(read.stdout.splitlines()[-1]))
    lost = sum(str(n) not in found for n in expected)
    doubled = sum(count > 1 for count in found.values())
    what = "rows lost" if lost else "rows doubled" if doubled else "fine"
    return {"outcome": what, "acknowledged": len(expected), "lost": lost, "doubled": doubled}


def test(python: str, name: str, rows: int, rounds: int, seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    results: list[dict[str, Any]] = []
    child = [python, str(Path(__file__).with_name("child.py"))]
    with tempfile.TemporaryDirectory(prefix="kill-peers-") as place:
        full = Path(place) / "full"
        full.mkdir()
        filled = subprocess.run([*child, "fill", name, str(full), "0", str(rows)], capture_output=True, text=True)
        if filled.returncode:
            return {"cannot": filled.stderr.strip().splitlines()[-1][:300]}
        if (unhurt := _read(child, name, full, range(rows)))["outcome"] != "fine":
            return {"cannot": f"read back what was stored without a kill: {unhurt}"}
        for number in range(rounds):
            folder = Path(place) / f"round {number}"
            shutil.copytree(full, folder)
            results.append(Round(python, name, folder, rows, chance).outcome())
            shutil.rmtree(folder)
    told = subprocess.run([*child, "versions", name, "-", "0", "0"], capture_output=True, text=True, check=True)
    return {
        "versions": json.loads(told.stdout),
        "documentation": (PEERS[name].__doc__ or "").split(": ")[0],
        "rounds": rounds,
        "outcomes": dict(Counter(result["outcome"] for result in results)),
        "results": results,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the peers")
    parser.add_argument("--only", choices=PEERS, action="append")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {
        "rows": options.rows,
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "date": time.strftime("%Y-%m-%d"),
        "stores": {},
    }
    for name in options.only or PEERS:
        python = sys.executable if name == "siltstone" else options.python
        found["stores"][name] = test(python, name, options.rows, options.rounds, options.seed)
        print(name, found["stores"][name].get("outcomes", found["stores"][name]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
