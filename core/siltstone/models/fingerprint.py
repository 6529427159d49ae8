"""Which embedding space a model writes in, told by the vector of a probe text."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..protocols import PROBE, Embedder, Fingerprint

SAME: Final = 0.99
"""Cosine from which two probe vectors are one space: it admits the other engine of a model, and nothing else."""


def fingerprint_of(embedder: Embedder) -> Fingerprint:
    """Return the fingerprint of an embedder; costs the embedding of one short text."""
    (vector,) = embedder.embed_documents([PROBE])
    engine = str(getattr(embedder, "engine", "default"))
    return Fingerprint(embedder.name, embedder.dim, engine, tuple(float(value) for value in vector))


def same_space(stored: Fingerprint, present: Fingerprint) -> bool:
    """Return whether vectors of the two can be compared: same name, same width, probes at cosine ``SAME``."""
    if (stored.name, stored.dim) != (present.name, present.dim):
        return False
    a, b = np.asarray(stored.probe), np.asarray(present.probe)
    return float(a @ b) >= SAME * float(np.linalg.norm(a) * np.linalg.norm(b))
