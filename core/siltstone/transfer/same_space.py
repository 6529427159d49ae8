"""Vectors that come with texts are another embedder's, until a few of the texts have been embedded anew and agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..errors import BackendUnavailableError
from ..protocols import SAME_SPACE, Embedder, Floats

_SAMPLE: Final = 8


def same_space(embedder: Embedder, texts: Sequence[str], vectors: Sequence[Floats]) -> bool:
    """Return whether the texts' vectors are of the embedder's space: as wide, and eight of them at ``SAME_SPACE``.

    An embedder that cannot be reached proves nothing.
    """
    chosen = np.unique(np.linspace(0, len(texts) - 1, min(_SAMPLE, len(texts))).astype(int))
    if not len(texts) or any(np.shape(vectors[at]) != (embedder.dim,) for at in chosen):
        return False
    try:
        present = embedder.embed_documents([texts[at] for at in chosen])
    except BackendUnavailableError:
        return False
    given = np.stack([vectors[at] for at in chosen]).astype(np.float32)
    norms = np.linalg.norm(given, axis=1)
    return bool(np.isfinite(norms).all() and (norms > 0).all()) and bool(
        ((present * given).sum(axis=1) >= SAME_SPACE * norms).all()
    )
