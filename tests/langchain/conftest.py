"""What the LangChain tests share: a store on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memory_places import FACT, FlakyMemory
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter


@pytest.fixture
def tiered(place: dict[str, Any]) -> Iterator[TieredMemory]:
    """Alice's memory, in which she introduced herself on Monday."""
    with FlakyMemory.open(**place, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", FACT), ("assistant", "Nice to meet you, Alice!")], session_id="monday")
        yield memory
