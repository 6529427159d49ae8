"""Whitening: what all of a user's texts have in common tells nothing, and what they rarely differ in tells most.

The vectors of one person's memories lie close together. Directions in which they all agree are taken out of a
question, and those in which they vary much are damped, so that the rest decides (Su et al. 2021, "Whitening Sentence
Representations for Better Semantics and Faster Retrieval"). Only the question is transformed: its products with the
stored vectors then rank as products of both sides whitened would, up to a constant, and no index changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Final

import numpy as np

from ..protocols import Floats
from .products import product, products

LEAST: Final = 16
"""With fewer vectors than this nothing is known of their distribution."""
SAMPLE: Final = 5_000
"""Vectors that the distribution is estimated from, at most."""
RIDGE: Final = 0.3
"""Added to the variances, as a share of the largest: how little the least telling directions are amplified.

From .1 to .3 LoCoMo is the same to .001, and R@10 of MADial, with its 83 vectors, goes from .72 to .745; .5 adds
nothing.
"""
PRIOR: Final = 50.0
"""Counts as so many vectors of no known distribution: few vectors change a question little."""
_STEPS: Final = 64
"""Of Lanczos' method at most; for memories some twelve do."""
_LEFT: Final = 3e-4
"""What the largest variance may leave of its direction, as a share of it: it is nearer to the true one by far."""
_POWERS: Final = 4
_DEGREE: Final = _POWERS**2 - 1
"""Of the polynomial in place of the inverse root: 4e-8 from it at most."""


@dataclass(frozen=True)
class Whitening:
    """The distribution of one user's vectors: ``mean`` ``(dim,)`` and the inverse root of their covariance.

    That is ``RIDGE**-0.5`` in every direction, and ``gains`` ``(dim, dim)`` beside it. Few vectors take less time and
    memory as they are: then it is ``rows.T @ gains @ rows``, with ``rows`` ``(n, dim)`` and ``gains`` ``(n, n)``.
    """

    mean: Floats
    gains: Floats
    rows: Floats | None = None

    def __call__(self, query: Floats) -> Floats:
        """Return the question as it is to be compared with stored vectors, of unit length, ``(dim,)``."""
        centred = query - self.mean
        if self.rows is None:
            gained = products(self.gains, centred)
        else:
            gained = np.einsum("ij,i->j", self.rows, products(self.gains, products(self.rows, centred)))
        moved = np.float32(RIDGE**-0.5) * centred + gained
        length = sqrt(float(np.dot(moved, moved)))
        return (moved / length).astype(np.float32, copy=False) if length > 0 else query


def whitening(vectors: Floats) -> Whitening | None:
    """Return the whitening of a user's vectors ``(n, dim)``, or ``None`` for too few.

    O(n dim² + dim³), and O(n² dim) for few. Without their eigenvectors, which take several times as long.
    """
    n, dim = vectors.shape
    if n < LEAST:
        return None
    vectors = np.asarray(vectors, np.float32)  # an engine may give others back
    trust = n / (n + PRIOR)
    mean = vectors.mean(axis=0)
    rows = vectors - mean
    spread = product(rows, rows.T) if n < dim else product(rows.T, rows)  # either has all variances
    spread /= n
    largest = _largest(spread)
    if largest <= 1e-9:  # all vectors are one
        return None
    scale = np.float32(trust / largest)
    gains = _gains(scale * spread)
    gains *= scale
    mean *= np.float32(trust)
    if n >= dim:
        return Whitening(mean, product(spread, gains))
    gains /= n
    if n * (n + 2 * dim) < dim * dim:
        return Whitening(mean, gains, rows)
    return Whitening(mean, product(product(rows.T, gains), rows))


def _largest(spread: Floats) -> float:
    """Return the largest eigenvalue of a symmetric matrix without negative ones, by the method of Lanczos (1950)."""
    most = min(_STEPS, len(spread))
    inner = np.zeros((most + 1, most + 1))
    before, now = np.zeros(len(spread), np.float32), np.cos(np.arange(len(spread), dtype=np.float32))
    now /= np.sqrt(np.dot(now, now))
    off = np.float32(0)
    for step in range(most):
        after = products(spread, now)
        inner[step, step] = on = np.dot(after, now)
        after -= on * now
        after -= off * before
        off = np.sqrt(np.dot(after, after))
        if step % 4 == 3 or step + 1 == most or off <= 1e-6 * abs(on):
            found, directions = np.linalg.eigh(inner[: step + 1, : step + 1])
            if off * abs(directions[-1, -1]) <= _LEFT * found[-1]:
                break
        inner[step, step + 1] = inner[step + 1, step] = off
        before, now = now, after / off
    return float(found[-1])


def _gains(shares: Floats) -> Floats:
    """Return ``((x + RIDGE)**-0.5 - RIDGE**-0.5) / x`` of a symmetric matrix with eigenvalues from 0 to 1.

    As a polynomial, in six products of matrices (Paterson and Stockmeyer 1973).
    """
    powers = np.empty((_POWERS, *shares.shape), np.float32)
    powers[0] = np.eye(len(shares))
    powers[1] = 2 * shares - powers[0]
    powers[2] = product(powers[1], powers[1])
    powers[3] = product(powers[2], powers[1])
    fourth = product(powers[2], powers[2])
    parts: Floats = product(_coefficients(), powers.reshape(_POWERS, -1)).reshape(powers.shape)
    found: Floats = parts[-1]
    for part in parts[-2::-1]:
        found = product(found, fourth) + part
    return found


@cache
def _coefficients() -> Floats:
    """Return those of the polynomial in ``2 * x - 1`` that has the values of ``_gains`` at Chebyshev's nodes.

    ``(_POWERS, _POWERS)``, ascending.
    """
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    root, least = np.sqrt((nodes + 1) / 2 + RIDGE), sqrt(RIDGE)
    values = -1 / (least * root * (least + root))  # the difference of two numbers that may be near, without taking it
    solved = np.linalg.solve(np.vander(nodes, increasing=True), values)
    found: Floats = solved.astype(np.float32).reshape(_POWERS, -1)
    return found
