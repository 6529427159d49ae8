"""The memory tools by LangChain's own standard suites, and what they answer."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_tests")

from langchain.agents import create_agent
from langchain_core.tools import BaseTool
from langchain_script import ScriptedModel, calling, standard, text
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from langchain_siltstone import create_memory_tools
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

EXAMPLES: dict[str, dict[str, Any]] = {
    "search_memory": {"query": "tea", "since": "2020-01-01T00:00:00Z"},
    "remember": {"text": "Alice prefers tea.", "kind": "profile"},
    "forget": {"memory_id": "unknown"},
}


class _OneTool:
    """Runs a standard suite over one of the tools."""

    tool_name = ""

    @property
    def tool_constructor(self) -> BaseTool:
        """The tool under test."""
        memory = TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter())
        return {tool.name: tool for tool in create_memory_tools(memory)}[self.tool_name]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        """Arguments to call it with."""
        return EXAMPLES[self.tool_name]


class TestSearchUnit(_OneTool, ToolsUnitTests):
    """langchain-tests, unmodified."""

    tool_name = "search_memory"


class TestRememberUnit(_OneTool, ToolsUnitTests):
    """langchain-tests, unmodified."""

    tool_name = "remember"


class TestForgetUnit(_OneTool, ToolsUnitTests):
    """langchain-tests, unmodified."""

    tool_name = "forget"


@standard
class TestSearchIntegration(_OneTool, ToolsIntegrationTests):
    """langchain-tests, unmodified."""

    tool_name = "search_memory"


@standard
class TestRememberIntegration(_OneTool, ToolsIntegrationTests):
    """langchain-tests, unmodified."""

    tool_name = "remember"


@standard
class TestForgetIntegration(_OneTool, ToolsIntegrationTests):
    """langchain-tests, unmodified."""

    tool_name = "forget"


def test_tools_describe_themselves_and_name_no_user(tiered: TieredMemory) -> None:
    """Short descriptions, described arguments, none by which a model could choose the user."""
    for tool in create_memory_tools(tiered):
        assert 0 < len(tool.description) < 1024
        assert all(field["description"] for field in tool.args.values())
        assert not {"user", "user_id", "memory"} & set(tool.args)


def test_agent_finds_corrects_and_forgets(tiered: TieredMemory) -> None:
    """A ReAct loop with the three tools: ids are shown, and what is deleted by one is gone."""
    (record_id,) = [record.id for record in tiered.records() if "engineer" in record.text]
    model = ScriptedModel(
        calling("search_memory", query="engineer"),
        calling("remember", text="Alice is a designer.", kind="profile"),
        calling("forget", memory_id=record_id),
        "Corrected.",
    )
    agent = create_agent(model, tools=create_memory_tools(tiered))
    agent.invoke({"messages": [("user", "I am a designer now.")]})
    assert f"[{record_id}]" in text(model.sent[1])
    assert [record.text for record in tiered.records(kinds="profile")] == ["Alice is a designer."]
    assert not any("engineer" in record.text for record in tiered.records())


def test_failing_memory_answers_in_a_sentence(tiered: Any) -> None:
    """A tool that raises would end the agent's run."""
    tiered.failing = True
    answers = [tool.invoke(EXAMPLES[tool.name]) for tool in create_memory_tools(tiered)]
    assert all("the store does not answer" in answer for answer in answers)
