"""The lexical arms: BM25 over single turns, and over each turn with its two neighbours.

A window's counts are summed from its turns at query time: the same scores as an index of windows, at half the
postings, and right after a late or forgotten turn. A neighbour is the turn before or after in the same session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..protocols import Candidates, Floats
from .arm import best_rows

K1: Final = 1.2
B: Final = 0.75
"""Saturation and length normalisation of BM25 (Robertson and Walker, 1994); the usual values."""
NEAR: Final = 400
"""Windows are scored for the rows with the best sum of turn scores in them; others could not be among the best 200."""


@dataclass(frozen=True)
class Lexical:
    """BM25 of every row, ``turn`` and ``window`` ``(n,)``, 0 without a match; ``mass`` is the sum of the terms' idf."""

    turn: Floats
    window: Floats
    mass: float


def bm25(candidates: Candidates, weights: Sequence[float]) -> Lexical:
    """Score all rows for the query's terms, each counting ``weights[i]`` times (0: not at all).

    ``window`` is scored for at most ``NEAR`` eligible rows and 0 elsewhere. O(postings of the terms + rows).
    """
    n, found = len(candidates.keys), candidates.document_frequency
    gains = np.log1p((candidates.total - found + 0.5) / (found + 0.5)) * np.asarray(weights) * (K1 + 1)
    asked = [
        (rows, held, np.float32(gain))
        for (rows, held), gain in zip(candidates.postings, gains, strict=True)
        if gain > 0 and len(rows)
    ]
    mean = np.float32(candidates.mean_length or 1)
    before, after = candidates.previous, candidates.following

    turn = np.zeros(n + 1, np.float32)  # row -1, which stands for "none", is the last
    for rows, held, gain in asked:
        turn[rows] += gain * held / (held + K1 * (1 - B + B * candidates.lengths[rows] / mean))

    reached = np.zeros(n + 1, np.bool_)
    hits = np.flatnonzero(turn)
    reached[hits] = reached[before[hits]] = reached[after[hits]] = True
    within = np.flatnonzero(reached[:n] & candidates.eligible)
    around = turn[within] + turn[before[within]] + turn[after[within]]
    near = within[best_rows(around, np.arange(len(within)), NEAR)]
    windows = np.stack([near, before[near], after[near]])
    lengths = np.where(windows >= 0, candidates.lengths[windows], np.float32(0))
    neighbours = np.count_nonzero(before >= 0) + np.count_nonzero(after >= 0)
    wide_norm = K1 * (1 - B + B * lengths.sum(axis=0) / (mean * (1 + neighbours / max(n, 1))))
    scores, counts = np.zeros(len(near), np.float32), np.zeros(n + 1, np.float32)
    for rows, held, gain in asked:
        counts[rows] = held
        summed = counts[windows].sum(axis=0)
        scores += gain * summed / (summed + wide_norm)
        counts[rows] = 0
    window = np.zeros(n, np.float32)
    window[near] = scores
    return Lexical(turn[:n], window, float(gains.sum()) / (K1 + 1))
