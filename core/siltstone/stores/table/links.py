"""Who spoke before and after whom: the turns of each session as a doubly linked list over the rows.

A turn's place is by time, then by order of first writing. Links are changed in place; a reader steps over rows that
its view does not hold yet.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

import numpy as np

from ...index.columns import Columns
from ...protocols import Ints
from ...records import KINDS
from .rows import ALIVE

_TURN: Final = KINDS.index("turn")
_FAR: Final = 64
"""Places that a late turn walks back before its session is linked anew at once."""


class Links:
    """Keeps the columns ``previous`` and ``following``."""

    def __init__(self, rows: Columns) -> None:
        """Begin with rows that are linked already."""
        self._rows = rows
        n = rows.count
        last = np.flatnonzero(
            (rows["following"][:n] < 0)
            & (rows["kind"][:n] == _TURN)
            & (rows["died"][:n] == ALIVE)
            & (rows["session"][:n] >= 0)
        )
        self._last: dict[int, int] = dict(zip(rows["session"][last].tolist(), last.tolist(), strict=True))

    def insert(self, rows: Ints) -> None:
        """Link new rows, ascending, as far as they are turns. O(rows), but for those that come late by far."""
        turns = rows[(self._rows["kind"][rows] == _TURN) & (self._rows["session"][rows] >= 0)]
        if len(turns) > 1:
            columns = (self._rows[name][turns] for name in ("origin", "said_at", "session"))
            turns = turns[np.lexsort(tuple(columns))]
        for session, group in groupby(turns.tolist(), self._rows["session"].__getitem__):
            some = list(group)
            if self._append(some, int(session)):
                continue
            if len(some) > _FAR or not all(self._walk(row, int(session)) for row in some):
                self._relink(int(session))

    def _append(self, turns: list[int], session: int) -> bool:
        """Put turns in order behind all others of their session; false if that is not where they belong."""
        rows, last = self._rows, self._last.get(session, -1)
        if last >= 0 and self._key(last) > self._key(turns[0]):
            return False
        rows["previous"][turns[1:]], rows["following"][turns[:-1]] = turns[:-1], turns[1:]
        rows["previous"][turns[0]], rows["following"][turns[-1]] = last, -1
        if last >= 0:
            rows["following"][last] = turns[0]
        self._last[session] = turns[-1]
        return True

    def _key(self, row: int) -> tuple[int, int]:
        return int(self._rows["said_at"][row]), int(self._rows["origin"][row])

    def take_out(self, row: int) -> None:
        """Let the neighbours of a row close the gap."""
        rows = self._rows
        previous, following, session = (
            int(rows["previous"][row]),
            int(rows["following"][row]),
            int(rows["session"][row]),
        )
        if previous >= 0:
            rows["following"][previous] = following
        if following >= 0:
            rows["previous"][following] = previous
        elif self._last.get(session) == row:
            if previous >= 0:
                self._last[session] = previous
            else:
                del self._last[session]

    def _walk(self, row: int, session: int) -> bool:
        """Put a turn into its place from the end; false if that is too far back."""
        rows = self._rows
        key = self._key(row)
        before, after = self._last.get(session, -1), -1
        for _ in range(_FAR):
            if before < 0 or self._key(before) < key:
                break
            before, after = int(rows["previous"][before]), before
        else:
            return False
        rows["previous"][row], rows["following"][row] = before, after
        if before >= 0:
            rows["following"][before] = row
        if after >= 0:
            rows["previous"][after] = row
        else:
            self._last[session] = row
        return True

    def _relink(self, session: int) -> None:
        """Link all turns of a session anew."""
        rows, n = self._rows, self._rows.count
        turns = np.flatnonzero(
            (rows["session"][:n] == session) & (rows["kind"][:n] == _TURN) & (rows["died"][:n] == ALIVE)
        )
        turns = turns[np.lexsort((rows["origin"][turns], rows["said_at"][turns]))]
        rows["previous"][turns] = np.concatenate(([-1], turns[:-1]))
        rows["following"][turns] = np.concatenate((turns[1:], [-1]))
        self._last[session] = int(turns[-1])
