"""SiltstoneStore and LangGraph's own in-memory store, measured by one suite."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

sys.path.append(str(Path(__file__).parents[1] / "contracts"))

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_script import ScriptedModel, calling
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph_store import LangGraphStoreSuite, keys

from langchain_siltstone import SiltstoneStore
from siltstone import TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

DOCS = ("docs", "alice")


class TestSiltstoneStore(LangGraphStoreSuite):
    """Over a folder on disk."""

    @pytest.fixture
    def clock(self) -> FrozenClock:
        """The clock of memory and store."""
        return FrozenClock()

    @pytest.fixture
    def store(self, tmp_path: Path, clock: FrozenClock) -> Iterator[BaseStore]:
        """An empty store."""
        with TieredMemory.open(
            tmp_path / "memory", embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock
        ) as memory:
            yield SiltstoneStore(memory, clock=clock)


class TestInMemoryStore(LangGraphStoreSuite):
    """LangGraph's own: what it fails in is marked by name, so that its repair is noticed."""

    @pytest.fixture
    def clock(self) -> None:
        """It has no times to live."""
        return

    @pytest.fixture
    def store(self, request: pytest.FixtureRequest) -> BaseStore:
        """An empty store."""
        failing = {
            "test_update_replaces_the_value_and_keeps_the_date_of_creation": "it overwrites created_at",
            "test_deleted_item_is_gone_and_can_come_back": "it lists namespaces without items",
            "test_filter_does_not_compare_what_is_not_comparable": "it raises",
            "test_same_text_twice_in_one_batch": "it raises",
            "test_labels_may_hold_any_characters": "it refuses full stops",
            "test_item_is_read_as_it_was_put": "it asks twice for the time of creation",
            "test_item_expires_when_it_has_not_been_read": "it has no times to live",
            "test_reading_renews_the_time_to_live": "it has no times to live",
        }
        if reason := failing.get(request.node.originalname):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

        def embed(texts: list[str]) -> list[list[float]]:
            rows: list[list[float]] = HashEmbedder().embed_documents(texts).tolist()
            return rows

        return InMemoryStore(index={"dims": 256, "embed": embed})  # type: ignore[arg-type]


def test_items_are_on_disk_and_inside_one_user(tmp_path: Path) -> None:
    """Another process's store, opened later, has them; another user's has not."""
    options: Any = {"embedder": HashEmbedder(), "token_counter": WordCounter()}
    with TieredMemory.open(tmp_path / "memory", user_id="alice", **options) as memory:
        SiltstoneStore(memory).put(DOCS, "a", {"text": "tea"})
        assert SiltstoneStore(memory.for_user("bob")).search(()) == []
    with TieredMemory.open(tmp_path / "memory", user_id="alice", **options) as memory:
        assert keys(SiltstoneStore(memory).search(DOCS, query="tea")) == ["a"]


def test_items_are_recalled_like_other_memories(tiered: TieredMemory) -> None:
    """What an agent put into the store reaches the context of the whole application."""
    SiltstoneStore(tiered).put(DOCS, "a", {"content": "Alice's cat is called Miez."})
    assert "Miez" in tiered.context("What is the cat called?", max_tokens=300).text


def test_default_fields_and_times_to_live_are_configured(tmp_path: Path) -> None:
    """``index`` and ``ttl`` as LangGraph's stores take them."""
    clock = FrozenClock()
    options: Any = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "clock": clock}
    with TieredMemory.open(tmp_path / "memory", **options) as memory:
        store = SiltstoneStore(
            memory, index={"fields": ["title"]}, ttl={"default_ttl": 5, "refresh_on_read": False}, clock=clock
        )  # type: ignore[typeddict-item]
        store.put(DOCS, "a", {"title": "green tea", "body": "motor cars"})
        (record,) = memory.records(kinds="item")
        assert record.text == "green tea"
        clock.advance(minutes=3)
        assert store.get(DOCS, "a")
        clock.advance(minutes=3)
        assert store.get(DOCS, "a") is None


def test_reads_in_quick_succession_do_not_write(tmp_path: Path) -> None:
    """A time to live is renewed once a twentieth of it is over, not with every read."""
    clock = FrozenClock()
    options: Any = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "clock": clock}
    with TieredMemory.open(tmp_path / "memory", **options) as memory:
        store = SiltstoneStore(memory, clock=clock)
        store.put(DOCS, "a", {"text": "tea"}, ttl=60)
        before = memory.revision
        for _ in range(5):
            clock.advance(seconds=10)
            store.get(DOCS, "a")
        assert memory.revision == before
        clock.advance(minutes=5)
        store.get(DOCS, "a")
        assert memory.revision != before


def test_one_item_put_by_many_threads_is_one_item(tiered: TieredMemory) -> None:
    """Whoever comes last has written it; nobody gets an error."""
    store = SiltstoneStore(tiered)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.put(DOCS, "a", {"n": n}), range(24)))
    assert keys(store.search(DOCS)) == ["a"]


def test_agent_reads_and_writes_its_store(tiered: TieredMemory) -> None:
    """``create_agent(store=…)`` hands the store to the agent's tools."""

    @tool
    def note(text: str, runtime: ToolRuntime) -> str:
        """Write a note."""
        assert runtime.store is not None
        runtime.store.put(("notes",), "last", {"text": text})
        return "written"

    model = ScriptedModel(calling("note", text="Buy tea."), "Done.")
    store = SiltstoneStore(tiered)
    create_agent(model, tools=[note], store=store).invoke({"messages": [("user", "Note: buy tea.")]})
    assert keys(store.search(("notes",), query="tea")) == ["last"]
