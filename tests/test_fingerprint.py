from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from siltstone.errors import ModelError
from siltstone.models.checked import CheckedEmbedder
from siltstone.models.fingerprint import fingerprint_of
from siltstone.protocols import Floats
from siltstone.testing import HashEmbedder


class Odd(HashEmbedder):
    """An embedder whose rows come out as a test wants them."""

    def __init__(self, rows: object, dim: int = 4) -> None:
        super().__init__(dim)
        self.rows = rows

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return the prepared rows."""
        return self.rows  # type: ignore[return-value]

    def embed_query(self, text: str) -> Floats:
        """Return the first of the prepared rows."""
        return self.rows[0]  # type: ignore[index, no-any-return]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([[1, 0, 0, float("nan")]], "NaN"),
        ([[1, 0, 0, float("inf")]], "infinity"),
        ([[1e300, 0, 0, float("-inf")]], "infinity"),
        ([[0, 0, 0, 0]], "length zero"),
        ([[1, 0, 0]], "shape"),
        ([[[1, 0, 0, 0]]], "shape"),
        ([[1, 0, 0, 0], [1, 0, 0, 0]], "shape"),
        ([["a", "b", "c", "d"]], "no array of numbers"),
        ([[10**400, 0, 0, 0]], "no array of numbers"),
        ([None], "shape|no array"),
    ],
)
def test_broken_vectors_are_refused(rows: object, reason: str) -> None:
    """NaN, infinity, zero length, a wrong width or number of rows, and what is no number are model errors."""
    with pytest.raises(ModelError, match=reason):
        CheckedEmbedder(Odd(rows)).embed_documents(["x"])


def test_sound_vectors_are_brought_into_form() -> None:
    """Lists and other lengths become float32 of unit length; what has it already is not touched."""
    checked = CheckedEmbedder(Odd([[3.0, 4.0, 0.0, 0.0]]))
    rows = checked.embed_documents(["x"])
    assert rows.dtype == checked.embed_query("x").dtype == np.float32
    assert np.allclose(rows, [[0.6, 0.8, 0, 0]])
    assert np.allclose(checked.embed_query("x"), [0.6, 0.8, 0, 0])
    unit = np.array([[0.6, 0.8, 0, 0]], np.float32)
    assert CheckedEmbedder(Odd(unit)).embed_documents(["x"]) is unit


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e-23, 1e-18, 1e18, 1e19, 1e30, 1e300])
def test_vectors_of_any_length_are_scaled(scale: float) -> None:
    """However long or short, a finite vector becomes one of unit length, beside any other."""
    rows = [[3 * scale, 4 * scale, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    for given in (rows, np.array(rows, np.float32 if 1e-30 < scale < 1e37 else np.float64)):
        checked = CheckedEmbedder(Odd(given))
        assert np.allclose(checked.embed_documents(["x", "y"]), [[0.6, 0.8, 0, 0], [0, 1, 0, 0]])
        assert checked.embed_query("x").dtype == np.float32


def test_identity_shows_through() -> None:
    """Name, width and engine are those of the embedder inside."""
    checked = CheckedEmbedder(HashEmbedder(8))
    assert (checked.name, checked.dim, checked.engine) == ("hash", 8, "hash")
    assert checked.embed_documents([]).shape == (0, 8)


def test_spaces_are_told_apart() -> None:
    """A space is the same with the same name, width and probe, whatever the engine, and no other is."""
    here = fingerprint_of(HashEmbedder(64))
    assert here.same_space(fingerprint_of(CheckedEmbedder(HashEmbedder(64))))
    assert not here.same_space(fingerprint_of(HashEmbedder(64, name="other")))
    assert not here.same_space(fingerprint_of(HashEmbedder(32)))


@pytest.mark.parametrize(("noise", "same"), [(0.05, True), (0.2, False)])
def test_tolerance_admits_rounding_only(noise: float, same: bool) -> None:
    """Vectors at cosine .99 are one space; a model fine-tuned under the same name is another."""
    vector = HashEmbedder(64).embed_query("probe")
    sideways = np.roll(vector, 1) - (np.roll(vector, 1) @ vector) * vector
    near = vector + noise * sideways / np.linalg.norm(sideways)
    one, two = (fingerprint_of(Odd(np.array([rows / np.linalg.norm(rows)], np.float32), 64)) for rows in (vector, near))
    assert one.same_space(two) is same
