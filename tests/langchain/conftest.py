"""What the LangChain tests share: a store on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from siltstone import BackendUnavailableError, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

FACT = "I'm Alice, a front-end engineer in Shenzhen."


class FlakyMemory(TieredMemory):
    """A memory whose store does not answer while ``failing``, as one whose disk or server is gone."""

    failing = False

    def _open_engine(self) -> Any:
        if self.failing:
            raise BackendUnavailableError("the store does not answer, as this test asked for")
        return super()._open_engine()


@pytest.fixture
def tiered(tmp_path: Path) -> Iterator[TieredMemory]:
    """Alice's memory, in which she introduced herself on Monday."""
    folder = tmp_path / "memory"
    with FlakyMemory.open(folder, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", FACT), ("assistant", "Nice to meet you, Alice!")], session_id="monday")
        yield memory
