"""langmem's tools over SiltstoneStore, in an agent and on their own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("langmem")

from langchain.agents import create_agent
from langchain_script import ScriptedModel, assert_valid, calling, text
from langgraph.store.base import BaseStore
from langmem import create_manage_memory_tool, create_search_memory_tool

from langchain_siltstone import SiltstoneStore
from siltstone import TieredMemory

NAMESPACE = ("memories", "{langgraph_user_id}")
ALICE: Any = {"configurable": {"langgraph_user_id": "alice@example.com", "thread_id": "tuesday"}}


def agent_of(tiered: TieredMemory, model: ScriptedModel) -> Any:
    """Return an agent with langmem's two tools and our store."""
    tools = [create_manage_memory_tool(NAMESPACE), create_search_memory_tool(NAMESPACE)]
    return create_agent(model, tools=tools, store=SiltstoneStore(tiered))


def answered(agent: Any, config: Any = ALICE) -> str:
    """Return what the last tool of a run answered."""
    messages = agent.invoke({"messages": [("user", "Go on.")]}, config)["messages"]
    return str(next(message.content for message in reversed(messages) if message.type == "tool"))


def test_agent_manages_its_memories(tiered: TieredMemory) -> None:
    """What an agent creates by one tool it finds by the other, changes and deletes by the id that it is shown."""
    created = answered(agent_of(tiered, ScriptedModel(calling("manage_memory", content="Likes green tea."), "Noted.")))
    id = created.split()[-1]
    update = calling("manage_memory", content="Likes oolong tea.", action="update", id=id)
    answered(agent_of(tiered, ScriptedModel(update, "Noted.")))
    search = ScriptedModel(calling("search_memory", query="Which tea?"), "Oolong.")
    (found,) = json.loads(answered(agent_of(tiered, search)))
    assert (found["key"], found["value"]) == (id, {"content": "Likes oolong tea."})
    assert "Likes oolong tea." in text(search.sent[-1])  # what an earlier run noted reaches the model
    assert_valid(search.sent[-1])

    answered(agent_of(tiered, ScriptedModel(calling("manage_memory", action="delete", id=id), "Gone.")))
    assert json.loads(answered(agent_of(tiered, ScriptedModel(calling("search_memory", query="tea"), "None.")))) == []


def test_namespace_of_the_run_keeps_memories_apart(tiered: TieredMemory) -> None:
    """The placeholder in the namespace is filled from the run: another user's search finds nothing."""
    answered(agent_of(tiered, ScriptedModel(calling("manage_memory", content="Likes green tea."), "Noted.")))
    bob: Any = {"configurable": {"langgraph_user_id": "bob@example.com"}}
    search = ScriptedModel(calling("search_memory", query="tea"), "None.")
    assert json.loads(answered(agent_of(tiered, search), bob)) == []


def test_what_an_agent_noted_reaches_the_whole_application(tiered: TieredMemory) -> None:
    """A memory that langmem's tool has stored is recalled in a context like any other."""
    answered(agent_of(tiered, ScriptedModel(calling("manage_memory", content="Alice's cat is called Miez."), "Noted.")))
    assert "Miez" in tiered.context("What is the cat called?", max_tokens=300).text


def test_tools_take_the_store_by_hand_and_async(tiered: TieredMemory) -> None:
    """Outside of a graph the tools are given the store, and their async sides use its own."""
    store: BaseStore = SiltstoneStore(tiered)
    manage = create_manage_memory_tool(("notes",), store=store)
    search = create_search_memory_tool(("notes",), store=store, response_format="content_and_artifact")

    async def go() -> list[dict[str, Any]]:
        await manage.ainvoke({"content": "我对花生过敏。"})
        found: list[dict[str, Any]] = json.loads(await search.ainvoke({"query": "我不能吃什么？花生"}))
        return found

    (found,) = asyncio.run(go())
    assert found["value"] == {"content": "我对花生过敏。"}
