"""Ids of one user to rows: a table sorted by hash, which may be mapped, and what was written since."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .vectors import Rows

Words: TypeAlias = npt.NDArray[np.uint64]
_HALVES: Final = Struct("<QQ")


@dataclass(frozen=True)
class IdTable:
    """Both halves of 128-bit hashes, sorted by ``high``, and the rows of the ids. No two ids share a hash."""

    high: Words
    low: Words
    rows: Rows

    @classmethod
    def of(cls, ids: Mapping[str, int]) -> IdTable:
        """Return the table of some ids."""
        hashes = np.frombuffer(b"".join(map(_digest, ids)), "<u8").reshape(-1, 2)
        rows = np.fromiter(ids.values(), np.int32, len(ids))
        order = np.argsort(hashes[:, 0])
        return cls(hashes[order, 0], hashes[order, 1], rows[order])

    def get(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of ids, -1 where there is none. O(log n) each."""
        highs, lows, rows = self.high.data, self.low.data, self.rows.data  # thrice as fast as arrays' cells
        found = []
        for high, low in map(_HALVES.unpack, map(_digest, ids)):
            at = bisect_left(highs, high)
            while at < len(highs) and highs[at] == high and lows[at] != low:
                at += 1
            found.append(rows[at] if at < len(highs) and highs[at] == high else -1)
        return found

    def with_newer(self, newer: IdTable) -> IdTable:
        """Return both tables as one; ``newer`` decides where both know an id."""
        high = np.concatenate([newer.high, self.high])
        low = np.concatenate([newer.low, self.low])
        rows = np.concatenate([newer.rows, self.rows])
        order = np.lexsort((low, high))  # stable: of two equal ones, the newer comes first
        high, low, rows = high[order], low[order], rows[order]
        first = np.ones(len(high), np.bool_)
        first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        return IdTable(high[first], low[first], rows[first])

    def only(self, alive: npt.NDArray[np.bool_]) -> IdTable:
        """Return the table of the ids whose rows are ``alive``."""
        some = alive[self.rows]
        return IdTable(self.high[some], self.low[some], self.rows[some])


class Ids:
    """Looks rows up by id. One writer; readers need no lock."""

    def __init__(self, table: IdTable | None = None) -> None:
        self._table = table or IdTable.of({})
        self._recent: dict[str, int] = {}

    def get(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of ids, -1 where there is none."""
        rows = list(map(self._recent.get, ids))
        older = [id for id, row in zip(ids, rows, strict=True) if row is None]
        found = iter(self._table.get(older))
        return [next(found) if row is None else row for row in rows]

    def update(self, rows: Mapping[str, int]) -> None:
        """Take over the rows of new or rewritten ids."""
        self._recent.update(rows)

    def table(self, alive: npt.NDArray[np.bool_]) -> IdTable:
        """Return a table of all ids whose rows are ``alive``, among the first ``len(alive)``."""
        recent = {id: row for id, row in list(self._recent.items()) if row < len(alive)}
        return self._table.with_newer(IdTable.of(recent)).only(alive)

    def rebase(self, table: IdTable, rows: int) -> None:
        """Look up in ``table`` the ids of the first ``rows`` rows."""
        recent = {id: row for id, row in self._recent.items() if row >= rows}
        self._table, self._recent = table, recent


def _digest(id: str) -> bytes:
    return blake2b(id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
