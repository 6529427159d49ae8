"""What the command line takes to start: help, and a cold search, beside what interpreter and model take by themselves.

    python benchmarks/start_up.py [TURNS]

Each is a process of its own, seven times after a first one; the least CPU time of all its threads, and the least time
of the clock. Modules are compiled by the first one, as they are where a package is installed. The store has made-up
turns of 12 words with random vectors, in the space of the embedded model.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siltstone import Settings, TieredMemory
from siltstone.models.e5 import E5Embedder
from siltstone.protocols import Floats

TRIES = 7
SESSION = 500
WORDS = (
    "tea",
    "river",
    "bike",
    "garden",
    "piano",
    "report",
    "dog",
    "rain",
    "train",
    "茶",
    "城市",
    "会议",
    "自行车",
    "医院",
)
PYTHON = [sys.executable, "-c"]
QUESTION = "Where is the dog?"
LIMITS = {"siltstone --help": 0.4, "siltstone search": 1.5}
"""Seconds that they should stay under."""


@dataclass(frozen=True)
class Cost:
    """Seconds: of CPU, all threads together, and of the clock."""

    cpu: float
    wall: float


class RandomVectors:
    """The embedded model, whose documents get random vectors: to fill a store in seconds."""

    def __init__(self) -> None:
        self._inner = E5Embedder()
        self.name, self.dim = self._inner.name, self._inner.dim
        self._numbers = np.random.default_rng(1)

    def embed_documents(self, texts: list[str]) -> Floats:
        if len(texts) < SESSION:  # the text that the space is known by
            return self._inner.embed_documents(texts)
        rows = self._numbers.standard_normal((len(texts), self.dim)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Floats:
        return self._inner.embed_query(text)


def main() -> None:
    """Print a table in Markdown."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(prefix="siltstone-start-up-") as folder:
        store = Path(folder) / "memory"
        fill(store, turns)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "compiled")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        siltstone = [sys.executable, "-m", "siltstone"]
        model = "from siltstone.models.e5 import E5Embedder; E5Embedder().embed_query"
        costs = {
            "interpreter": cost([*PYTHON, "pass"]),
            "the same, numpy and FAISS": cost([*PYTHON, "import numpy, faiss"]),
            "the same, the model, one question": cost([*PYTHON, f"import faiss; {model}({QUESTION!r})"]),
            "siltstone --help": cost([*siltstone, "--help"]),
            "siltstone search": cost([*siltstone, "search", QUESTION, "--store", str(store)]),
        }
    print(f"{turns:,} turns; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| process | CPU, s | clock, s | should be under |\n|---|---|---|---|")
    for name, spent in costs.items():
        limit = f"{LIMITS[name]} s" if name in LIMITS else ""
        print(f"| {name} | {spent.cpu:.2f} | {spent.wall:.2f} | {limit} |")
    share = costs["the same, the model, one question"].cpu / costs["siltstone search"].cpu
    print(f"\nOf a cold search {share:.0%} is the start of interpreter, libraries and model.")


def fill(store: Path, turns: int) -> None:
    """Make a store of so many turns."""
    chance = random.Random(1)
    settings = Settings(embed_batch=SESSION, embed_wait=600.0)
    with TieredMemory.open(store, embedder=RandomVectors(), settings=settings) as memory:
        for start in range(0, turns, SESSION):
            said = [("user", f"{' '.join(chance.choices(WORDS, k=12))} {n}") for n in range(start, start + SESSION)]
            memory.add(said, session_id=f"session {start}")


def cost(command: list[str]) -> Cost:
    """Return the least that a command takes."""
    costs = []
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    for _ in range(TRIES):
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        assert process.stderr is not None
        if status:
            raise SystemExit(process.stderr.read().decode())
        process.stderr.close()
        process.returncode = 0
        costs.append(Cost(used.ru_utime + used.ru_stime, wall))
    return Cost(min(one.cpu for one in costs), min(one.wall for one in costs))


if __name__ == "__main__":
    main()
