"""Wrong arguments of the LlamaIndex adapters are refused when they are made, before a chat begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siltstone import ConfigurationError, InvalidInputError, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

pytest.importorskip("llama_index.core", reason="needs siltstone[llama-index]")

from llama_index_siltstone import SiltstoneMemory, SiltstoneMemoryBlock, SiltstoneRetriever, SiltstoneToolSpec
from llama_index_siltstone.memory import _warn_of_no_location

ADAPTERS: dict[str, Callable[[Any], object]] = {
    "SiltstoneMemory": SiltstoneMemory.from_defaults,
    "SiltstoneMemoryBlock": SiltstoneMemoryBlock,
    "SiltstoneRetriever": SiltstoneRetriever,
    "SiltstoneToolSpec": SiltstoneToolSpec,
}
MODELS: dict[str, Any] = {"embedder": HashEmbedder(), "token_counter": WordCounter()}


@pytest.mark.parametrize(
    ("adapter", "wrong"),
    [(adapter, wrong) for adapter in ADAPTERS for wrong in ("./m", Path("m"), TieredMemory)]
    + [(adapter, None) for adapter in ADAPTERS if adapter != "SiltstoneMemory"],  # there it means ":memory:"
)
def test_what_is_no_memory_is_refused_with_what_to_pass(adapter: str, wrong: object) -> None:
    """A folder's name, nothing, a class: one sentence names the adapter and shows how a memory is opened."""
    place = r"\./m'" if wrong == "./m" else r"\./memory'"
    with pytest.raises(ConfigurationError, match=rf"^{adapter} needs an open memory.*TieredMemory\.open\('{place}"):
        ADAPTERS[adapter](wrong)


def test_an_export_needs_a_memory_too(tmp_path: Path) -> None:
    """``export_faiss`` refuses a folder's name before it makes anything."""
    pytest.importorskip("llama_index.vector_stores.faiss", reason="needs siltstone[llama-index]")
    from llama_index_siltstone import export_faiss

    with pytest.raises(ConfigurationError, match="export_faiss needs an open memory"):
        export_faiss("./m", tmp_path / "index", embed_model=None)  # type: ignore[arg-type]
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sections": ("recall",)}, "'recall' is not one of profile, summary, recalled, recent"),
        ({"sections": "recalled"}, "sections is a list"),
        ({"token_limit": 0}, "token_limit"),
        ({"token_limit": "3000"}, "token_limit"),
    ],
)
def test_what_cannot_be_recalled_is_refused(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    """Budget and sections are what ``TieredMemory.context`` takes; no store is made for a memory that takes others."""
    with pytest.raises(InvalidInputError, match=told):
        SiltstoneMemory.from_defaults(location=tmp_path / "m", **options, **MODELS)
    assert not (tmp_path / "m").exists()
    with TieredMemory.open(":memory:", **MODELS) as memory, pytest.raises(InvalidInputError):
        SiltstoneMemoryBlock(memory, **{name.replace("token_limit", "max_tokens"): of for name, of in options.items()})


def test_a_memory_opened_for_reading_only_recalls(tmp_path: Path) -> None:
    """What stores the conversation refuses it and says what to do; what only recalls takes it."""
    with TieredMemory.open(tmp_path / "m", **MODELS) as memory:
        memory.add([("user", "I moved to Lisbon.")], session_id="may")
    with pytest.raises(ConfigurationError, match=r"SiltstoneMemory stores .* SiltstoneRetriever"):
        SiltstoneMemory.from_defaults(location=tmp_path / "m", read_only=True, **MODELS)
    with TieredMemory.open(tmp_path / "m", read_only=True, **MODELS) as memory:
        for storing in (SiltstoneMemory.from_defaults, SiltstoneMemoryBlock):
            with pytest.raises(ConfigurationError, match=r"stores .* SiltstoneRetriever"):
                storing(memory)
        assert SiltstoneRetriever(memory).retrieve("Lisbon")


def test_a_memory_without_a_location_says_once_that_it_ends_with_the_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A user's memory in ``":memory:"`` that nobody asked for is announced; one that was asked for is not."""
    _warn_of_no_location.cache_clear()
    for given in ({"location": ":memory:"}, {"location": tmp_path / "m"}):
        SiltstoneMemory.from_defaults(user_id="alice", **given, **MODELS).memory.close()
    assert not caplog.records
    for _ in range(2):
        SiltstoneMemory.from_defaults(user_id="alice", **MODELS).memory.close()
    (told,) = caplog.messages
    assert "location='./memory'" in told


def test_an_empty_location_is_none() -> None:
    """An empty text is refused, rather than taken for a memory that ends with the process."""
    with pytest.raises(ConfigurationError, match="the location is empty"):
        SiltstoneMemory.from_defaults(location="", **MODELS)
