"""Who spoke before and after whom: the turns of each session as a doubly linked list over the rows.

A turn's place is by time, then by order of first writing. Links are changed in place; a reader steps over rows that
its view does not hold yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import numpy as np

from ...index.columns import Columns
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

    def insert(self, rows: Iterable[int]) -> None:
        """Link new rows, as far as they are turns."""
        sessions = {row: int(self._rows["session"][row]) for row in rows if self._rows["kind"][row] == _TURN}
        crowd = Counter(sessions.values())
        anew: set[int] = set()
        for row, session in sessions.items():
            if session < 0 or session in anew:
                continue
            if crowd[session] > _FAR or not self._walk(row, session):
                anew.add(session)
        for session in anew:
            self._relink(session)

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
        key = (rows["said_at"][row], rows["origin"][row])
        before, after = self._last.get(session, -1), -1
        for _ in range(_FAR):
            if before < 0 or (rows["said_at"][before], rows["origin"][before]) < key:
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
