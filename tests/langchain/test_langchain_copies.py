"""What holds a memory can be copied, as frameworks and applications do with retrievers, tools and histories."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_script import ScriptedModel

from langchain_siltstone import (
    SiltstoneChatMessageHistory,
    SiltstoneMemoryMiddleware,
    SiltstoneRetriever,
    SiltstoneStore,
    create_memory_tools,
)
from siltstone import ConfigurationError, TieredMemory

MAKERS: dict[str, Callable[[TieredMemory], Any]] = {
    "history": lambda memory: SiltstoneChatMessageHistory("tuesday", memory=memory),
    "middleware": SiltstoneMemoryMiddleware,
    "retriever": SiltstoneRetriever,
    "store": SiltstoneStore,
    "tool": lambda memory: create_memory_tools(memory)[0],
}


def used(kind: str, adapter: Any) -> bool:
    """Use an adapter; return whether it speaks for the memory of Alice, who introduced herself on Monday."""
    if kind == "history":
        adapter.add_messages([HumanMessage("Hello from a copy.")])
        return [m.text for m in adapter.messages] == ["Hello from a copy."]
    if kind == "middleware":
        model = ScriptedModel("Yes.")
        create_agent(model, middleware=[adapter]).invoke({"messages": [("user", "Where do I work?")]})
        return "Shenzhen" in model.sent[0][0].text
    if kind == "store":
        adapter.put(("notes",), "a", {"text": "tea"})
        return [item.key for item in adapter.search(("notes",))] == ["a"]
    answer = adapter.invoke("engineer" if kind == "retriever" else {"query": "engineer"})
    return "Shenzhen" in str(answer)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
@pytest.mark.parametrize("kind", MAKERS)
def test_a_copy_works_on_the_same_open_memory(tiered: TieredMemory, kind: str, copied: Callable[[Any], Any]) -> None:
    """Whatever locks and files the store holds, a copy of an adapter reads and writes what the first one does."""
    adapter = MAKERS[kind](tiered)
    assert used(kind, copied(adapter))
    assert kind != "history" or len(tiered.messages("tuesday")) == 1


def test_a_copy_of_a_history_waits_with_it_for_a_store_that_is_away(tiered: Any) -> None:
    """A turn that could not be stored is stored once, whichever of the two comes first."""
    first = MAKERS["history"](tiered)
    tiered.failing = True
    first.add_messages([HumanMessage("Kept.")])
    second = copy.deepcopy(first)
    tiered.failing = False
    assert [m.text for m in second.messages] == [m.text for m in first.messages] == ["Kept."]
    assert [m.content for m in tiered.messages("tuesday")] == ["Kept."]


@pytest.mark.parametrize("kind", ["history", "middleware", "retriever", "store"])
def test_what_holds_an_open_memory_is_not_pickled(tiered: TieredMemory, kind: str) -> None:
    """The error says whose memory it is, and how the other process gets it."""
    with pytest.raises(ConfigurationError, match=r"memory of 'alice' cannot be pickled.*TieredMemory\.open\("):
        pickle.dumps(MAKERS[kind](tiered))
