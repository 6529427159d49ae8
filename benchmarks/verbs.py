"""What each verb costs a user of 100, 1,000 and 10,000 turns, in CPU, beside the same in the code of other checkouts.

    python benchmarks/verbs.py [--sizes 100 1000 10000] [--rounds 10] [--embedder known|default] [--json FILE]
    python benchmarks/verbs.py --against CHECKOUT …         # in turns with the code of other working trees

A folder store with one user per size: the year's talk of ``benchmarks/year``, in sessions of 50 turns. ``known`` looks
vectors of 384 dimensions up by a text's checksum, so that the figures are the memory's own; ``default`` is the embedded
model. Each code has a process with a copy of the store, and another copy to open. Rounds go verb by verb from process
to process, the first one being another each time: exchanges are added, questions asked, a context of 1,000 tokens made
for each, turns of the new ones updated and forgotten. ``open`` is a process of its own: opening, and a first search of
the user. CPU is that of the process, other threads included, the median of all calls of all rounds, and beside it the
first quartile, which tells more where the machine is busy.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
from machine import machine
from profiles import QUESTIONS
from year.life import ASKED, START, THINGS, Life, talk

import siltstone
from siltstone import TieredMemory
from siltstone.testing import FrozenClock, WordCounter

VERBS = ("add", "search", "context", "update", "forget", "open")
EACH = 10
"""Calls of a verb in a round."""
SESSION = 50
"""Turns of a session."""
DIM = 384


class KnownVectors:
    """Gives each text one of some thousand fixed vectors, by its checksum: no model, and hardly any time."""

    name, dim, engine = "known", DIM, "known"

    def __init__(self) -> None:
        rows = np.random.default_rng(1).standard_normal((4096, DIM), np.float32)
        self._rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return self._rows[[zlib.crc32(text.encode()) % len(self._rows) for text in texts]]

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


def opened(folder: Path, embedder: str) -> TieredMemory:
    model = KnownVectors() if embedder == "known" else None
    return TieredMemory.open(
        folder, embedder=model, token_counter=WordCounter(), clock=FrozenClock("2025-01-01T12:00Z")
    )


def build(folder: Path, sizes: Iterable[int], embedder: str) -> None:
    life = Life.load("near")
    with opened(folder, embedder) as memory:
        for size in sizes:
            user, dice = memory.for_user(str(size)), random.Random(size)
            for session in range(size // SESSION):
                turns = [
                    {"role": role, "content": text, "name": "Ana" if role == "user" else None}
                    for role, text in talk(life, session % 366, SESSION, dice)
                ]
                user.add(turns, session_id=f"session {session}", created_at=START.replace(day=1 + session % 28))
            user.flush()


class Worker:
    """One code with one copy of the store; ``do`` answers with the seconds of CPU of each call."""

    def __init__(self, folder: Path, embedder: str) -> None:
        self._memory = opened(folder, embedder)
        self._added: dict[str, list[str]] = {}

    def do(self, verb: str, size: str, number: int) -> list[float]:
        memory, dice = self._memory.for_user(size), random.Random(number)
        session = f"session {int(size) // SESSION - 1}"
        asked = [dice.choice(ASKED)[0].format(f"{dice.choice(THINGS)} {dice.randrange(1000)}") for _ in range(EACH)]
        asked[::5] = [dice.choice(QUESTIONS) for _ in asked[::5]]

        def add(at: int) -> None:
            pair = [("user", asked[at]), ("assistant", f"That is answer {number}-{at}.")]
            self._added.setdefault(size, []).extend(memory.add(pair, session_id=f"new {number}"))

        def update(at: int) -> None:
            memory.update(self._added[size][at], text=f"That is text {number}-{at}.")

        calls: dict[str, Callable[[int], object]] = {
            "add": add,
            "search": lambda at: memory.search(asked[at]),
            "context": lambda at: memory.context(asked[at], session_id=session, max_tokens=1000),
            "update": update,
            "forget": lambda at: memory.forget(ids=[self._added[size].pop(0)]),
        }
        spent = []
        for at in range(EACH):
            began = time.process_time()
            calls[verb](at)
            spent.append(time.process_time() - began)
        if verb == "forget":
            memory.forget(ids=self._added.pop(size))
        return spent


def open_once(folder: str, embedder: str, size: str) -> None:
    """Print the seconds of CPU that opening a store takes, with a first search of one user."""
    began = time.process_time()
    memory = opened(Path(folder), embedder)
    memory.for_user(size).search("Where do I live?")
    print(time.process_time() - began)
    memory.close()


class Contender:
    """A checkout, its copy of the store and its process."""

    def __init__(self, tree: Path, store: Path, work: Path, embedder: str) -> None:
        self._env = os.environ | {"PYTHONPATH": str(tree / "core")}
        self._work, self._embedder = work / tree.name, embedder
        for place in ("changed", "opened"):
            shutil.copytree(store, self._work / place)
        self.ms: dict[tuple[str, str], list[float]] = {}
        call = [sys.executable, __file__, "--worker", str(self._work / "changed"), embedder]
        self._process = subprocess.Popen(
            call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._env, bufsize=1
        )

    def do(self, verb: str, size: str, number: int, *, counts: bool) -> None:
        if verb == "open":
            call = [sys.executable, __file__, "--open", str(self._work / "opened"), self._embedder, size]
            done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, env=self._env)
            spent = [float(done.stdout)]
        else:
            assert self._process.stdin
            assert self._process.stdout
            print(json.dumps([verb, size, number]), file=self._process.stdin, flush=True)
            spent = json.loads(self._process.stdout.readline())
        if counts:
            self.ms.setdefault((verb, size), []).extend(1000 * one for one in spent)

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["100", "1000", "10000"])
    parser.add_argument("--verbs", nargs="+", default=VERBS, choices=VERBS, help="update and forget need add")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--embedder", choices=("known", "default"), default="known")
    parser.add_argument("--against", type=Path, nargs="+", metavar="CHECKOUT", default=[], help="working trees")
    parser.add_argument("--store", type=Path, help="keep the store there, and use the one that is there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--open", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.open:
        open_once(*chosen.open)
        return
    if chosen.worker:
        worker = Worker(Path(chosen.worker[0]), chosen.worker[1])
        for line in sys.stdin:
            print(json.dumps(worker.do(*json.loads(line))), flush=True)
        return
    with tempfile.TemporaryDirectory() as work:
        store = chosen.store or Path(work, "store")
        if not store.exists():
            build(store, map(int, chosen.sizes), chosen.embedder)
        here = Path(siltstone.__file__).parents[2]
        trees = [*(tree.resolve() for tree in chosen.against), here]
        contenders = {tree.name: Contender(tree, store, Path(work), chosen.embedder) for tree in trees}
        for number in range(-1, chosen.rounds):  # the first loads what is loaded at first use
            order = list(contenders.values())
            order = order[number % len(order) :] + order[: number % len(order)]
            for verb in chosen.verbs:
                for size in chosen.sizes:
                    for contender in order:
                        contender.do(verb, size, number, counts=number >= 0)
        for contender in contenders.values():
            contender.close()
    found = {
        name: {f"{verb} {size}": [round(ms, 3) for ms in spent] for (verb, size), spent in contender.ms.items()}
        for name, contender in contenders.items()
    }
    print("| ms of CPU a call, median (first quartile) |", " | ".join(found), "|\n|---" + "|---" * len(found) + "|")
    for step in found[here.name]:
        cells = [f"{median(one[step]):.2f} ({quantiles(one[step])[0]:.2f})" for one in found.values()]
        print(f"| {step} |", " | ".join(cells), "|")
    if chosen.json:
        told = {
            name: {step: {"median": median(ms), "first quartile": quantiles(ms)[0]} for step, ms in one.items()}
            for name, one in found.items()
        }
        how = {"machine": machine(), "embedder": chosen.embedder, "rounds": chosen.rounds, "calls a round": EACH}
        how["unit"] = "ms of CPU a call"
        chosen.json.write_text(json.dumps(how | told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
