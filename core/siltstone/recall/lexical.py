"""The lexical arms: BM25 over single turns, and over each turn with its two neighbours.

A window's counts are summed from its turns at query time: the same scores as an index of windows, at half the
postings, and right after a late or forgotten turn. A neighbour is the turn before or after in the same session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final

import numpy as np

from ..protocols import Candidates, Floats, Ints
from .arm import best_rows

K1: Final = 1.2
B: Final = 0.75
"""Saturation and length normalisation of BM25 (Robertson and Walker, 1994); the usual values."""
NEAR: Final = 400
"""Windows are scored for the rows with the best sum of turn scores in them; others could not be among the best 200."""
_ROUNDED: Final = 0.999
"""A bound on sums of float32 is lowered by so much that rounding loses no row."""


@dataclass(frozen=True)
class Lexical:
    """BM25 of every row, ``turn`` and ``window`` ``(n,)``, 0 without a match; ``mass`` is the sum of the terms' idf.

    ``best`` are the eligible rows with the highest scores in ``turn``, ``NEAR`` of them or all that match.
    """

    turn: Floats
    window: Floats
    mass: float
    best: Ints


@dataclass(frozen=True)
class _Postings:
    """The postings of the terms that count, one after the other: row, count and term of each, the gain of each term."""

    rows: Ints
    held: Floats
    terms: Ints
    gains: Floats


def bm25(candidates: Candidates, weights: Sequence[float]) -> Lexical:
    """Score all rows for the query's terms, each counting ``weights[i]`` times (0: not at all).

    ``window`` is scored for at most ``NEAR`` eligible rows and 0 elsewhere. O(postings of the terms + rows).
    """
    n, total = len(candidates.keys), candidates.total
    holding = zip(candidates.document_frequency.tolist(), weights, strict=True)
    gains = [log1p((total - found + 0.5) / (found + 0.5)) * weight * (K1 + 1) for found, weight in holding]
    mass = sum(gains) / (K1 + 1)
    window = np.zeros(n, np.float32)
    asked = _asked(candidates, gains)
    if asked is None:
        return Lexical(window, window, mass, np.empty(0, np.int64))
    mean = np.float32(candidates.mean_length or 1)
    norm = K1 * (1 - B + B * candidates.lengths.take(asked.rows) / mean)
    scores = asked.gains.take(asked.terms) * asked.held / (asked.held + norm)
    turn = np.bincount(asked.rows, scores, minlength=n + 1).astype(np.float32)  # the last is row -1, which is "none"
    best = best_rows(turn, ((turn[:n] > 0) & candidates.eligible).nonzero()[0], NEAR)
    near = _near(candidates, turn, best)
    window[near] = _of_windows(candidates, asked, near, mean)
    return Lexical(turn[:n], window, mass, best)


def _asked(candidates: Candidates, gains: Sequence[float]) -> _Postings | None:
    told = [i for i, gain in enumerate(gains) if gain > 0 and len(candidates.postings[i][0])]
    if not told:
        return None
    rows = [candidates.postings[i][0] for i in told]
    return _Postings(
        np.concatenate(rows),
        np.concatenate([candidates.postings[i][1] for i in told]),
        np.repeat(np.arange(len(told)), [len(some) for some in rows]),
        np.array([gains[i] for i in told], np.float32),
    )


def _near(candidates: Candidates, turn: Floats, best: Ints) -> Ints:
    """Return the eligible rows whose turn and neighbours have the best sums of scores, at most ``NEAR``.

    The sums around the best turns are a bound for the least of them, and a sum has no part below a third of itself.
    """
    before, after = candidates.previous, candidates.following
    least = 0.0
    if len(best) == NEAR:
        least = float((turn.take(best) + turn[before.take(best)] + turn[after.take(best)]).min()) / 3 * _ROUNDED
    reached = np.zeros(len(turn), np.bool_)
    hits = (turn > least).nonzero()[0]
    reached[hits] = reached[before.take(hits)] = reached[after.take(hits)] = True
    within: Ints = (reached[:-1] & candidates.eligible).nonzero()[0]
    if len(within) <= NEAR:
        return within
    around = turn.take(within) + turn[before.take(within)] + turn[after.take(within)]
    return within[best_rows(around, np.arange(len(within)), NEAR)]


def _of_windows(candidates: Candidates, asked: _Postings, near: Ints, mean: np.float32) -> Floats:
    """Return the scores of the windows around some rows, ``(len(near),)``."""
    n, before, after = len(candidates.keys), candidates.previous, candidates.following
    links = candidates.links
    if links is None:
        links = int(np.count_nonzero(before >= 0) + np.count_nonzero(after >= 0))
    windows = np.concatenate([near, before.take(near), after.take(near)])
    lengths = candidates.lengths.take(windows, mode="wrap")  # of -1, which is none, the last row's
    lengths[windows < 0] = 0
    lengths = lengths.reshape(3, -1).sum(axis=0)
    norm = K1 * (1 - B + B * lengths / (mean * (1 + links / max(n, 1))))
    place = np.zeros(n + 1, np.int32)  # of a row among those in windows, from 1; 0 for all others, and for none
    place[windows] = np.arange(1, len(windows) + 1)
    place[-1] = 0
    there = place.take(asked.rows)
    some = there.nonzero()[0]
    counts = np.zeros((len(asked.gains), len(windows) + 1), np.float32)
    counts[asked.terms.take(some), there.take(some)] = asked.held.take(some)
    summed = counts.take(place.take(windows, mode="wrap"), axis=1).reshape(len(counts), 3, -1).sum(axis=1)
    scores: Floats = (asked.gains[:, None] * summed / (summed + norm)).sum(axis=0)
    return scores
