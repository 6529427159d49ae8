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

from ..protocols import Candidates

K1: Final = 1.2
B: Final = 0.75
"""Saturation and length normalisation of BM25 (Robertson and Walker, 1994); the usual values."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lexical:
    """BM25 of every row, ``turn`` and ``window`` ``(n,)``, 0 without a match; ``mass`` is the sum of the terms' idf."""

    turn: Array
    window: Array
    mass: float


def bm25(candidates: Candidates, weights: Sequence[float]) -> Lexical:
    """Score all rows for the query's terms, each counting ``weights[i]`` times (0: not at all).

    O(postings of the terms + rows).
    """
    n = len(candidates.keys)
    before, after = candidates.previous, candidates.following
    lengths = np.append(candidates.lengths, 0).astype(np.float64)  # row -1, which stands for "none", is the last
    mean = candidates.mean_length or 1.0
    wide = lengths[:n] + lengths[before] + lengths[after]
    wide_mean = mean * (1 + (np.count_nonzero(before >= 0) + np.count_nonzero(after >= 0)) / max(n, 1))
    norm = np.append(K1 * (1 - B + B * lengths[:n] / mean), 1)
    wide_norm = np.append(K1 * (1 - B + B * wide / wide_mean), 1)
    turn, window, counts = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    idf = np.log1p(
        (candidates.total - candidates.document_frequency + 0.5) / (candidates.document_frequency + 0.5)
    ) * np.asarray(weights, np.float64)
    for gain, (rows, held) in zip(idf, candidates.postings, strict=True):
        if gain == 0 or not len(rows):
            continue
        turn[rows] += gain * (K1 + 1) * held / (held + norm[rows])
        left, right = before[rows], after[rows]
        counts[rows] += held
        counts[left] += held  # no two rows share a neighbour on one side
        counts[right] += held
        touched = np.concatenate([rows, left, right])
        summed = counts[touched]
        window[touched] = window[touched] + gain * (K1 + 1) * summed / (summed + wide_norm[touched])  # once per row
        counts[touched] = 0
    return Lexical(turn[:n], window[:n], float(idf.sum()))
