"""Nearest vectors of one user, always through a FAISS index.

Up to ``FLAT_LIMIT`` rows the index is flat and gives the exact cosine of every row. Above it, RaBitQ (1 bit per
dimension, behind a random rotation) proposes and the float16 rows decide: the best are re-ranked exactly. FAISS ids
are positions in our own table of rows. New rows go to a small flat tail, the only part that changes, under a lock held
for microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeAlias

import faiss
import numpy as np
import numpy.typing as npt

from ..protocols import Bools, Floats
from .distinct import distinct
from .products import one_thread
from .whitening import SAMPLE, Whitening, whitening

Rows: TypeAlias = npt.NDArray[np.int32]
Halves: TypeAlias = npt.NDArray[np.float16]
Source: TypeAlias = Callable[[Rows], Halves]
"""Gives the float16 vectors of rows; a row of nan where there is none."""

FLAT_LIMIT: Final = 32_768
"""Rows up to which the index is flat: 3 ms a search, and exact for all rows."""
TAIL: Final = 4_096
"""Rows in the flat index that changes, before it is sealed."""
_MOST_AT_ONCE: Final = 32_768
GONE: Final = np.iinfo(np.int32).max
"""The row of a position whose row has gone altogether: beyond every view."""
_RERANK: Final = 4
"""Proposals of RaBitQ per row wanted; below 3 the recall on hard data falls under .99."""
_LEAST_PROPOSALS: Final = 400
_SEED: Final = 1
"""Of the rotation before RaBitQ; each part holds it, so that it matters to nobody what another FAISS draws."""
_SPACE_GROWTH: Final = 32
"""The user's space is measured anew after so many more vectors, and a quarter more."""


@dataclass(frozen=True)
class _Part:
    """A sealed index over the rows at positions ``start`` and up."""

    index: Any
    start: int
    exact: bool

    @property
    def end(self) -> int:
        return self.start + int(self.index.ntotal)


@dataclass(frozen=True)
class CodedVectors:
    """The sealed RaBitQ parts of an index, as bytes: position of the first row of each, and the rows."""

    dim: int
    starts: tuple[int, ...]
    parts: tuple[npt.NDArray[np.uint8], ...]
    rows: Rows


