"""Do digests help or harm recall? Recall at turn level before a LoCoMo store is consolidated, and after it.

    python benchmarks/compression/keys.py PATH/locomo-dev.json [--conversations 5] [--vectors FOLDER] [--json FILE]

As in a context, a search that finds a statement or a summary of few turns serves the turns that it rests on
(``expand="source"``): these are its keys. A summary of many turns takes a place, and counts for nothing. The same
store is asked the same questions twice; the interval is a paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from siltstone import Message, TieredMemory
from siltstone.evaluate.cases import Haystack
from siltstone.evaluate.locomo import load
from siltstone.evaluate.watch import Remembered
from siltstone.models.e5 import E5Embedder
from siltstone.records import TURN_PREFIX
from siltstone.testing import FrozenClock

CUTS = (5, 10, 20)


def ask(memory: TieredMemory, haystack: Haystack, units: dict[str, str]) -> list[list[float]]:
    """Return for each question the share of its gold among the first results, by cut."""
    found = []
    for question in haystack.questions:
        hits = memory.search(question.text, top_k=max(CUTS), now=haystack.asked_at, expand="source")
        ranking = [units.get(hit.record.id, "") for hit in hits]
        found.append([len(question.gold.intersection(ranking[:cut])) / len(question.gold) for cut in CUTS])
    return found


def before_and_after(haystack: Haystack, embedder: Remembered) -> tuple[list[list[float]], list[list[float]], float]:
    """Return what is found before and after consolidation, and how many times smaller the digests are."""
    clock = FrozenClock(haystack.asked_at)
    with TieredMemory.open(":memory:", embedder=embedder, clock=clock) as memory:
        units: dict[str, str] = {}
        for session_id, turns in haystack.sessions():
            said = [Message(one.role, one.text, name=one.speaker, created_at=one.time) for one in turns]
            ids = memory.add(said, session_id=session_id)
            units.update((TURN_PREFIX + id, one.id) for id, one in zip(ids, turns, strict=True))
        memory.flush()
        before = ask(memory, haystack, units)
        clock.advance(hours=timedelta(days=1).total_seconds() / 3600)
        memory.consolidate()
        memory.flush()
        return before, ask(memory, haystack, units), memory.stats().compression or 0.0


def interval(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Return the 95% interval of the mean difference."""
    draw = random.Random(7)
    differences = [b - a for a, b in zip(before, after, strict=True)]
    means = sorted(sum(draw.choices(differences, k=len(differences))) / len(differences) for _ in range(1000))
    return means[25], means[975]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--conversations", type=int, default=5)
    parser.add_argument("--vectors", type=Path, help="keep vectors there between runs")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first ones")
    parser.add_argument("--engine", choices=("c", "onnx"))
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        embedder = Remembered(E5Embedder(engine=chosen.engine), chosen.vectors or folder)
        before: list[list[float]] = []
        after: list[list[float]] = []
        for haystack in load(chosen.path).haystacks[chosen.skip : chosen.conversations]:
            first, second, ratio = before_and_after(haystack, embedder)
            before += first
            after += second
            embedder.save()
            print(f"{haystack.name}: {len(first)} questions, digests {ratio} times smaller", flush=True)
    figures = {}
    for place, cut in enumerate(CUTS):
        one, other = [row[place] for row in before], [row[place] for row in after]
        low, high = interval(one, other)
        figures[f"R@{cut}"] = {
            "without digests": round(sum(one) / len(one), 4),
            "with digests": round(sum(other) / len(other), 4),
            "interval of the difference": [round(low, 4), round(high, 4)],
        }
        print(f"R@{cut}", figures[f"R@{cut}"])
    if chosen.json:
        chosen.json.write_text(json.dumps({"questions": len(before), **figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
