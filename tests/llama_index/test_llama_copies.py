"""What holds a memory can be copied, as frameworks and applications do with agents, tools and retrievers."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_script import Script, calling, text

from llama_index_siltstone import SiltstoneMemoryBlock, SiltstoneRetriever, SiltstoneToolSpec
from siltstone import ConfigurationError, TieredMemory

pytestmark = [
    # LlamaIndex looks for its steps with inspect.getmembers, which touches pydantic's deprecated attributes.
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince211"),
]

COPIES = [copy.copy, copy.deepcopy]


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy"])
def test_a_copied_agent_has_the_same_memory_in_its_tools(tiered: TieredMemory, copied: Callable[[Any], Any]) -> None:
    """An application that copies an agent for each request searches the one open store with each of them."""
    script = Script(calling("search_memory", query="engineer"), "In Shenzhen.")
    agent = FunctionAgent(llm=script.model, tools=SiltstoneToolSpec(tiered).to_tool_list(), streaming=False)
    twin = copied(agent)
    twin.llm = script.model  # a copied model has a copied script

    async def talk() -> None:
        await twin.run("Where do I work?")

    asyncio.run(talk())
    assert "a front-end engineer in Shenzhen" in text(script.sent[1])


@pytest.mark.parametrize("copied", [*COPIES, lambda m: m.model_copy(deep=True)], ids=["copy", "deepcopy", "model_copy"])
def test_a_copied_memory_with_a_block_stores_each_turn_once(tiered: TieredMemory, copied: Callable[[Any], Any]) -> None:
    """A copied block reads and writes the same open store: what both have seen is there once."""
    block = SiltstoneMemoryBlock(tiered, session_id="tuesday")
    twin = copied(block)
    said = [ChatMessage("My cat is called Miez.")]

    async def hand_over() -> str:
        await block.aput(said)
        await twin.aput(said)
        recalled: str = await twin.aget([ChatMessage("Where am I an engineer?")])
        return recalled

    assert "Shenzhen" in asyncio.run(hand_over())
    assert [m.content for m in tiered.messages("tuesday")] == ["My cat is called Miez.", "Where am I an engineer?"]


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy"])
def test_a_copied_retriever_finds_the_same(tiered: TieredMemory, copied: Callable[[Any], Any]) -> None:
    """Copied, it searches the one open store."""
    (node,) = copied(SiltstoneRetriever(tiered, top_k=1)).retrieve("engineer")
    assert "Shenzhen" in node.text


@pytest.mark.parametrize("made", [SiltstoneMemoryBlock, SiltstoneRetriever, SiltstoneToolSpec])
def test_what_holds_an_open_memory_is_not_pickled(tiered: TieredMemory, made: Callable[[TieredMemory], Any]) -> None:
    """The error says whose memory it is, and how the other process gets it; ``SiltstoneMemory`` opens it by itself."""
    with pytest.raises(ConfigurationError, match=r"memory of 'alice' cannot be pickled.*TieredMemory\.open\("):
        pickle.dumps(made(tiered))