class Vectors:
    """The index of one user's vectors of width ``dim``."""

    def __init__(self, dim: int, source: Source, *, flat_limit: int = FLAT_LIMIT, tail: int = TAIL) -> None:
        self.dim = dim
        self._source = source
        self._flat_limit, self._most = flat_limit, tail
        self._rows: Rows = np.empty(0, np.int32)
        self._lock = Lock()
        self._parts: tuple[_Part, ...] = ()
        self._tail = faiss.IndexFlatIP(dim)
        self._tail_start = 0
        self._space: Whitening | None = None
        self._space_until = 1
        self._measuring = Lock()

    @classmethod
    def restored(cls, coded: CodedVectors, source: Source) -> Vectors:
        """Return the index that ``coded`` gave; checksums are the caller's: FAISS has none."""
        made = cls(coded.dim, source)
        made._rows = coded.rows.astype(np.int32)
        parts = zip(coded.parts, coded.starts, strict=True)
        made._parts = tuple(_Part(faiss.deserialize_index(np.array(part)), start, False) for part, start in parts)
        made._tail_start = len(made._rows)
        return made

    def coded(self) -> CodedVectors | None:
        """Return the RaBitQ parts, if any; the flat ones are made anew from the vectors in less time than is read."""
        coded = [part for part in self._parts if not part.exact]
        if not coded:
            return None
        rows = self._rows[: coded[-1].end].copy()
        parts = tuple(faiss.serialize_index(part.index) for part in coded)
        return CodedVectors(self.dim, tuple(part.start for part in coded), parts, rows)

    @property
    def rows(self) -> Rows:
        """The rows that are indexed, by position."""
        return self._rows[: self.count]

    @property
    def memory(self) -> int:
        """Bytes of memory: the index, and the table of rows."""
        with self._lock:
            indexes = [*(part.index for part in self._parts), self._tail]
        return self._rows.nbytes + sum(int(index.ntotal) * int(index.sa_code_size()) for index in indexes)

    @property
    def count(self) -> int:
        """Number of positions, those of dead rows included."""
        return self._tail_start + int(self._tail.ntotal)

    def add(self, rows: Rows, vectors: Halves) -> None:
        """Append the vectors of rows. One writer at a time."""
        for first in range(0, len(rows), _MOST_AT_ONCE):
            with one_thread():
                self._append(rows[first : first + _MOST_AT_ONCE], self.floats(vectors[first : first + _MOST_AT_ONCE]))
                if self._tail.ntotal >= self._most:
                    self._seal()

    def _append(self, rows: Rows, floats: Floats) -> None:
        with self._lock:
            start = self.count
            end = start + len(rows)
            if end > len(self._rows):
                grown = np.empty(end + (end >> 1) + 64, np.int32)
                grown[:start] = self._rows[:start]
                self._rows = grown
            self._rows[start:end] = rows
            self._tail.add(floats)

    def of(self, rows: Rows) -> Floats:
        """Return the vectors of rows, ``(n, dim)``; a row of nan where there is none."""
        return self.floats(self._source(rows))

    def floats(self, halves: Halves) -> Floats:
        """Return float16 rows as float32."""
        return halves.astype(np.float32)

    def _seal(self) -> None:
        """Move the tail to the sealed parts, merging those of like size; searches go on with the old ones."""
        parts = [*self._parts, _Part(self._tail, self._tail_start, True)]
        if parts[-1].end > self._flat_limit:
            parts = self._quantised(parts)
        while len(parts) > 1 and parts[-2].exact and parts[-2].index.ntotal < 2 * parts[-1].index.ntotal:
            parts[-2:] = [self._joined(parts[-2], parts[-1])]
        with self._lock:
            self._parts = tuple(parts)
            self._tail, self._tail_start = faiss.IndexFlatIP(self.dim), parts[-1].end

    def _joined(self, first: _Part, second: _Part) -> _Part:
        index = faiss.clone_index(first.index)
        index.add(second.index.reconstruct_n(0, second.index.ntotal))
        return _Part(index, first.start, True)

    def _quantised(self, parts: list[_Part]) -> list[_Part]:
        """Return the parts with every flat one turned into RaBitQ codes, and few of them."""
        coded = [part for part in parts if not part.exact]
        for part in parts[len(coded) :]:
            floats = part.index.reconstruct_n(0, part.index.ntotal)
            if coded:
                index = faiss.clone_index(coded[0].index)
                index.reset()  # the same centroid, so that parts can be merged
            else:
                index = _coding(self.dim)
                index.train(floats)
            index.add(floats)
            coded.append(_Part(index, part.start, False))
        while len(coded) > 1 and coded[-2].index.ntotal < 2 * coded[-1].index.ntotal:
            first, second = coded[-2:]
            index = faiss.clone_index(first.index)
            index.merge_from(faiss.clone_index(second.index))
            coded[-2:] = [_Part(index, first.start, False)]
        return coded

    def whitened(self, query: Floats) -> Floats:
        """Return the query as it is compared in the user's own space, ``(dim,)`` of unit length; see ``whitening``.

        The space is measured by the first search, and by one when the vectors have grown by a quarter, in up to
        50 ms; searches meanwhile go on with the last one.
        """
        if self.count >= self._space_until and self._measuring.acquire(blocking=False):
            try:
                count = self.count
                positions = np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64)
                rows = self._rows[positions]
                sample = self._source(rows[rows < GONE])
                there = ~np.isnan(sample[:, 0])
                self._space = whitening(self.floats(sample if there.all() else sample[there]))
                self._space_until = count + (count >> 2) + _SPACE_GROWTH
            finally:
                self._measuring.release()
        space = self._space
        return query if space is None else space(query)

    def cosines(self, query: Floats, depth: int, allowed: Bools, also: Callable[[], Rows]) -> Floats:
        """Return the cosine of each row with the query, ``(n,)`` for the ``n`` rows of ``allowed``; nan: not computed.

        The nearest ``depth`` of the allowed rows have it, and those that ``also`` gives; with a flat index all have.
        """
        out = np.full(len(allowed), np.nan, np.float32)
        with self._lock:
            parts, table, tail, tail_start = self._parts, self._rows, self._tail, self._tail_start
            end = self.count
            near = _all_of(tail, query)
        rows = table[:end]
        _put(out, rows[tail_start:], near)
        for part in parts:
            if part.exact:
                _put(out, rows[part.start : part.end], _all_of(part.index, query))
        coded = [part for part in parts if not part.exact]
        if coded:
            with one_thread():
                wanted = distinct(np.concatenate([self._proposed(coded, query, depth, allowed, rows), also()]))
                missing = wanted[np.isnan(out[wanted])]
                _put(out, missing, self._exact(missing, query))
        return out

    def _exact(self, rows: Rows, query: Floats) -> Floats:
        """Return the cosines of rows, nan where there is no vector."""
        index = faiss.IndexScalarQuantizer(self.dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        index.add_sa_codes(self._source(rows).view(np.uint8))  # multiplied as they are: a third of what decoding takes
        cosines, positions = index.search(query[None], max(1, len(rows)))
        there = positions[0] >= 0  # nan is nowhere
        out = np.full(len(rows), np.nan, np.float32)
        out[positions[0][there]] = cosines[0][there]
        return out

    def _proposed(self, parts: list[_Part], query: Floats, depth: int, allowed: Bools, rows: Rows) -> Rows:
        """Return the allowed rows that look nearest by their codes, several times as many as are wanted."""
        most = max(_LEAST_PROPOSALS, _RERANK * depth)
        found, near = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
        top = int(rows.max())
        for part in parts:
            here = rows[part.start : part.end]
            if top < len(allowed):
                selected = allowed[here]
            else:  # rows written since are not in view
                selected = np.append(allowed, False)[np.minimum(here, len(allowed))]
            count = int(np.count_nonzero(selected))
            k = min(most, count)
            if k:
                some = None if count == len(here) else _only(selected)
                scores, positions = part.index.search(query[None], k, params=some)
                found.append(here[positions[0][positions[0] >= 0]])
                near.append(scores[0][positions[0] >= 0])
        scores = np.concatenate(near)
        nearest = np.argpartition(-scores, most)[:most] if len(scores) > most else slice(None)
        proposed: Rows = np.concatenate(found)[nearest]
        return proposed


def _all_of(index: Any, query: Floats) -> Floats:
    """Return the cosines of all that a flat index holds, by position; a search for all takes twice as long.

    In this thread alone, whatever FAISS is set to.
    """
    out, query = np.empty(index.ntotal, np.float32), np.ascontiguousarray(query)
    native: Any = faiss  # whose own types do not know this function
    native.fvec_inner_products_ny(faiss.swig_ptr(out), faiss.swig_ptr(query), index.get_xb(), index.d, len(out))
    return out


def _coding(dim: int) -> Any:
    """Return an empty RaBitQ index behind a rotation, 0.1 ms a search.

    One bit per dimension tells much only where all dimensions vary alike, and some models' do not: where the spread
    falls off along the axes as 1/n, the recall@10 of 100,000 rows is .44 without it, and 1.0 with it.
    """
    rotation = faiss.RandomRotationMatrix(dim, dim)
    rotation.init(_SEED)
    return faiss.IndexPreTransform(rotation, faiss.IndexRaBitQ(dim, faiss.METRIC_INNER_PRODUCT))


def _only(selected: Bools) -> Any:
    """Return the parameters of a search among the selected positions."""
    selector: Any = faiss.IDSelectorBitmap  # FAISS's own types do not know its keyword arguments
    parameters: Any = faiss.RaBitQSearchParameters
    behind: Any = faiss.SearchParametersPreTransform
    return behind(index_params=parameters(sel=selector(np.packbits(selected, bitorder="little"))))


def _put(out: Floats, rows: Rows, cosines: Floats) -> None:
    inside = rows < len(out)  # a row written since the search began is not in its view
    if inside.all():
        out[rows] = cosines
    else:
        out[rows[inside]] = cosines[inside]
