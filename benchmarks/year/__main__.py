"""A year of simulated life: does the profile stay right while 20,000 turns go by, and does anything grow with them?

    python benchmarks/year [--turns 20000] [--phrasing near seen wide wider apart fresh] [--seed 1] [--json FILE]
    python benchmarks/year --alone [--show]         # each phrasing by itself, and each change, without the year
    python benchmarks/year --phrasing near apart --bounded 4000     # the first of them once more, in a bounded store
    python benchmarks/year --plot year.png --json FILE      # a picture of an earlier run

The user moves house twice, changes job, gives up meat and coffee, gets a dog, makes plans that pass, and repeats all of
it now and then, in English and Chinese, among small talk. Each day is a session; the memory is consolidated every
night. At each month's end the profile section is compared with the truth: what holds must be in it, what holds no
longer must not.

The phrasings are sets, each of which tells a whole year of its own. ``near`` are of the kind that the rules were
written for; ``seen``, ``wide`` and ``wider`` were written apart from the rules, and what they showed has gone into
these since; ``apart`` were written with ``seen`` and split off by lot, ``fresh`` after those two and tell another life:
no failure of these two has been looked at. Vectors are those of ``HashEmbedder``: words decide
here, and the time is that of the memory, not of a model. ``--capacity`` bounds the records of the store.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # for what all benchmarks share

from alone import changed, table, understood
from life import DAYS, PHRASINGS, START, Life, judge, talk
from machine import machine

from siltstone import Settings, TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from siltstone.upkeep import compact

QUESTIONS = ("Where do I live?", "What am I allergic to?", "我现在在哪里工作？", "What is my dog called?", "Any plans?")


@dataclass(frozen=True)
class Month:
    """What was measured at a month's end; ``consolidate_s`` is the CPU time of the whole month's nights."""

    month: int
    turns: int
    right: int
    asked: int
    lost: list[str]
    stale: list[str]
    told: int
    derived: int
    records: int
    megabytes: float
    context_ms: float
    context_cpu_ms: float
    consolidate_s: float


def live(life: Life, turns: int, seed: int, folder: Path, capacity: int | None) -> list[Month]:
    """Live the year; return what was measured at each month's end."""
    dice = random.Random(seed)
    clock = FrozenClock(START)
    months = []
    spent, told = 0.0, 0
    with TieredMemory.open(
        folder,
        embedder=HashEmbedder(64),
        token_counter=WordCounter(),
        clock=clock,
        durability="os",
        settings=Settings(capacity_records=capacity),
    ) as memory:
        for day in range(DAYS):
            per_day = turns * (day + 1) // DAYS - turns * day // DAYS
            messages = list(talk(life, day, per_day - per_day % 2, dice))
            told += len(messages)
            memory.add(messages, session_id=f"day {day}")
            clock.advance(hours=12)
            began = time.process_time()
            memory.consolidate()
            spent += time.process_time() - began
            clock.advance(hours=12)
            if (day + 1) % 30 == 0 or day == DAYS - 1:
                if capacity is not None:
                    compact(folder)  # what was evicted leaves the files
                months.append(measure(memory, life, day, told, spent))
                spent = 0.0
    return months


def measure(memory: TieredMemory, life: Life, day: int, told: int, spent: float) -> Month:
    memory.flush()
    judged = judge(life, memory.context(sections=("profile",), max_tokens=2000).text, day)
    wall, cpu = [], []
    for question in QUESTIONS * 5:
        began, began_cpu = time.perf_counter(), time.process_time()
        memory.context(question, session_id=f"day {day}", max_tokens=1000)
        wall.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - began_cpu) * 1000)
    stats = memory.stats()
    return Month(
        month=-(-(day + 1) // 30),
        turns=told,
        right=judged.right,
        asked=judged.asked,
        lost=judged.lost,
        stale=judged.stale,
        told=life.told(day),
        derived=sum(stats.kinds.get(kind, 0) for kind in ("profile", "fact", "event")),
        records=stats.records,
        megabytes=round(sum(stats.bytes.values()) / 1e6, 2),
        context_ms=round(median(wall), 1),
        context_cpu_ms=round(median(cpu), 1),
        consolidate_s=round(spent, 2),
    )


def show(months: Sequence[Month]) -> None:
    print("month, turns, right, told, records derived, all records, MB, context ms (CPU), consolidation CPU s")
    for m in months:
        row = f"{m.month:3} {m.turns:6} {m.right:3}/{m.asked:<3} {m.told:4} {m.derived:5} {m.records:6}"
        row += f" {m.megabytes:6.1f} {m.context_ms:6.1f} ({m.context_cpu_ms:.1f}) {m.consolidate_s:5.1f}"
        print(
            row, "; ".join([f"{name} is missing" for name in m.lost] + [f"{name} is still there" for name in m.stale])
        )
    right, asked = sum(m.right for m in months), sum(m.asked for m in months)
    print(f"all months: {right} of {asked} right, {sum(len(m.lost) for m in months)} current ones missing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--phrasing", choices=PHRASINGS, nargs="+", default=PHRASINGS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--capacity", type=int, help="how many records the store may hold")
    parser.add_argument("--bounded", type=int, metavar="N", help="live the first year once more, in N records")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, or read them for --plot")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures of an earlier run")
    parser.add_argument("--alone", action="store_true", help="each phrasing and each change by itself")
    parser.add_argument("--show", action="store_true", help="with --alone: print what was not understood")
    chosen = parser.parse_args()
    if chosen.plot:
        from plot import draw

        draw(json.loads(chosen.json.read_text(encoding="utf-8")), chosen.plot)
        return
    found: dict[str, Any] = {"turns": chosen.turns, "seed": chosen.seed, "machine": machine(), "phrasings": {}}
    for phrasing in chosen.phrasing:
        life = Life.load(phrasing)
        if chosen.alone:
            tables = {"understood": table(understood(life), chosen.show), "changed": table(changed(life), chosen.show)}
            print(phrasing, json.dumps(tables), flush=True)
            found["phrasings"][phrasing] = tables
            continue
        with tempfile.TemporaryDirectory() as folder:
            months = live(life, chosen.turns, chosen.seed, Path(folder) / "memory", chosen.capacity)
        print(f"\n{phrasing}:")
        show(months)
        found["phrasings"][phrasing] = [asdict(month) for month in months]
    if chosen.bounded:
        life = Life.load(chosen.phrasing[0])
        with tempfile.TemporaryDirectory() as folder:
            months = live(life, chosen.turns, chosen.seed, Path(folder) / "memory", chosen.bounded)
        print(f"\n{chosen.phrasing[0]}, at most {chosen.bounded} records:")
        show(months)
        found["bounded"] = {"records": chosen.bounded, "months": [asdict(month) for month in months]}
    if chosen.json:
        chosen.json.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
