"""SiltstoneRetriever in query engines and tools."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from llama_index.core.tools import RetrieverTool
from llama_script import Script, text

from llama_index_siltstone import SiltstoneRetriever
from llama_index_siltstone.retriever import plain_query
from siltstone import TieredMemory


def test_retriever_returns_the_best_memories_first(tiered: TieredMemory) -> None:
    """Nodes carry text, score, id and what they are; at most ``top_k``, best first."""
    tiered.add([("user", f"Remark {n}") for n in range(9)], session_id="monday")
    nodes = SiltstoneRetriever(tiered, top_k=3).retrieve("Where does the engineer work?")
    assert len(nodes) == 3
    assert "Shenzhen" in nodes[0].text
    assert [n.score for n in nodes] == sorted((n.score for n in nodes), key=lambda s: -(s or 0))
    assert nodes[0].metadata["session_id"] == "monday"
    assert tiered.get(nodes[0].node_id)


def test_async_retrieval_runs_beside_the_event_loop(tiered: TieredMemory) -> None:
    """``aretrieve`` answers the same, and the event loop is free meanwhile."""
    retriever = SiltstoneRetriever(tiered)

    async def race() -> tuple[list[str], bool]:
        search = asyncio.ensure_future(retriever.aretrieve("engineer"))
        await asyncio.sleep(0)
        free = not search.done()
        return [node.node_id for node in await search], free

    ids, free = asyncio.run(race())
    assert free
    assert ids == [node.node_id for node in retriever.retrieve("engineer")]


def test_retriever_tool_wraps_the_query_and_still_finds(tiered: TieredMemory) -> None:
    """``RetrieverTool`` hands over "input is …": the wrapping is not searched for."""
    tiered.add([("user", "The input is a number.")], session_id="monday")
    tool = RetrieverTool.from_defaults(SiltstoneRetriever(tiered, top_k=1), name="notes", description="Notes.")
    assert "Shenzhen" in tool.call(input="the engineer's city").content
    assert "Shenzhen" in asyncio.run(tool.acall(input="the engineer's city")).content


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("\ninput is cat name\n", "cat name"),
        ("\ninput is 猫叫什么？\n", "猫叫什么？"),
        ("cat name ", "cat name"),
        ("the input is empty", "the input is empty"),
        ("input is empty, why?", "input is empty, why?"),
    ],
)
def test_wrapped_query_is_unwrapped(given: str, plain: str) -> None:
    """Only the line that ``RetrieverTool`` makes is unwrapped; a user's own "input is …" stays."""
    assert plain_query(given) == plain


def test_query_engine_answers_from_memory(tiered: TieredMemory) -> None:
    """The model is sent the memory with its date and speaker, and nothing of how it is stored."""
    script = Script("In Shenzhen.")
    engine = RetrieverQueryEngine.from_args(SiltstoneRetriever(tiered, top_k=1), llm=script.model)
    assert str(engine.query("In which city is the front-end engineer?")) == "In Shenzhen."
    assert "a front-end engineer in Shenzhen" in text(script.sent[0])
    assert "session_id" not in text(script.sent[0])


def test_conditions_narrow_the_search(tiered: TieredMemory) -> None:
    """What ``TieredMemory.search`` can filter by, the retriever can."""
    tiered.remember("Alice lives in Shenzhen.", kind="profile")
    nodes = SiltstoneRetriever(tiered, kinds="profile").retrieve("Shenzhen")
    assert [node.get_content(MetadataMode.NONE) for node in nodes] == ["Alice lives in Shenzhen."]


def test_empty_query_finds_nothing(tiered: TieredMemory) -> None:
    """No question, no memories, no error."""
    assert SiltstoneRetriever(tiered).retrieve("  ") == []
