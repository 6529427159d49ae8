"""Where the CPU time of ``add``, ``search`` and ``context`` goes, on a store of 10,000 turns.

    python benchmarks/profiles.py [--turns 10000] [--rounds 5] [--deep] [--json FILE]
    python benchmarks/profiles.py --against CHECKOUT …      # in turns with the code of other working trees

The store holds the first days of the year that ``benchmarks/year`` tells, a session a day, consolidated every night, by
``HashEmbedder``. Then exchanges of two turns are added one by one, and 100 questions are asked, with and without a
context of 1,000 tokens around what is found. CPU is that of the process, other threads included, and the median of
``--rounds`` rounds; nothing watches it. Shares come from a second pass that looks at the stack whenever some
milliseconds of CPU have gone by: a sample counts for the function of siltstone that was at work, whatever it called of
numpy, FAISS or the kernel. ``--deep`` prints what was anywhere in the stack, too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

from machine import machine
from year.life import ASKED, START, THINGS, Life, talk

import siltstone
from siltstone import TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

PER_DAY = 54
"""Turns of a day, as in a year of 20,000."""
QUESTIONS = ("Where do I live?", "What am I allergic to?", "我现在在哪里工作？", "What is my dog called?", "Any plans?")
EACH = 100
"""Calls of a verb in a round."""
INTERVAL = 0.002
"""Seconds of CPU between two looks at the stack; the kernel rounds them up to its own tick."""
ROOT = os.path.dirname(siltstone.__file__) + os.sep


class Sampler:
    """Counts, while it runs, which functions of siltstone the process's CPU time is spent in."""

    def __init__(self) -> None:
        self.at_work: Counter[str] = Counter()
        self.anywhere: Counter[str] = Counter()

    @contextmanager
    def running(self) -> Iterator[None]:
        before = signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _look(self, _: int, frame: FrameType | None) -> None:
        names: list[str] = []
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(ROOT):
                module = code.co_filename[len(ROOT) : -len(".py")].replace(os.sep, ".")
                names.append(f"{module}:{code.co_name}")
            frame = frame.f_back
        if names:
            self.at_work[names[0]] += 1
            self.anywhere.update(set(names))


def build(folder: Path, turns: int) -> None:
    """Live as many days as make that many turns."""
    life, dice, clock = Life.load("near"), random.Random(1), FrozenClock(START)
    with opened(folder, clock) as memory:
        for day in range(-(-turns // PER_DAY)):
            memory.add(list(talk(life, day, PER_DAY, dice)), session_id=f"day {day}")
            clock.advance(hours=12)
            memory.consolidate()
            clock.advance(hours=12)
        memory.flush()


def opened(folder: Path, clock: FrozenClock) -> TieredMemory:
    return TieredMemory.open(
        folder, embedder=HashEmbedder(64), token_counter=WordCounter(), clock=clock, durability="os"
    )


def questions(seed: int) -> list[str]:
    """Return what is asked in a round: a fifth about what was told, the others about small talk."""
    dice = random.Random(seed)
    asked = [dice.choice(ASKED)[0].format(f"{dice.choice(THINGS)} {dice.randrange(1000)}") for _ in range(EACH)]
    asked[::5] = [dice.choice(QUESTIONS) for _ in asked[::5]]
    return asked


def verbs(memory: TieredMemory, day: int) -> dict[str, Callable[[int], None]]:
    """Return a round of each verb, by name; the argument tells rounds apart."""
    life = Life.load("near")

    def add(seed: int) -> None:
        turns = list(talk(life, day, 2 * EACH, random.Random(seed)))
        for at in range(0, 2 * EACH, 2):
            memory.add(turns[at : at + 2], session_id=f"round {seed}")

    def search(seed: int) -> None:
        for question in questions(seed):
            memory.search(question)

    def context(seed: int) -> None:
        for question in questions(seed):
            memory.context(question, session_id=f"day {day - 1}", max_tokens=1000)

    return {"search": search, "context": context, "add": add}


def measure(folder: Path, turns: int, rounds: int) -> dict[str, Any]:
    """Return ms of CPU a call, and how often each function was seen, by verb, over a copy of a store."""
    days = -(-turns // PER_DAY)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        shutil.copytree(folder, copy := Path(work, "memory"))
        with opened(copy, FrozenClock(START + timedelta(days=days))) as memory:
            for name, verb in verbs(memory, days).items():
                verb(-1)  # what is loaded at first use is loaded
                spent = []
                for number in range(rounds):
                    began = time.process_time()
                    verb(number)
                    spent.append(1000 * (time.process_time() - began) / EACH)
                sampler = Sampler()
                with sampler.running():
                    for number in range(rounds, 2 * rounds):
                        verb(number)
                found[name] = {"ms": spent, "at work": sampler.at_work, "anywhere": sampler.anywhere}
    return found


def elsewhere(checkout: Path, folder: Path, turns: int, rounds: int) -> dict[str, Any]:
    """Do what ``measure`` does in a process that runs the code of a checkout."""
    call = [sys.executable, __file__, "--measure", str(folder), "--turns", str(turns), "--rounds", str(rounds)]
    code = os.environ | {"PYTHONPATH": str(checkout / "core")}
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, env=code)
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def joined(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what several processes measured of the same code, as one."""
    return {
        verb: {
            "ms": [round(ms, 3) for one in measured for ms in one[verb]["ms"]],
            **{
                seen: dict(sum((Counter(one[verb][seen]) for one in measured), Counter[str]()).most_common(40))
                for seen in ("at work", "anywhere")
            },
            "samples": sum(sum(one[verb]["at work"].values()) for one in measured),
        }
        for verb in measured[0]
    }


def show(found: dict[str, dict[str, Any]], deep: bool) -> None:
    for verb in next(iter(found.values())):
        print(f"\n{verb}: " + "; ".join(f"{name} {median(one[verb]['ms']):.2f} ms" for name, one in found.items()))
        for seen in ("at work", "anywhere") if deep else ("at work",):
            rows = dict.fromkeys(name for one in found.values() for name in list(one[verb][seen])[:12])
            print(f"  {seen}, ms a call: {', '.join(found)}")
            for row in rows:
                ms = [
                    one[verb][seen].get(row, 0) / max(one[verb]["samples"], 1) * median(one[verb]["ms"])
                    for one in found.values()
                ]
                print("    " + " ".join(f"{one:7.2f}" for one in ms), row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=2, help="how many processes of each code, in turns")
    parser.add_argument("--against", type=Path, nargs="+", metavar="CHECKOUT", default=[], help="working trees")
    parser.add_argument("--deep", action="store_true", help="also what was anywhere in the stack")
    parser.add_argument("--work", type=Path, help="where the store's temporary folder is made")
    parser.add_argument("--store", type=Path, help="keep the store there, and use the one that is there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure(chosen.measure, chosen.turns, chosen.rounds)))
        return
    with tempfile.TemporaryDirectory(dir=chosen.work) as work:
        folder = chosen.store or Path(work, "memory")
        if not folder.exists():
            build(folder, chosen.turns)
        trees = {tree.name: tree for tree in chosen.against} | {"now": Path(ROOT).parents[1]}
        measured: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
        for _ in range(chosen.runs):
            for name, tree in trees.items():
                measured[name].append(elsewhere(tree.resolve(), folder, chosen.turns, chosen.rounds))
    found = {name: joined(ones) for name, ones in measured.items()}
    show(found, chosen.deep)
    if chosen.json:
        chosen.json.write_text(
            json.dumps({"machine": machine(), "turns": chosen.turns, **found}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
