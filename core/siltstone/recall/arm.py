"""One way of finding rows: its best ones, and its scores made comparable with those of other arms."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from ..forks import cached
from ..protocols import SESSION_TOP, Bools, Ints

DEPTH: Final = 200
"""Scores are judged against the arm's 200 best, on every engine and at every size of store."""

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
        count = min(DEPTH, int(np.count_nonzero(eligible))) if sparse else len(self.top)
        held = np.zeros(count)
        held[: len(self.top)] = scores.take(self.top)
        self.best = self._least = self._mean = 0.0
        self._deviation = np.inf
        if count:
            self.best, self._least = max(0.0, float(held.max())), float(held.min())
            self._mean = float(held.sum()) / count
            off = held - self._mean
            deviation = sqrt(float((off * off).sum()) / count)
            self._deviation = deviation if deviation >= 1e-9 else np.inf

    @cached
    def _matches(self) -> Ints:
        there = self.scores > 0 if self._sparse else ~np.isnan(self.scores)
        return np.flatnonzero(there & self._eligible)

    def pool(self, depth: int) -> Ints:
        """Return the best ``depth`` eligible rows that match, in no order; ``top`` where that is more."""
        return self.top if depth <= DEPTH else best_rows(self.scores, self._matches, depth)

    @property
    def scale(self) -> tuple[float, float, float]:
        """The least score of ``top``, the mean, and the deviation, infinite where all are alike."""
        return self._least, self._mean, self._deviation

    @property
    def least(self) -> float:
        """The z-score of the least of ``top``, and of whatever is below it."""
        return (self._least - self._mean) / self._deviation

    @property
    def top_z(self) -> npt.NDArray[np.floating]:
        """The z-scores of ``top``."""
        return (self.scores.take(self.top) - self._mean) / self._deviation


def z_scores(arms: Sequence[Arm], rows: Ints) -> Array:
    """Return the z-scores of rows by each arm, ``(len(arms), *rows.shape)``; a row of -1 (none) has 0."""
    scores = np.array([arm.scores.take(rows, mode="wrap") for arm in arms])
    scales = np.array([arm.scale for arm in arms], scores.dtype)
    least, mean, deviation = scales.T.reshape(3, -1, *(1 for _ in rows.shape))
    z: Array = (np.fmax(scores, least) - mean) / deviation  # fmax takes nan for the least
    z[:, rows < 0] = 0.0
    return z


def session_z(arms: Sequence[Arm], sessions: Ints, sizes: Ints, rows: Ints, alone: Array) -> Array:
    """Return, for each row, the mean z of the best three in its session by each arm, ``(len(arms), len(rows))``.

    ``sessions`` ``(n,)`` and ``sizes`` ``(sessions,)`` say which rows belong together; rows of a session that are not
    in ``top`` count as the least. A row without a session stands for itself: ``alone`` are the z-scores of ``rows``.
    """
    count = 1 + len(sizes)  # of each arm: the first place is for rows without a session
    best = np.repeat([arm.least for arm in arms], count)
    counted = np.minimum(np.tile(np.append(1, sizes), len(arms)), SESSION_TOP)
    codes = np.concatenate([sessions.take(arm.top) + (n * count + 1) for n, arm in enumerate(arms)])
    z = np.concatenate([arm.top_z for arm in arms])
    order = np.lexsort((-z, codes))
    codes, z = codes[order], z[order]
    starts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    starts = np.append(0, starts) if len(codes) else starts
    ends = np.append(starts[1:], len(codes))
    codes = codes[starts]
    floor, size = best[codes], counted[codes]
    total = z[starts].astype(np.float64)
    for place in range(1, SESSION_TOP):
        there = starts + place
        total += np.where(there < ends, z.take(there, mode="clip"), floor * (size > place))
    best[codes] = total / size
    own = sessions[rows]
    return np.where(own >= 0, best.reshape(len(arms), count)[:, own + 1], alone)


def best_rows(scores: npt.NDArray[np.floating], rows: Ints, depth: int) -> Ints:
    """Return those of ``rows`` with the highest scores, at most ``depth``, in no order."""
    if len(rows) <= depth:
        return rows
    held = scores.take(rows)
    least = np.partition(held, -depth)[-depth]  # twice as fast as to partition indices
    better = rows[held > least]
    return np.concatenate([better, rows[held == least][: depth - len(better)]])
