"""Whitening a question by the distribution of a user's vectors."""

from __future__ import annotations

import numpy as np
import pytest

from siltstone.index.whitening import LEAST, PRIOR, RIDGE, whitening
from siltstone.protocols import Floats


def unit(rows: Floats) -> Floats:
    """Return rows of unit length."""
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def crowd(n: int, dim: int = 32, seed: int = 0) -> Floats:
    """Return vectors that all point much the same way and vary most along one direction."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n, dim)) * 0.1
    rows[:, 0] += 3
    rows[:, 1] *= 20
    return unit(rows)


def test_what_all_share_is_taken_out() -> None:
    """A row that differs in rare directions is told apart, where cosines are dominated by the usual ones."""
    rows = crowd(200)
    target = 17
    question = rows[target].copy()
    question[1] += 0.5  # it also has more of what the rows vary most in
    question = unit(question)
    plain = rows @ question
    whitened = whitening(rows)
    assert whitened is not None
    telling = rows @ whitened(question)

    def lead(scores: Floats) -> float:
        others = np.delete(scores, target)
        return float((scores[target] - others.mean()) / others.std())

    assert lead(telling) > 2 * lead(plain)


def test_the_question_keeps_unit_length() -> None:
    """Products with unit vectors stay between -1 and 1, as indexes expect."""
    rows = crowd(100)
    whitened = whitening(rows)
    assert whitened is not None
    moved = whitened(rows[3])
    assert np.linalg.norm(moved) == pytest.approx(1, abs=1e-5)
    assert moved.dtype == np.float32


@pytest.mark.parametrize("rows", [crowd(LEAST - 1), np.repeat(crowd(1), 50, axis=0)], ids=["few", "all the same"])
def test_without_a_distribution_there_is_no_whitening(rows: Floats) -> None:
    """Few vectors, or copies of one, tell nothing of what a user's texts share."""
    assert whitening(rows) is None


def test_a_question_that_is_the_mean_stays_as_it_is() -> None:
    """Nothing is divided by zero."""
    rows = crowd(100)
    whitened = whitening(rows)
    assert whitened is not None
    assert np.array_equal(whitened(whitened.mean), whitened.mean)


def test_fewer_vectors_than_dimensions_are_whitened_in_every_direction() -> None:
    """The matrix is the inverse root of the whole covariance, also where most directions have no variance."""
    vectors = np.random.default_rng(5).standard_normal((20, 64)).astype(np.float32)
    found = whitening(vectors)
    assert found is not None
    variances, directions = np.linalg.eigh(np.cov(vectors.T, bias=True))
    shares = np.maximum(variances, 0) / variances.max() * 20 / (20 + PRIOR)
    expected = (directions * (shares + RIDGE) ** -0.5) @ directions.T
    matrix = (found.directions.T * found.gains) @ found.directions + RIDGE**-0.5 * np.eye(64)
    np.testing.assert_allclose(matrix, expected, atol=1e-5)
