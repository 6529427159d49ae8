"""Wrong arguments of the LangChain adapters are refused when they are made, before a chat begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siltstone import ConfigurationError, InvalidInputError, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

pytest.importorskip("langchain.agents", reason="needs siltstone[langchain]")

from langchain_siltstone import (
    SiltstoneChatMessageHistory,
    SiltstoneMemoryMiddleware,
    SiltstoneRetriever,
    SiltstoneStore,
    create_memory_tools,
)

ADAPTERS: dict[str, Callable[[Any], object]] = {
    "SiltstoneChatMessageHistory": lambda memory: SiltstoneChatMessageHistory("monday", memory=memory),
    "SiltstoneMemoryMiddleware": SiltstoneMemoryMiddleware,
    "SiltstoneRetriever": SiltstoneRetriever,
    "SiltstoneStore": SiltstoneStore,
    "create_memory_tools": create_memory_tools,
}


@pytest.fixture
def read_only(tiered: TieredMemory) -> TieredMemory:
    """The same store, opened for reading."""
    models: dict[str, Any] = {"embedder": HashEmbedder(), "token_counter": WordCounter()}
    return TieredMemory.open(tiered.location, user_id="alice", read_only=True, **models)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("wrong", ["./m", Path("m"), None, TieredMemory, {"memory": "./m"}])
def test_what_is_no_memory_is_refused_with_what_to_pass(adapter: str, wrong: object) -> None:
    """A folder's name, nothing, a class: one sentence names the adapter and shows how a memory is opened."""
    place = r"\./m'" if wrong == "./m" else r"\./memory'"
    with pytest.raises(ConfigurationError, match=rf"^{adapter} needs an open memory.*TieredMemory\.open\('{place}"):
        ADAPTERS[adapter](wrong)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_view_of_a_memory_is_one(tiered: TieredMemory, adapter: str) -> None:
    """Every adapter takes a memory, and another user's view of it."""
    for memory in (tiered, tiered.for_user("bob")):
        ADAPTERS[adapter](memory)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sections": ("recall",)}, "'recall' is not one of profile, summary, recalled, recent"),
        ({"sections": "recalled"}, "sections is a list"),
        ({"sections": None}, "sections is a list"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "1000"}, "max_tokens"),
    ],
)
def test_what_cannot_be_recalled_is_refused(tiered: TieredMemory, options: dict[str, Any], told: str) -> None:
    """Budget and sections of the middleware are what ``TieredMemory.context`` takes."""
    with pytest.raises(InvalidInputError, match=told):
        SiltstoneMemoryMiddleware(tiered, **options)


@pytest.mark.elsewhere_than("memory", "vectors")
def test_a_memory_opened_for_reading_only_recalls(read_only: TieredMemory) -> None:
    """What stores the conversation refuses it and says what to do; what only recalls takes it."""
    for view in (read_only, read_only.for_user("bob")):
        with pytest.raises(ConfigurationError, match=r"SiltstoneMemoryMiddleware stores .* pass store=False"):
            SiltstoneMemoryMiddleware(view)
        with pytest.raises(ConfigurationError, match=r"SiltstoneChatMessageHistory stores .* memory\.messages"):
            SiltstoneChatMessageHistory("monday", memory=view)
    SiltstoneMemoryMiddleware(read_only, store=False)
    assert SiltstoneRetriever(read_only).invoke("engineer")
    read_only.close()
