"""Whitening a question by the distribution of a user's vectors."""

from __future__ import annotations

import numpy as np
import pytest

from siltstone.index.products import product
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


def clusters(count: int, n: int, dim: int) -> Floats:
    """Return vectors of a few orthogonal clusters: their largest variances are the same."""
    return np.repeat(np.eye(dim, dtype=np.float32)[:count], n // count, axis=0)


@pytest.mark.parametrize(
    "vectors",
    [
        pytest.param(crowd(20, 64), id="fewer than dimensions"),
        pytest.param(crowd(60, 64), id="about as many"),
        pytest.param(crowd(300, 64), id="more"),
        pytest.param(crowd(20, 64)[[0, 1] * 20], id="of two texts"),
        pytest.param(clusters(4, 40, 64), id="with equal variances"),
        pytest.param(crowd(20, 64).astype(np.float64), id="of twice the width"),
        pytest.param(unit(np.random.default_rng(5).standard_normal((100, 384))), id="of no direction"),
    ],
)
def test_a_question_is_damped_by_the_inverse_root_of_the_whole_covariance(vectors: Floats) -> None:
    """As its eigenvectors have it, in every direction: also in those without variance."""
    n, dim = vectors.shape
    found = whitening(vectors)
    assert found is not None
    trust = n / (n + PRIOR)
    variances, directions = np.linalg.eigh(np.cov(vectors.T.astype(np.float64), bias=True))
    shares = np.maximum(variances, 0) / variances.max() * trust
    inverse_root = (directions * (shares + RIDGE) ** -0.5) @ directions.T
    for question in unit(np.random.default_rng(6).standard_normal((20, dim))):
        expected = inverse_root @ (question - trust * vectors.mean(axis=0))
        assert found(question).dtype == np.float32
        np.testing.assert_allclose(found(question), expected / np.linalg.norm(expected), atol=2e-6)


@pytest.mark.parametrize(("n", "dim", "m"), [(3, 5, 7), (100, 384, 100), (384, 60, 384), (1, 5_000, 90), (90, 90, 200)])
def test_a_product_of_matrices_is_the_same_in_pieces(n: int, dim: int, m: int) -> None:
    """However it is cut for one thread."""
    random = np.random.default_rng(7)
    left, right = random.standard_normal((n, dim)), random.standard_normal((dim, m))
    np.testing.assert_allclose(product(left.astype(np.float32), right.astype(np.float32)), left @ right, atol=1e-3)
