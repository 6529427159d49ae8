"""LangChain messages come back from the store as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langchain_core")

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from langchain_siltstone.messages import to_langchain, to_message
from siltstone import InvalidInputError, Message

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(st.text(min_size=1, max_size=4), json_values, max_size=2)
names = st.none() | st.text(min_size=1, max_size=4)
picture = {"type": "image", "source_type": "url", "url": "https://example.com/cat.png"}
contents = st.text(max_size=20) | st.lists(
    st.builds(lambda t: {"type": "text", "text": t}, st.text(max_size=8)) | st.just(picture), max_size=3
)
common = {"content": contents, "id": names, "name": names, "additional_kwargs": objects, "response_metadata": objects}
calls = st.builds(
    lambda id, name, args: {"id": id, "name": name, "args": args, "type": "tool_call"},
    names, st.text(max_size=4), objects,
)  # fmt: skip
usage = st.none() | st.just({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})
messages = st.one_of(
    st.builds(HumanMessage, **common),
    st.builds(SystemMessage, **common),
    st.builds(AIMessage, **common, tool_calls=st.lists(calls, max_size=2), usage_metadata=usage),
    st.builds(
        ToolMessage, **common, tool_call_id=st.text(max_size=4), artifact=json_values,
        status=st.sampled_from(["success", "error"]),
    ),
    st.builds(ChatMessage, **common, role=st.sampled_from(["assistant", "critic"])),
)  # fmt: skip


@given(messages)
def test_message_comes_back_as_it_was(message: BaseMessage) -> None:
    """Content of every sort, id, name, tool calls, artifact, status and usage survive, by way of JSON."""
    stored = to_message(message)
    through_json = Message(
        stored.role, stored.content, name=stored.name, metadata=json.loads(json.dumps(stored.metadata))
    )
    assert to_langchain(through_json) == message


def test_plain_messages_carry_nothing_besides() -> None:
    """A text is a text: no metadata, so that every framework reads it alike."""
    stored = to_message(HumanMessage("你好"))
    assert (stored.role, stored.content, stored.metadata) == ("user", "你好", None)


def test_streamed_chunk_is_stored_as_a_message() -> None:
    """What ``stream`` hands over is made whole: history holds no chunks."""
    chunk = AIMessageChunk(
        content="", id="run-1",
        tool_call_chunks=[{"name": "f", "args": '{"a": 1}', "id": "1", "index": 0, "type": "tool_call_chunk"}],
    )  # fmt: skip
    message = to_langchain(to_message(chunk))
    assert type(message) is AIMessage
    assert message.id == "run-1"
    assert message.tool_calls == [{"name": "f", "args": {"a": 1}, "id": "1", "type": "tool_call"}]


def test_text_is_indexed_and_pictures_are_kept() -> None:
    """Of a multimodal message the words are the content; a tool call alone has none."""
    assert to_message(HumanMessage([{"type": "text", "text": "My cat"}, picture])).content == "My cat"
    call = AIMessage("", tool_calls=[{"id": "1", "name": "f", "args": {}, "type": "tool_call"}])
    assert to_message(call).content == ""


def test_artifact_that_is_not_json_becomes_text() -> None:
    """An object that only Python knows does not lose the message."""
    message = to_langchain(to_message(ToolMessage("ok", tool_call_id="1", artifact={"raw": object()})))
    assert isinstance(message, ToolMessage)
    assert "object" in message.artifact["raw"]


def test_lone_surrogates_do_not_lose_the_message() -> None:
    """What a model broke in the middle of a character is stored with a mark in its place."""
    assert to_message(AIMessage("Hi \ud83d")).content == "Hi \ufffd"


def test_instruction_to_remove_a_message_is_refused() -> None:
    """A RemoveMessage says nothing and cannot be stored."""
    with pytest.raises(InvalidInputError, match="RemoveMessage"):
        to_message(RemoveMessage(id="1"))


def test_message_of_another_framework_is_read() -> None:
    """Tool calls and results that LlamaIndex wrote are LangChain's after reading."""
    call = Message("assistant", "", metadata={"tool_calls": [{"id": "1", "name": "f", "args": {"a": 1}}]})
    result = Message("tool", "found", metadata={"tool_call_id": "1"})
    assert to_langchain(call).tool_calls[0]["args"] == {"a": 1}  # type: ignore[attr-defined]
    assert to_langchain(result) == ToolMessage("found", tool_call_id="1")
