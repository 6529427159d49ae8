"""SiltstoneToolSpec: the memory as LlamaIndex tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index_siltstone import SiltstoneToolSpec
from siltstone import TieredMemory


def test_tools_have_names_short_descriptions_and_described_arguments(tiered: TieredMemory) -> None:
    """Three tools with what a model needs to know; no argument names a user."""
    tools = {tool.metadata.name: tool for tool in SiltstoneToolSpec(tiered).to_tool_list()}
    assert list(tools) == ["search_memory", "remember", "forget"]
    for tool in tools.values():
        assert 0 < len(tool.metadata.description) < 1024
        properties = tool.metadata.get_parameters_dict()["properties"]
        assert all(field["description"] for field in properties.values())
        assert not {"user", "user_id", "memory"} & set(properties)


def test_tools_are_bound_to_one_user(tiered: TieredMemory) -> None:
    """Another user's tools find nothing of Alice's, and say so in a sentence."""
    search = SiltstoneToolSpec(tiered.for_user("bob")).to_tool_list()[0]
    assert search.call(query="engineer").content == "Nothing is remembered about: engineer"


def test_sync_and_async_calls_do_the_same(tiered: TieredMemory) -> None:
    """Each tool has a true async side."""
    search, remember, forget = SiltstoneToolSpec(tiered).to_tool_list()

    async def use() -> list[str]:
        stored = (await remember.acall(text="Alice prefers tea.", kind="profile")).content
        id = stored.split("[")[1].split("]")[0]
        found = (await search.acall(query="tea")).content
        return [stored, found, (await forget.acall(memory_id=f"[{id}]")).content, id]

    stored, found, gone, id = asyncio.run(use())
    assert f"[{id}]" in found
    assert (stored, gone) == (f"Remembered as [{id}].", f"Forgot [{id}].")
    assert remember.call(text="Alice prefers coffee.").content.startswith("Remembered as [")
    assert "coffee" in search.call(query="coffee").content


def test_failing_memory_answers_in_a_sentence(tiered: Any) -> None:
    """A tool that raises would end the agent's run."""
    search, remember, forget = SiltstoneToolSpec(tiered).to_tool_list()
    tiered.failing = True
    assert search.call(query="engineer").content.startswith("The memory could not be searched: the store")
    assert remember.call(text="x").content.startswith("This could not be remembered: the store")
    assert forget.call(memory_id="x").content.startswith("Nothing was forgotten: the store")
