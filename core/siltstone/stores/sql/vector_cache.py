"""The vectors of users of an encrypted store, opened: compared here, since no engine can, and kept while there is room.

What was opened is known again by the nonces of the sealed rows, so that after a write only new rows are read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...forks import ForkSafeLock
from ...index.products import products
from ...index.vectors import Halves
from ...protocols import Floats, Ints
from .dialect import Database, Transaction

_ROOM: Final = 128 << 20
"""Bytes of opened vectors that are kept, of all users of a store together."""
_AT_ONCE: Final = 10_000
"""Vectors that are read, or multiplied, at once."""
_NONCE: Final = 12
_Opening = Callable[[Sequence[int], Sequence[Any]], Halves]


@dataclass(frozen=True)
class _Opened:
    """The vectors of a user at a revision: ``numbers`` ascending, the nonces of their rows, and ``(n, dim)``."""

    revision: str
    numbers: Ints
    nonces: npt.NDArray[np.bytes_]
    halves: Halves


class Vectors:
    """What is kept, by the ids of users' keys; for any number of threads."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._kept: OrderedDict[str, _Opened] = OrderedDict()

    def of(self, key_id: str, transaction: Transaction, database: Database, user: str, open: _Opening) -> OfUser:
        """Return a user's, as a transaction has them."""
        return OfUser(self, key_id, transaction, database, user, open)

    def get(self, key_id: str) -> _Opened | None:
        """Return what is kept of a user."""
        with self._lock:
            if key_id in self._kept:
                self._kept.move_to_end(key_id)
            return self._kept.get(key_id)

    def put(self, key_id: str, opened: _Opened) -> None:
        """Keep what was opened, instead of what others used longest ago."""
        with self._lock:
            self._kept[key_id] = opened
            self._kept.move_to_end(key_id)
            while sum(each.halves.nbytes for each in self._kept.values()) > _ROOM:
                self._kept.popitem(last=False)

    def drop(self, key_id: str) -> None:
        """Keep nothing of a user."""
        with self._lock:
            self._kept.pop(key_id, None)


class OfUser:
    """The vectors of one user in one transaction."""

    def __init__(
        self, kept: Vectors, key_id: str, transaction: Transaction, database: Database, user: str, open: _Opening
    ) -> None:
        self._kept, self._key_id = kept, key_id
        self._transaction, self._database, self._user, self._open = transaction, database, user, open

    def nearest(self, query: Floats, meant: Ints, depth: int, *, count: int, revision: str) -> list[int]:
        """Return which of the rows that are ``meant`` have the largest products with ``query``."""
        numbers, near = np.empty(0, np.int64), np.empty(0, np.float32)
        pieces = self._whole(revision) if 2 * count * len(query) <= _ROOM else self._pieces()
        for some, halves in pieces:
            there = np.isin(some, meant)
            numbers = np.concatenate([numbers, some[there]])
            near = np.concatenate([near, products(halves[there].astype(np.float32), query)])
            if len(near) > depth:
                best = np.argpartition(-near, depth)[:depth]
                numbers, near = numbers[best], near[best]
        return [int(number) for number in numbers]

    def products(self, query: Floats, numbers: Ints, *, revision: str) -> Floats:
        """Return the products of rows' vectors with ``query``, ``(n,)``; nan where there is none."""
        opened = self._kept.get(self._key_id)
        if opened is None or opened.revision != revision:
            found = self._some(numbers)
        else:
            found = opened.numbers, opened.halves
        out = np.full(len(numbers), np.nan, np.float32)
        if len(found[0]):
            at = np.minimum(np.searchsorted(found[0], numbers), len(found[0]) - 1)
            there = found[0][at] == numbers
            out[there] = products(found[1][at[there]].astype(np.float32), query)
        return out

    def _whole(self, revision: str) -> Iterator[tuple[Ints, Halves]]:
        """Yield all vectors, in pieces; kept afterwards."""
        opened = self._kept.get(self._key_id)
        if opened is None or opened.revision != revision:
            opened = self._renewed(opened, revision)
            self._kept.put(self._key_id, opened)
        for first in range(0, len(opened.numbers), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            yield opened.numbers[some], opened.halves[some]

    def _renewed(self, before: _Opened | None, revision: str) -> _Opened:
        """Return all vectors; those that were opened before are not read again."""
        if before is None or not len(before.numbers):
            seen: list[bytes] = []
            pieces = list(self._pieces(seen))
            return _Opened(
                revision,
                np.concatenate([numbers for numbers, _ in pieces] or [np.empty(0, np.int64)]),
                _packed(seen),
                np.concatenate([halves for _, halves in pieces]) if pieces else np.empty((0, 0), np.float16),
            )
        found = self._transaction.rows(
            f"SELECT number, SUBSTR(vector, 1, {_NONCE}) FROM siltstone_sealed WHERE user_id = ? ORDER BY number",
            self._user,
        )
        numbers = np.array([number for number, _ in found], np.int64)
        nonces = _packed([bytes(nonce) for _, nonce in found])
        at = np.minimum(np.searchsorted(before.numbers, numbers), len(before.numbers) - 1)
        same = (before.numbers[at] == numbers) & (before.nonces[at] == nonces)
        lacking, opened = self._some(numbers[~same])
        width = opened.shape[1] if len(lacking) else before.halves.shape[1]
        halves = np.empty((len(numbers), width), np.float16)
        halves[same], halves[~same] = before.halves[at[same]], opened.reshape(-1, width)
        return _Opened(revision, numbers, nonces, halves)

    def _pieces(self, nonces: list[bytes] | None = None) -> Iterator[tuple[Ints, Halves]]:
        """Yield all vectors in order, read piece by piece; ``nonces`` is filled with those of their rows."""
        for numbers, values in sealed_pages(self._transaction, self._user, _AT_ONCE):
            if nonces is not None:
                nonces += [bytes(value)[:_NONCE] for value in values]
            yield np.array(numbers, np.int64), self._open(numbers, values)

    def _some(self, numbers: Ints) -> tuple[Ints, Halves]:
        """Return those of some rows that have vectors, in order."""
        pieces: list[tuple[Any, Any]] = []
        for first in range(0, len(numbers), _AT_ONCE):
            part, parameter = self._database.among("number", numbers[first : first + _AT_ONCE].tolist())
            pieces += self._transaction.rows(
                f"SELECT number, vector FROM siltstone_sealed WHERE user_id = ? AND {part}", self._user, parameter
            )
        if not pieces:
            return np.empty(0, np.int64), np.empty((0, 0), np.float16)
        pieces.sort(key=lambda piece: int(piece[0]))
        there, values = zip(*pieces, strict=True)
        return np.array(there, np.int64), self._open(there, values)


def sealed_pages(transaction: Transaction, user: str, at_once: int) -> Iterator[tuple[Sequence[int], Sequence[Any]]]:
    """Yield the numbers and sealed vectors of all rows of a user, in order, so many of them at once."""
    last = 0
    while True:
        found = transaction.rows(
            "SELECT number, vector FROM siltstone_sealed WHERE user_id = ? AND number > ? ORDER BY number LIMIT ?",
            user,
            last,
            at_once,
        )
        if found:
            numbers, values = zip(*found, strict=True)
            yield numbers, values
            last = int(numbers[-1])
        if len(found) < at_once:
            return


def _packed(nonces: list[bytes]) -> npt.NDArray[np.bytes_]:
    return np.frombuffer(b"".join(nonces), f"S{_NONCE}")
