"""What a LangChain application wrote, a LlamaIndex agent recalls, and the other way round."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents")
pytest.importorskip("llama_index.core")

sys.path.extend(str(Path(__file__).parent / name) for name in ("langchain", "llama_index"))

import langchain_script
import llama_script
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage

from langchain_siltstone import SiltstoneChatMessageHistory, SiltstoneMemoryMiddleware
from llama_index_siltstone import SiltstoneMemory
from siltstone import TieredMemory

pytestmark = [
    # LlamaIndex looks for its steps with inspect.getmembers, which touches pydantic's deprecated attributes.
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince211"),
]


def talk_to_langchain(memory: TieredMemory, question: str, answer: str) -> list[Any]:
    """Run a LangChain agent with the memory; return what its model was sent."""
    model = langchain_script.ScriptedModel(answer)
    middleware = SiltstoneMemoryMiddleware(memory, session_id="langchain", tools=False)
    create_agent(model, middleware=[middleware]).invoke({"messages": [("user", question)]})
    return model.sent[0]


def talk_to_llama_index(memory: TieredMemory, question: str, answer: str) -> list[Any]:
    """Run a LlamaIndex agent with the memory; return what its model was sent."""
    script = llama_script.Script(answer)

    async def talk() -> None:
        agent = FunctionAgent(llm=script.model, tools=[], streaming=False)
        await agent.run(question, memory=SiltstoneMemory.from_defaults(memory, session_id="llama"))

    asyncio.run(talk())
    return script.sent[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "asked", "known"),
    [
        ("I'm Alice, a front-end engineer in Shenzhen.", "What is my profession?", "front-end engineer"),
        ("我叫张三，是深圳的前端工程师。", "我是做什么工作的？", "前端工程师"),
    ],
    ids=["english", "chinese"],
)
def test_one_application_writes_and_the_other_recalls(tmp_path: Path, said: str, asked: str, known: str) -> None:
    """With the embedded default model, in a folder that is closed and opened again between the two."""
    with TieredMemory.open(tmp_path / "a", user_id="alice") as memory:
        talk_to_langchain(memory, said, "Noted.")
    with TieredMemory.open(tmp_path / "a", user_id="alice") as memory:
        assert known in llama_script.text(talk_to_llama_index(memory, asked, "You told me."))
    with TieredMemory.open(tmp_path / "b", user_id="alice") as memory:
        talk_to_llama_index(memory, said, "Noted.")
    with TieredMemory.open(tmp_path / "b", user_id="alice") as memory:
        assert known in langchain_script.text(talk_to_langchain(memory, asked, "You told me."))


@pytest.mark.slow
def test_tool_pairs_of_one_framework_are_whole_in_the_other(tmp_path: Path) -> None:
    """A session with a tool round is a valid conversation in both, with the same calls and results."""
    with TieredMemory.open(tmp_path / "m", user_id="alice") as memory:
        history = SiltstoneChatMessageHistory("shared", memory=memory)
        call = langchain_script.calling("weather", city="Shenzhen")
        history.add_messages([HumanMessage("Weather?"), call, ToolMessage("Sunny.", tool_call_id="call-weather")])
        llama = SiltstoneMemory.from_defaults(memory, session_id="shared")
        llama.put(ChatMessage("It is sunny.", role="assistant"))
        llama_script.assert_valid(llama.get())
        assert [m.role.value for m in llama.get_all()] == ["user", "assistant", "tool", "assistant"]
        assert llama.get_all()[1].blocks == llama_script.calling("weather", city="Shenzhen").blocks
        langchain_script.assert_valid(history.messages)
        assert history.messages[1].tool_calls == call.tool_calls  # type: ignore[attr-defined]
        llama.reset()
        assert history.messages == []
