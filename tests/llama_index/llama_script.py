"""Models for the LlamaIndex tests: they answer as told and keep what they were sent."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, LLMMetadata, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM


class Script:
    """The answers of a model, in order, the last one again and again; ``sent`` are the requests, oldest first."""

    def __init__(self, *answers: str | ChatMessage) -> None:
        self.answers = list(answers) or ["All right."]
        self.sent: list[list[ChatMessage]] = []

    def __call__(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        """Keep the request; return the next answer."""
        self.sent.append(copy.deepcopy(list(messages)))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, ChatMessage) else ChatMessage(role="assistant", content=answer)

    @property
    def model(self) -> MockFunctionCallingLLM:
        """A function-calling chat model that follows the script."""
        return _ChatModel(response_generator=self)


class _ChatModel(MockFunctionCallingLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True)


def calling(tool: str, **arguments: Any) -> ChatMessage:
    """Return an answer that calls a tool and says nothing."""
    return ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id=f"call-{tool}", tool_name=tool, tool_kwargs=arguments)]
    )


def text(messages: Sequence[ChatMessage]) -> str:
    """Return all that a request says."""
    return "\n".join(message.content or "" for message in messages)


def assert_valid(messages: Sequence[ChatMessage]) -> None:
    """Check that any chat API takes the messages: begun by system or user, each result right after its call."""
    spoken = [m for m in messages if m.role != MessageRole.SYSTEM]
    assert not spoken or spoken[0].role == MessageRole.USER
    open_calls: list[str | None] = []
    for message in messages:
        if message.role == MessageRole.TOOL:
            assert message.additional_kwargs["tool_call_id"] in open_calls
            open_calls.remove(message.additional_kwargs["tool_call_id"])
            continue
        assert not open_calls
        open_calls = [b.tool_call_id for b in message.blocks if isinstance(b, ToolCallBlock)]
        assert message.blocks
    assert not open_calls
