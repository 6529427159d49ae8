"""Recall of the same conversations with their vectors in LlamaIndex vector stores, beside the store's own, in one run.

    python benchmarks/vector_stores.py PATH/locomo-dev.json FOLDER ENGINE [ENGINE ...] [--conversations 3]

An ENGINE is one of ``chroma``, ``qdrant``, ``lancedb``, ``milvus`` (the embedded one, or the server that
``SILTSTONE_MILVUS`` names) and ``simple``; the texts are in a folder of FOLDER each time, but for ``simple``.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from engines import CUTS, show_head, show_row
from siltstone.evaluate import locomo
from siltstone.evaluate.report import difference
from siltstone.evaluate.run import Run, measure
from siltstone.evaluate.watch import Remembered
from siltstone.models.resolve import resolve_embedder
from siltstone.opening import open_store
from siltstone.protocols import Store
from siltstone.stores.vectorstore.opening import over

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from vector_stores import ENGINES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("engines", nargs="+", choices=sorted(ENGINES), metavar="ENGINE")
    parser.add_argument("--conversations", type=int, default=10)
    arguments = parser.parse_args()
    benchmark = locomo.load(arguments.file)
    benchmark = dataclasses.replace(benchmark, haystacks=benchmark.haystacks[: arguments.conversations])
    arguments.folder.mkdir(parents=True)
    embedder = Remembered(resolve_embedder(None), arguments.folder / "vectors")
    show_head("vectors in")
    first: Run | None = None
    for engine in ("itself", *arguments.engines):
        place = arguments.folder / engine
        location = ":memory:" if engine == "simple" else str(place / "store")
        handle = open_store(
            location, durability="fsync", read_only=False, create=True, lock_timeout=10.0, history=20, key=None
        )
        store: Store = handle.store
        if engine != "itself":
            made = ENGINES[engine](place / "vectors", embedder.dim)
            store = over(handle.store, made, embedder, outage="refuse", writes=True)
        run = measure(benchmark, store, embedder=embedder, cuts=CUTS)
        embedder.save()
        show_row(engine, run)
        if first is not None:
            print(difference(run, first), flush=True)
        first = first or run


if __name__ == "__main__":
    main()
