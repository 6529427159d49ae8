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
        known = len(self.top)
        count = min(DEPTH, int(np.count_nonzero(eligible))) if sparse else known
        self.best = self._least = self._mean = 0.0
        self._deviation = np.inf
        if known:
            held = scores.take(self.top).astype(np.float64)
            held.sort()
            self.best = max(0.0, float(held[-1]))
            self._least = float(held[0]) if known == count else min(0.0, float(held[0]))
            self._mean = float(held.sum()) / count
            off = held - self._mean
            deviation = sqrt((float(np.dot(off, off)) + (count - known) * self._mean**2) / count)
            self._deviation = deviation if deviation >= 1e-9 else np.inf

    @cached
    def _matches(self) -> Ints:
        there = self.scores > 0 if self._sparse else ~np.isnan(self.scores)
        return (there & self._eligible).nonzero()[0]

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
    codes = np.concatenate([sessions.take(arm.top) + (n * count + 1) for n, arm in enumerate(arms)])
    z = np.concatenate([arm.top_z for arm in arms])
    order = np.lexsort((-z, codes))
    codes, z = codes[order], z[order]
    first = np.ones(len(codes), np.bool_)  # its session's best: so many places before is another session
    first[SESSION_TOP:] = codes[SESSION_TOP:] != codes[:-SESSION_TOP]
    codes, z = codes[first], z[first]
    shape = len(arms), count
    total = np.bincount(codes, z, minlength=len(arms) * count).reshape(shape)
    there = np.bincount(codes, minlength=len(arms) * count).reshape(shape)
    size = np.ones(count)
    size[1:] = np.minimum(np.maximum(sizes, 1), SESSION_TOP)
    least = np.array([[arm.least] for arm in arms])
    own = sessions.take(rows)
    best: Array = ((total + (size - there) * least) / size).take(own + 1, axis=1)
    return np.where(own >= 0, best, alone)


def best_rows(scores: npt.NDArray[np.floating], rows: Ints, depth: int) -> Ints:
    """Return those of ``rows`` with the highest scores, at most ``depth``, in no order."""
    if len(rows) <= depth:
        return rows
    held = scores.take(rows)
    least = np.partition(held, -depth)[-depth]  # twice as fast as to partition indices
    better = rows[held > least]
    return np.concatenate([better, rows[held == least][: depth - len(better)]])
