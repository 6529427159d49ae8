"""A chat model for the LangChain tests: it answers as told and keeps what it was sent."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field


class ScriptedModel(BaseChatModel):
    """Answers in order, the last one again and again; ``sent`` are the requests, oldest first."""

    answers: list[AIMessage] = Field(default_factory=list)
    sent: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[str] = Field(default_factory=list)

    def __init__(self, *answers: str | AIMessage) -> None:
        super().__init__()
        self.answers = [AIMessage(answer) if isinstance(answer, str) else answer for answer in answers or ["Right."]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        """Keep the names of the tools."""
        self.tools = [tool.name for tool in tools]
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.sent.append(copy.deepcopy(messages))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer.model_copy(update={"id": None}, deep=True)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._next(messages)
        for word in str(answer.text).split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))


def calling(tool: str, **arguments: Any) -> AIMessage:
    """Return an answer that calls a tool and says nothing."""
    return AIMessage("", tool_calls=[{"id": f"call-{tool}", "name": tool, "args": arguments, "type": "tool_call"}])


def text(messages: Sequence[BaseMessage]) -> str:
    """Return all that a request says."""
    return "\n".join(str(message.text) for message in messages)


def assert_valid(messages: Sequence[BaseMessage]) -> None:
    """Check that each tool result stands right after its call and no call stands alone."""
    open_calls: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            open_calls.remove(message.tool_call_id)
            continue
        assert not open_calls
        open_calls = [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    assert not open_calls


# The suites mix sync and async tests, and pytest-asyncio takes the mark for whole classes only with a warning.
_MARKED = "ignore:The test .* is marked with '@pytest.mark.asyncio' but it is not:pytest.PytestWarning"


def standard(suite: type) -> type:
    """Mark a standard suite, unmodified as it has to be, for pytest-asyncio."""
    return pytest.mark.asyncio(pytest.mark.filterwarnings(_MARKED)(suite))
