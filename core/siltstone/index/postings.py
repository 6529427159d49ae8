"""Postings of one user: term to rows and counts, appended in constant time, read without a lock.

New rows go to an active table of small arrays; full tables are sealed into compressed blocks with sorted term
hashes, and blocks of like size are merged, so that an append costs O(log n) copies in all. Deleted rows are
masked by the reader and left out when blocks are merged.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .distinct import distinct

Hashes: TypeAlias = npt.NDArray[np.uint64]
Packed: TypeAlias = npt.NDArray[np.uint32]

_COUNT_BITS: Final = 4
MOST: Final = (1 << _COUNT_BITS) - 1
"""Counts are kept up to this; BM25 hardly tells more of them apart."""
_SEAL_AT: Final = 100_000
"""Postings in the active table before it is sealed."""
_CHUNK: Final = 1 << 21
"""Postings moved at once in a merge: bounds its memory."""


def term_hash(term: str) -> int:
    """Return the 64-bit key of a term."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass(frozen=True, eq=False)
class Block:
    """Sealed postings: ``packed[starts[i]:starts[i + 1]]`` are those of the term whose hash is ``hashes[i]``."""

    hashes: Hashes
    starts: npt.NDArray[np.int64]
    packed: Packed

    @classmethod
    def of(cls, hashes: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> Block:
        """Return the block of postings in any order: the hash, the row and the count of each, ``(n,)``."""
        unsigned = hashes.view(np.uint64)
        order = np.lexsort((rows, unsigned))
        terms, lengths = np.unique(unsigned, return_counts=True)
        packed = ((rows << _COUNT_BITS) | np.minimum(counts, MOST)).astype(np.uint32)
        return cls(terms, _starts(lengths), packed[order])

    def find_all(self, hashes: Hashes) -> list[Packed]:
        """Return the packed postings of each term."""
        at = np.searchsorted(self.hashes, hashes)
        starts = self.starts.take(at)
        ends = np.where(self._holds(hashes, at), self.starts.take(at + 1, mode="clip"), starts)
        return [self.packed[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def find_any(self, hashes: Hashes) -> list[Packed]:
        """Return the packed postings of the terms that are there."""
        at = np.searchsorted(self.hashes, hashes)
        at = at[self._holds(hashes, at)]
        spans = zip(self.starts[at].tolist(), self.starts[at + 1].tolist(), strict=True)
        return [self.packed[start:end] for start, end in spans]

    def _holds(self, hashes: Hashes, at: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which of the terms are there, ``at`` being where they would be."""
        return self.hashes.take(at, mode="clip") == hashes if len(self.hashes) else np.zeros(len(at), np.bool_)

    def rows(self) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the row of every posting, a bounded number at once."""
        for first in range(0, len(self.packed), _CHUNK):
            yield (self.packed[first : first + _CHUNK] >> _COUNT_BITS).astype(np.int64)


@dataclass(frozen=True)
class Snapshot:
    """What a reader holds on to: sealed blocks and the active table of one moment.

    ``hashed`` gives the key of a term in the blocks.
    """

    blocks: tuple[Block, ...]
    active: Mapping[str, array[int]]
    hashed: Callable[[str], int] = term_hash

    @property
    def memory(self) -> int:
        """Bytes of postings, in memory or mapped from a file; the names of terms in the active table aside."""
        sealed = sum(block.hashes.nbytes + block.starts.nbytes + block.packed.nbytes for block in self.blocks)
        return sealed + sum(len(tail) * tail.itemsize for tail in list(self.active.values()))

    def find(self, term: str, rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Return the rows below ``rows`` that hold the term, ascending, and the counts of it there."""
        found, counts, _ = self.find_all([term])
        end = int(np.searchsorted(found, rows))
        return found[:end], counts[:end]

    def find_all(
        self, terms: Sequence[str]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Return the rows that hold each term, ascending, one term after the other; the counts; how many each has.

        Rows appended since are among them.
        """
        hashes = self._hashes(terms) if self.blocks else None
        sealed = [block.find_all(hashes) for block in self.blocks] if hashes is not None else []
        parts: list[Packed] = []
        sizes = np.zeros(len(terms), np.int64)
        for n, term in enumerate(terms):
            of_term = [found[n] for found in sealed]
            if (tail := self.active.get(term)) is not None:
                of_term.append(np.frombuffer(tail.tobytes(), np.uint32))  # a copy: the writer may append meanwhile
            sizes[n] = sum(map(len, of_term))
            parts += of_term
        packed = np.concatenate(parts) if parts else np.empty(0, np.uint32)
        return (packed >> _COUNT_BITS).astype(np.int64), (packed & MOST).astype(np.float32), sizes

    def rows_of(self, terms: Sequence[str], rows: int) -> npt.NDArray[np.int64]:
        """Return the rows below ``rows`` that hold one of the terms, ascending; many terms in a fraction of the time.

        O(terms × blocks × log n), and what is found.
        """
        hashes = np.sort(self._hashes(terms))
        parts = [part for block in self.blocks for part in block.find_any(hashes)]
        tails = [tail for term in terms if (tail := self.active.get(term)) is not None]
        parts += [np.frombuffer(tail.tobytes(), np.uint32) for tail in tails]
        found = distinct(np.concatenate([np.empty(0, np.uint32), *parts]) >> _COUNT_BITS).astype(np.int64)
        return found[found < rows]

    def _hashes(self, terms: Sequence[str]) -> Hashes:
        return np.fromiter(map(self.hashed, terms), np.uint64, len(terms))


class Postings:
    """The writer's side of the postings."""

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self._blocks = tuple(blocks)
        self._active = _Active()
        self._size = 0

    def add(self, row: int, counts: Mapping[str, int]) -> None:
        """Append a row, higher than all before, with its terms and their counts."""
        active = self._active
        head = row << _COUNT_BITS
        for term, count in counts.items():
            active[term].append(head | (count if count < MOST else MOST))
        self._size += len(counts)

    def snapshot(self) -> Snapshot:
        """Return the present state for readers; rows appended later are cut off by their number."""
        return Snapshot(self._blocks, self._active)

    @property
    def is_full(self) -> bool:
        """Whether the active table is large enough to be sealed."""
        return self._size >= _SEAL_AT

    def tidy(self, dead: npt.NDArray[np.bool_]) -> None:
        """Seal the active table and merge blocks of like size, without the rows that are ``dead``."""
        self.seal()
        blocks = list(self._blocks)
        while len(blocks) > 1 and len(blocks[-2].packed) < 2 * len(blocks[-1].packed):
            blocks[-2:] = [merge(blocks[-2:], dead)]
        self._blocks = tuple(blocks)

    def rebase(self, old: tuple[Block, ...], new: Block) -> None:
        """Put one block, mapped from a file, in the place of the blocks that it was merged from."""
        if self._blocks[: len(old)] == old:
            self._blocks = (new, *self._blocks[len(old) :])

    def seal(self) -> None:
        """Turn the active table into a block."""
        if self._active:
            self._blocks = (*self._blocks, _sealed(self._active))
            self._active, self._size = _Active(), 0


class _Active(dict[str, "array[int]"]):
    def __missing__(self, term: str) -> array[int]:
        tail = self[term] = array("I")
        return tail


def _sealed(active: Mapping[str, array[int]]) -> Block:
    hashes = np.fromiter((term_hash(term) for term in active), np.uint64, len(active))
    order = np.argsort(hashes)
    tails = list(active.values())
    lengths = np.fromiter((len(tails[i]) for i in order), np.int64, len(order))
    packed = np.concatenate([np.frombuffer(tails[i].tobytes(), np.uint32) for i in order])
    return Block(hashes[order], _starts(lengths), packed)


def merge(blocks: Sequence[Block], dead: npt.NDArray[np.bool_]) -> Block:
    """Return one block of several that hold ascending ranges of rows, leaving out ``dead`` rows and empty terms."""
    trimmed = [_without(block, dead) for block in blocks]
    if len(trimmed) == 1:
        return trimmed[0]
    hashes = distinct(np.concatenate([block.hashes for block in trimmed] or [np.empty(0, np.uint64)]))
    lengths = np.zeros(len(hashes), np.int64)
    places = [np.searchsorted(hashes, block.hashes) for block in trimmed]
    for block, place in zip(trimmed, places, strict=True):
        lengths[place] += np.diff(block.starts)
    starts = _starts(lengths)
    packed: Packed = np.empty(int(starts[-1]), np.uint32)
    cursor = starts[:-1].copy()
    for block, place in zip(trimmed, places, strict=True):
        _scatter(block, cursor[place], packed)
        cursor[place] += np.diff(block.starts)
    return Block(hashes, starts, packed)


def renumbered(block: Block, numbers: npt.NDArray[np.int64]) -> Block:
    """Return a block with other row numbers, ascending as before; every row in it must have one."""
    packed = np.empty_like(block.packed)
    for first in range(0, len(packed), _CHUNK):
        some = block.packed[first : first + _CHUNK]
        packed[first : first + _CHUNK] = (numbers[some >> _COUNT_BITS] << _COUNT_BITS) | (some & MOST)
    return Block(block.hashes, block.starts, packed)


def _scatter(block: Block, targets: npt.NDArray[np.int64], out: Packed) -> None:
    """Copy each term's postings to its target, a bounded number at once."""
    lengths = np.diff(block.starts)
    first = 0
    while first < len(lengths):
        last = max(first + 1, int(np.searchsorted(block.starts, block.starts[first] + _CHUNK, "right")) - 1)
        some = lengths[first:last]
        shift = np.repeat(targets[first:last] - block.starts[first:last], some)
        begin, end = int(block.starts[first]), int(block.starts[last])
        out[np.arange(begin, end) + shift] = block.packed[begin:end]
        first = last


def _without(block: Block, dead: npt.NDArray[np.bool_]) -> Block:
    if not dead.any() or not len(block.packed):
        return block
    keep = np.empty(len(block.packed), np.bool_)
    for first in range(0, len(keep), _CHUNK):
        keep[first : first + _CHUNK] = ~dead[block.packed[first : first + _CHUNK] >> _COUNT_BITS]
    if keep.all():
        return block
    lengths = np.add.reduceat(keep, block.starts[:-1], dtype=np.int64)  # no term is without postings
    some = lengths > 0
    return Block(block.hashes[some], _starts(lengths[some]), block.packed[keep])


def _starts(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
