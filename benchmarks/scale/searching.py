"""Searching: milliseconds of a whole search without the embedding, against bare FAISS; recall of the nearest."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from clock import Times
from data import DIM, SESSION, Known, Memories
from limits import BareFaiss, exact_best

from siltstone import TieredMemory
from siltstone.protocols import Query

QUESTIONS: Final = 200
JUDGED: Final = 100
K: Final = 10
_NO_TERMS: Final = "what was it with that?"
"""Stop words only: such a question leaves the lexical arm nothing to do."""


def search(folder: Path, halves_file: Path, count: int) -> dict[str, Any]:
    """Return times and recall over the ``count`` messages of a store whose vectors are in ``halves_file`` too."""
    halves = np.memmap(halves_file, np.float16, "r", shape=(count, DIM))
    bare = BareFaiss(halves)
    memories, embedder = Memories(), Known()
    asked = [memories.question(seed, count // SESSION) for seed in range(QUESTIONS)]
    by_words, by_nearness, limit = Times(), Times(), Times()
    with TieredMemory.open(folder, embedder=embedder, read_only=True) as memory:
        for warm in (True, False):
            for text, vector in asked[:20] if warm else asked:
                embedder.add(text, vector)
                embedder.add(_NO_TERMS, vector)
                whole, dense, index = (Times(), Times(), Times()) if warm else (by_words, by_nearness, limit)
                with whole.watch():
                    memory.search(text, top_k=K)
                with dense.watch():
                    memory.search(_NO_TERMS, top_k=K)
                with index.watch():
                    bare.search(vector, K)
        store = memory._engine.store
        vectors = [vector for _, vector in asked[:JUDGED]]
        exact = exact_best(halves, np.stack(vectors), K)
        ours = [_nearest(store.candidates("default", Query((), vector)).dense) for vector in vectors]
        theirs = [bare.search(vector, K) for vector in vectors]
    return {
        "rows": count,
        "bare_index": "flat" if bare.flat else "RaBitQ, exact re-rank of 800",
        "search_ms": by_words.middle(1e-3),
        "search_without_words_ms": by_nearness.middle(1e-3),
        "bare_ms": limit.middle(1e-3),
        "over_bare": {key: by_nearness.middle()[key] / limit.middle()[key] for key in ("wall", "cpu")},
        "beyond_bare_ms": {key: by_nearness.middle(1e-3)[key] - limit.middle(1e-3)[key] for key in ("wall", "cpu")},
        "recall_at_10": _recall(ours, exact),
        "bare_recall_at_10": _recall(theirs, exact),
    }


def _nearest(dense: Any) -> list[int]:
    return list(np.argsort(-np.where(np.isnan(dense), -2, dense))[:K].tolist())


def _recall(found: list[list[int]], exact: list[list[int]]) -> float:
    return float(np.mean([len(set(some) & set(best)) / K for some, best in zip(found, exact, strict=True)]))
