"""Which embedding space a model writes in, told by the vector of a probe text."""

from __future__ import annotations

from ..protocols import PROBE, Embedder, Fingerprint


def fingerprint_of(embedder: Embedder) -> Fingerprint:
    """Return the fingerprint of an embedder; costs the embedding of one short text."""
    (vector,) = embedder.embed_documents([PROBE])
    engine = str(getattr(embedder, "engine", "default"))
    return Fingerprint(embedder.name, embedder.dim, engine, tuple(float(value) for value in vector))
