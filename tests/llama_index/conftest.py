"""What the LlamaIndex tests share: a store on disk, and models that keep what they were sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_places import FACT, FlakyMemory
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter


@pytest.fixture(autouse=True)
def event_loop_of_this_test() -> Iterator[None]:
    """LlamaIndex asks for the thread's event loop outside of coroutines, and would leave a new one unclosed."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the store of a test is."""
    return tmp_path / "memory"


@pytest.fixture
def tiered(place: dict[str, Any]) -> Iterator[TieredMemory]:
    """Alice's memory, in which she introduced herself on Monday."""
    with FlakyMemory.open(**place, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", FACT), ("assistant", "Nice to meet you, Alice!")], session_id="monday")
        yield memory


@pytest.fixture
def llama_memory() -> Iterator[Callable[..., Any]]:
    """Makes LlamaIndex's own ``Memory`` of Tuesday's conversation, whose database is closed after the test."""
    from llama_index.core.memory import Memory
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import StaticPool

    engine = create_async_engine("sqlite+aiosqlite:///:memory:", poolclass=StaticPool)

    def make(**options: Any) -> Any:
        return Memory.from_defaults(session_id="tuesday", async_engine=engine, **options)

    yield make
    asyncio.run(engine.dispose())
