"""Memories that tests live long with: they wait for their vectors, and go by a clock that is told what time it is."""

from __future__ import annotations

from pathlib import Path

from siltstone import Settings, TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter


def opened(
    clock: FrozenClock, location: str | Path = ":memory:", summarizer: object = None, **settings: object
) -> TieredMemory:
    """Return a memory that waits for its vectors."""
    return TieredMemory.open(
        location,
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        clock=clock,
        settings=Settings(embed_wait=5.0, **settings),  # type: ignore[arg-type]
        summarizer=summarizer,
    )
