"""Vectors that need not be made: those that come with a source, and those of a file of vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..errors import BackendUnavailableError
from ..importers.reader import Copied, Found, Noted
from ..protocols import Embedder, Floats, Put
from ..records import HIDDEN_KINDS, Record
from ..text.keys import dense_key
from .same_space import same_space
from .vector_cache import VectorCache


class GivenVectors:
    """Finds vectors for what an import puts, and tells what became of them. ``batch`` texts are embedded at once."""

    def __init__(self, embedder: Embedder, cache: VectorCache | None, *, batch: int) -> None:
        self._embedder, self._cache, self._batch = embedder, cache, batch
        self._fit: bool | None = None
        self._counts: Counter[str] = Counter()

    def judge(self, batch: Sequence[Found]) -> None:
        """Find out once, from the first batch with vectors, whether those of the source can be taken over."""
        if self._fit is not None:
            return
        pairs = [
            (dense_key(record), vector)
            for found in batch
            if (vector := _vector(found)) is not None and (record := _record(found)) is not None
        ]
        if pairs:
            texts, vectors = zip(*pairs, strict=True)
            self._fit = same_space(self._embedder, texts, vectors)

    def of(self, found: Found) -> Floats | None:
        """Return the vector that came with an item, if it can be used."""
        return _vector(found) if self._fit else None

    def note(self, found: Found) -> None:
        """Count the vector of an item that was stored."""
        if _vector(found) is not None:
            self._counts["fit" if self._fit else "unfit"] += 1

    def fill(self, puts: tuple[Put, ...]) -> tuple[Put, ...]:
        """Give the newest version of each item its vector from the file, embedding what is not there yet."""
        if self._cache is None:
            return puts
        newest = {put.id: put for put in puts if put.vector is None and is_embedded(put)}
        keys = [dense_key(put.record) for put in newest.values() if put.record is not None]
        try:
            rows, made = self._cache.rows(keys, batch=self._batch)
        except BackendUnavailableError:
            return puts  # stored without; the queue of the memory announces it, and tries again
        self._counts["made"] += made
        self._counts["taken"] += len(keys) - made
        vectors = dict(zip(map(id, newest.values()), rows, strict=True))
        return tuple(replace(put, vector=vectors.get(id(put), put.vector)) for put in puts)

    def notes(self) -> Iterator[str]:
        """Yield sentences on what became of them."""
        if self._cache is not None:
            yield (
                f"{self._counts['taken']} vectors came from {self._cache.path}, "
                f"{self._counts['made']} were made and added to it"
            )
        if fit := self._counts["fit"]:
            yield f"{fit} vectors of the source are of this memory's embedding space and were taken over"
        if unfit := self._counts["unfit"]:
            yield (
                f"{unfit} vectors of the source could not be shown to be of this memory's embedding space: "
                "their texts are embedded anew"
            )


def is_embedded(put: Put) -> bool:
    """Return whether what is put gets a vector."""
    return put.record is not None and put.record.kind not in HIDDEN_KINDS


def _vector(found: Found) -> Floats | None:
    vector = found.item.vector if isinstance(found.item, (Copied, Noted)) else None
    if vector is None or not np.isfinite(vector).all() or not vector.any():
        return None
    return vector


def _record(found: Found) -> Record | None:
    if isinstance(found.item, Copied):
        return found.item.versions[-1].record
    return found.item.record if isinstance(found.item, Noted) else None
