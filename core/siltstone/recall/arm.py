"""One way of finding rows: its best ones, and its scores made comparable with those of other arms."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from ..protocols import Bools, Ints

DEPTH: Final = 200
"""Scores are judged against the arm's 200 best, on every engine and at every size of store."""
SESSION_TOP: Final = 3
"""A session is as good as its three best turns."""

Array = npt.NDArray[np.float64]


class Arm:
    """The scores of all rows by one arm.

    ``scores``    ``(n,)``; 0 is no match for a ``sparse`` arm, nan is unknown for a dense one
    ``eligible``  ``(n,)`` rows that may be results: only they are judged against

    z-scores are taken over ``top``, the ``DEPTH`` best eligible rows, with zeros where a sparse arm matches fewer;
    whatever is below the least of them counts as that one. An arm that cannot tell rows apart gives 0 to all.
    """

    def __init__(
        self, scores: npt.NDArray[np.floating], eligible: Bools, *, sparse: bool, best: Ints | None = None
    ) -> None:
        """``best``: matching rows with the ``DEPTH`` best among them, where they are known already."""
        self.scores = scores
        self._eligible, self._sparse = eligible, sparse
        self.top: Ints = best_rows(scores, self._matches if best is None else best, DEPTH)
        held = scores[self.top].astype(np.float64)
        if sparse:
            held = np.append(held, np.zeros(min(DEPTH, int(np.count_nonzero(eligible))) - len(held)))
        self.best = float(held.max(initial=0.0))
        self._least = float(held.min()) if len(held) else 0.0
        self._mean = float(held.mean()) if len(held) else 0.0
        self._deviation = float(held.std()) if len(held) else 0.0

    @cached_property
    def _matches(self) -> Ints:
        there = self.scores > 0 if self._sparse else ~np.isnan(self.scores)
        return np.flatnonzero(there & self._eligible)

    def pool(self, depth: int) -> Ints:
        """Return the best ``depth`` eligible rows that match, in no order; ``top`` where that is more."""
        return self.top if depth <= DEPTH else best_rows(self.scores, self._matches, depth)

    def z(self, rows: Ints) -> Array:
        """Return the z-scores of rows, of any shape; a row of -1 (none) has 0."""
        return np.where(rows >= 0, self._normal(self.scores.take(rows, mode="wrap")), 0.0)

    def session_z(self, sessions: Ints, sizes: Ints, rows: Ints) -> Array:
        """Return, for each row, the mean z of the best three in its session, ``(len(rows),)``.

        ``sessions`` ``(n,)`` and ``sizes`` ``(sessions,)`` say which rows belong together; rows of a session that
        are not in ``top`` count as the least. A row without a session stands for itself.
        """
        floor = float(self._normal(np.full(1, self._least))[0])
        best = np.full(len(sizes) + 1, floor)
        codes, z = sessions[self.top], self.z(self.top)
        order = np.lexsort((-z, codes))
        order = order[np.searchsorted(codes[order], 0) :]  # without rows of no session
        if len(order):
            held, z = codes[order], np.append(z[order], (floor,) * SESSION_TOP)
            starts = np.append(0, np.flatnonzero(held[1:] != held[:-1]) + 1)
            codes, held = held[starts], np.append(held, (-1,) * SESSION_TOP)
            size = np.minimum(sizes[codes], SESSION_TOP)
            total = z[starts]
            for place in range(1, SESSION_TOP):
                same = held[starts + place] == codes
                total += np.where(same, z[starts + place], floor * (size > place))
            best[codes] = total / size
        own = sessions[rows]
        return np.where(own >= 0, best[own], self.z(rows))

    def _normal(self, scores: npt.NDArray[np.floating]) -> Array:
        if self._deviation < 1e-9:
            return np.zeros(scores.shape)
        normal: Array = (np.fmax(scores, self._least) - self._mean) / self._deviation  # fmax takes nan for the least
        return normal


def best_rows(scores: npt.NDArray[np.floating], rows: Ints, depth: int) -> Ints:
    """Return those of ``rows`` with the highest scores, at most ``depth``, in no order."""
    if len(rows) <= depth:
        return rows
    held = scores.take(rows)
    least = np.partition(held, -depth)[-depth]  # twice as fast as to partition indices
    better = rows[held > least]
    return np.concatenate([better, rows[held == least][: depth - len(better)]])
