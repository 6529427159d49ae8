"""Recall of the same conversations on each engine, in one run: they all rank by the same rules.

    python benchmarks/engines.py PATH/locomo-dev.json LOCATION [LOCATION ...] [--vectors FOLDER]

A LOCATION is a new folder, ``sqlite:///FILE`` or ``postgresql://…``; the first is what the others are compared with, by
paired bootstrap over conversations. Figures are in ``results/engines.json``.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from siltstone.evaluate import locomo
from siltstone.evaluate.report import difference
from siltstone.evaluate.run import Run, measure
from siltstone.evaluate.watch import Remembered
from siltstone.models.resolve import resolve_embedder

CUTS = (1, 5, 10, 20)


def show_head(first: str) -> None:
    print(f"| {first} | " + " | ".join(f"R@{cut}" for cut in CUTS) + " | search p50, ms | adds/s |")
    print("|---|" + "---|" * (len(CUTS) + 2))


def show_row(name: str, run: Run) -> None:
    figures = " | ".join(f"{statistics.mean(one.recall(cut) for one in run.questions):.4f}" for cut in CUTS)
    spent = statistics.median(run.search_ms), run.adds / (run.add_seconds - run.embed_seconds)
    print(f"| {name} | {figures} | {spent[0]:.1f} | {spent[1]:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("locations", nargs="+", metavar="LOCATION")
    parser.add_argument("--vectors", type=Path, default=Path("vectors"))
    arguments = parser.parse_args()
    benchmark = locomo.load(arguments.file)
    embedder = Remembered(resolve_embedder(None), arguments.vectors)
    show_head("location")
    first: Run | None = None
    for location in arguments.locations:
        run = measure(benchmark, location, embedder=embedder, cuts=CUTS)
        embedder.save()
        show_row(location, run)
        if first is not None:
            print(difference(run, first))
        first = first or run


if __name__ == "__main__":
    main()
