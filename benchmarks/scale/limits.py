"""What the figures are set against: a bare writer of JSON Lines, and bare FAISS over the same rows."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np

from siltstone import Message
from siltstone.protocols import Floats

FLAT = 32_768
"""Rows up to which the bare index is flat, as ours is; above it is RaBitQ with an exact re-rank."""
PROPOSED = 800
"""Rows that are re-ranked; ours proposes as many for a search."""


class JsonLines:
    """Appends messages as JSON Lines, on disk before ``add`` returns; with ``halves`` their float16 vectors too."""

    def __init__(self, folder: Path, *, halves: bool) -> None:
        folder.mkdir(parents=True)
        self._lines = os.open(folder / "messages.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._halves = os.open(folder / "vectors.f16", os.O_CREAT | os.O_WRONLY | os.O_APPEND) if halves else -1

    def add(self, messages: Sequence[Message], vectors: Floats, session_id: str) -> None:
        lines = [
            json.dumps(
                {
                    "id": os.urandom(10).hex(),
                    "session": session_id,
                    "role": message.role,
                    "content": message.content,
                    "time": message.created_at and message.created_at.isoformat(),
                }
            )
            for message in messages
        ]
        if self._halves >= 0:
            os.write(self._halves, vectors.astype(np.float16).tobytes())
        os.write(self._lines, ("\n".join(lines) + "\n").encode())
        os.fdatasync(self._lines)


class BareFaiss:
    """FAISS as one would use it for these rows: flat, or RaBitQ with an exact re-rank from a file of float16."""

    def __init__(self, halves: np.memmap) -> None:  # type: ignore[type-arg]
        faiss.omp_set_num_threads(1)
        self._halves = halves
        self.flat = len(halves) <= FLAT
        dim = halves.shape[1]
        self._index = faiss.IndexFlatIP(dim) if self.flat else faiss.IndexRaBitQ(dim, faiss.METRIC_INNER_PRODUCT)
        if not self.flat:
            self._index.train(halves[:FLAT].astype(np.float32))
        for first in range(0, len(halves), FLAT):
            self._index.add(halves[first : first + FLAT].astype(np.float32))

    def search(self, query: Floats, k: int) -> list[int]:
        if self.flat:
            return list(self._index.search(query[None], k)[1][0].tolist())
        rows = np.sort(self._index.search(query[None], PROPOSED)[1][0])
        exact = faiss.IndexScalarQuantizer(len(query), faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        exact.add_sa_codes(np.ascontiguousarray(self._halves[rows]).view(np.uint8))
        return list(rows[exact.search(query[None], k)[1][0]].tolist())


def exact_best(halves: np.memmap, queries: Floats, k: int) -> list[list[int]]:  # type: ignore[type-arg]
    """Return the rows of highest product with each query, by brute force."""
    scores = np.concatenate(
        [halves[first : first + FLAT].astype(np.float32) @ queries.T for first in range(0, len(halves), FLAT)]
    )
    best = np.argpartition(-scores, k, axis=0)[:k]
    return [list(column) for column in best.T.tolist()]
