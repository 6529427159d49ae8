"""The lexical arms: BM25 over single turns, and over each turn with its two neighbours.

A window's counts are summed from its turns at query time: the same scores as an index of windows, at half the
postings, and right after a late or forgotten turn. A neighbour is the turn before or after in the same session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ..protocols import Candidates, Ints
from .arm import best_rows

K1: Final = 1.2
B: Final = 0.75
"""Saturation and length normalisation of BM25 (Robertson and Walker, 1994); the usual values."""
LARGE: Final = 5_000
"""From this many live rows on,"""
COMMON: Final = 0.05
"""terms in more than this share of them add to"""
PROMISING: Final = 4_000
"""this many rows only: the best by the rarer terms."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lexical:
    """BM25 of every row, ``turn`` and ``window`` ``(n,)``, 0 without a match; ``mass`` is the sum of the terms' idf."""

    turn: Array
    window: Array
    mass: float


def bm25(candidates: Candidates, weights: Sequence[float]) -> Lexical:
    """Score all rows for the query's terms, each counting ``weights[i]`` times (0: not at all).

    Rare terms come first. In a large store the common ones then add only to the rows that are promising by then:
    they could lift no other row among the best. O(postings of the terms + rows).
    """
    n = len(candidates.keys)
    before, after = candidates.previous, candidates.following
    lengths = np.append(candidates.lengths, np.float32(0))  # row -1, which stands for "none", is the last
    mean = candidates.mean_length or 1.0
    wide = np.append(lengths[:n] + lengths[before] + lengths[after], np.float32(0))
    wide_mean = mean * (1 + (np.count_nonzero(before >= 0) + np.count_nonzero(after >= 0)) / max(n, 1))
    norm, wide_norm = K1 * (1 - B + B * lengths / mean), K1 * (1 - B + B * wide / wide_mean)
    turn, window, counts = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    held_by = candidates.document_frequency
    gains = np.log1p((candidates.total - held_by + 0.5) / (held_by + 0.5)) * np.asarray(weights, np.float64)
    promising: Ints = np.empty(0, np.int64)
    for term in np.argsort(held_by, kind="stable"):
        rows, held = candidates.postings[term]
        gain = gains[term] * (K1 + 1)
        if gain == 0 or not len(rows):
            continue
        common = candidates.total >= LARGE and held_by[term] > COMMON * candidates.total
        if common and not len(promising):
            promising = best_rows(window[:n], np.flatnonzero(window[:n]), PROMISING)
        counts[rows] = held
        if common and len(promising):
            own = counts[promising]
            summed = own + counts[before[promising]] + counts[after[promising]]
            counts[rows] = 0
            turn[promising] += gain * own / (own + norm[promising])
            window[promising] += gain * summed / (summed + wide_norm[promising])
            continue
        left, right = before[rows], after[rows]
        counts[left] += held  # no two rows share a neighbour on one side
        counts[right] += held
        touched = np.concatenate([rows, left, right])
        summed = counts[touched]
        counts[touched] = 0
        turn[rows] += gain * held / (held + norm[rows])
        window[touched] = window[touched] + gain * summed / (summed + wide_norm[touched])  # once per row
    return Lexical(turn[:n], window[:n], float(gains.sum()))
