"""An embedder that is held to its contract: what it returns is checked before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..protocols import Embedder, Floats

_TOLERANCE: Final = 1e-3
"""How far from one a vector's length may be before it is scaled; float16 services stay below it."""
_VANISHING: Final = 1e-30
"""A square of a length below which float32 rounds it too much, or to nothing."""


class CheckedEmbedder:
    """Any ``Embedder``, whose rows are float32, finite, of the announced width and of unit length.

    Raises ``ModelError`` for anything else; vectors of another length are scaled.
    """

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        """Identity of the model."""
        return self.inner.name

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return self.inner.dim

    @property
    def engine(self) -> str:
        """What computes it, where a model has several engines."""
        return str(getattr(self.inner, "engine", "default"))

    @property
    def local(self) -> bool:
        """Whether what it is given stays in this process."""
        return getattr(self.inner, "local", False) is True

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that its model takes, as far as it tells; 0 while it is not loaded."""
        told = getattr(self.inner, "memory_bytes", 0)
        return told if isinstance(told, int) else 0

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        return self._check(self.inner.embed_documents(texts), (len(texts), self.dim))

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        return self._check(self.inner.embed_query(text), (self.dim,))

    def _check(self, rows: object, shape: tuple[int, ...]) -> Floats:
        try:
            with np.errstate(over="ignore"):
                vectors = np.asarray(rows, np.float32)
        except (TypeError, ValueError, OverflowError) as exc:
            raise ModelError(f"the embedder {self.name!r} returned no array of numbers: {exc}").quoting(exc) from exc
        if vectors.shape != shape:
            raise ModelError(
                f"the embedder {self.name!r} returned vectors of shape {vectors.shape} where {shape} was due: "
                "nothing was stored; give the width that the model really has"
            )
        squares = np.einsum("...i,...i->...", vectors, vectors)
        least, most = float(squares.min()), float(squares.max())  # nan, if there is one
        if not (least > _VANISHING and most < inf):
            return self._of_any_length(np.asarray(rows, np.float64))
        if max(1 - sqrt(least), sqrt(most) - 1) > _TOLERANCE:
            vectors = vectors / np.sqrt(squares)[..., None]
        return vectors

    def _of_any_length(self, rows: NDArray[np.float64]) -> Floats:
        """Return rows at unit length whose squares are too large or too small for float32."""
        largest = np.abs(rows).max(axis=-1, keepdims=True)
        if not np.isfinite(largest).all():
            raise ModelError(f"the embedder {self.name!r} returned NaN or infinity: nothing was stored")
        if not largest.all():
            raise ModelError(f"the embedder {self.name!r} returned a vector of length zero: nothing was stored")
        near_one = rows / largest
        units: Floats = (near_one / np.linalg.norm(near_one, axis=-1, keepdims=True)).astype(np.float32)
        return units
