"""Recall at k, means by category, and bootstrap intervals over conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError

CUTS: Final = (5, 10, 20)
"""Numbers of results at which recall is looked at, unless others are asked for."""
RESAMPLES: Final = 10_000
_SEED: Final = 20240501


@dataclass(frozen=True)
class Judged:
    """How one question went: its haystack and category, the number of gold units, and where they ranked.

    ``ranks`` are the 1-based places of the gold units found among the first results looked at, ascending.
    """

    haystack: str
    category: str
    gold: int
    ranks: tuple[int, ...]

    def hit(self) -> float:
        """1 if the first result is gold (hit@1)."""
        return float(self.ranks[:1] == (1,))

    def recall(self, k: int) -> float:
        """Share of the gold among the first ``k`` results (R@k)."""
        return sum(rank <= k for rank in self.ranks) / self.gold


@dataclass(frozen=True)
class Interval:
    """A mean with the bounds of its 95% bootstrap interval."""

    mean: float
    low: float
    high: float


def judge(haystack: str, category: str, gold: frozenset[str], ranking: Sequence[str], depth: int = max(CUTS)) -> Judged:
    """Return where the gold units stand among the first ``depth`` of a ranking of unit ids; repeats count once."""
    places = enumerate(dict.fromkeys(ranking), 1)
    return Judged(haystack, category, len(gold), tuple(p for p, unit in places if unit in gold and p <= depth))


def interval(values: Sequence[float], groups: Sequence[str]) -> Interval:
    """Return the mean over questions and its interval, resampling whole groups (conversations).

    With a single group the questions themselves are resampled. An empty sequence gives nan.
    """
    return _bootstrap(np.asarray(values, dtype=np.float64), groups)


def paired(ours: Sequence[float], theirs: Sequence[float], groups: Sequence[str]) -> Interval:
    """Return the mean difference ``ours - theirs`` over the same questions, with its interval.

    Raises ``InvalidInputError`` when the two runs did not answer the same number of questions.
    """
    if len(ours) != len(theirs):
        raise InvalidInputError(f"the runs differ in length: {len(ours)} and {len(theirs)} questions")
    return _bootstrap(np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64), groups)


def _bootstrap(values: npt.NDArray[np.float64], groups: Sequence[str]) -> Interval:
    if not len(values):
        return Interval(float("nan"), float("nan"), float("nan"))
    _, member = np.unique(np.asarray(groups), return_inverse=True)
    if member.max() == 0:
        member = np.arange(len(values))
    sums = np.bincount(member, weights=values)
    sizes = np.bincount(member)
    draws = np.random.default_rng(_SEED).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=RESAMPLES)
    means = (draws @ sums) / (draws @ sizes)
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(float(values.mean()), float(low), float(high))
