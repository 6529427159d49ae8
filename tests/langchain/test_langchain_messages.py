"""LangChain messages come back from the store as they were."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
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

from langchain_siltstone import SiltstoneChatMessageHistory, SiltstoneRetriever
from langchain_siltstone.messages import to_langchain, to_message
from siltstone import InvalidInputError, Message, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

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


def kept(message: BaseMessage) -> BaseMessage:
    """Return what a store gives back of the message."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([to_message(message)], session_id="s")
        (stored,) = memory.messages("s")
        return to_langchain(stored)


odd_values: st.SearchStrategy[Any] = st.recursive(
    st.binary(max_size=4)
    | st.floats()
    | st.integers()
    | st.text(st.characters(), max_size=4)
    | st.builds(object)
    | st.just(Document("d", metadata={"raw": b"\xff"})),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.binary(max_size=2), inner, max_size=2)
    ),
    max_leaves=5,
)
odd_objects = st.dictionaries(st.text(st.characters(), max_size=3), odd_values, max_size=2)
odd_messages = st.one_of(
    st.builds(HumanMessage, st.text(st.characters(), min_size=1), name=st.text(st.characters()), id=st.text()),
    st.builds(
        AIMessage, st.just("") | st.lists(odd_objects, max_size=2), additional_kwargs=odd_objects,
        response_metadata=odd_objects, tool_calls=odd_objects.map(lambda args: [{"id": "1", "name": "f", "args": args}])
    ),
    st.builds(ToolMessage, st.just("ok"), tool_call_id=st.text(st.characters()), artifact=odd_values),
)  # fmt: skip


@given(odd_messages)
def test_no_message_is_refused_or_lost(message: BaseMessage) -> None:
    """Whatever providers and tools put into a message, the store takes it, and its role and calls are read again."""
    got = kept(message)
    assert got.type == message.type
    assert len(getattr(got, "tool_calls", ())) == len(getattr(message, "tool_calls", ()))


def test_bytes_and_odd_numbers_of_a_provider_come_back_as_they_were() -> None:
    """Thought signatures are bytes, log probabilities of what cannot be are infinite."""
    metadata = {"signature": b"\xff\xfe", "logprobs": [-math.inf], "seed": 2**70}
    call = {"name": "f", "args": {"n": 2**70}, "id": "1", "type": "tool_call"}
    message = AIMessage("ok", id="1", response_metadata=metadata, tool_calls=[call])
    assert kept(message) == message


FENCED = "<siltstone_memory>\nMy PIN is heliotrope\n</siltstone_memory>"


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage(f"{FENCED}\n\nHi"),
        HumanMessage([{"type": "text", "text": f"{FENCED}\n\nHi"}]),
        HumanMessage([FENCED, "Hi"]),
        ToolMessage([{"type": "text", "text": FENCED}], tool_call_id="1"),
        ToolMessage("ok", tool_call_id="1", artifact={"raw": [FENCED], "structured": {"text": FENCED}}),
        AIMessage("Hi", additional_kwargs={"prompt": FENCED}, response_metadata={"echo": FENCED}),
        AIMessage("", tool_calls=[{"id": "1", "name": "f", "args": {"text": FENCED}}]),
    ],
    ids=["text", "text block", "string block", "tool block", "artifact", "metadata", "arguments"],
)
def test_injected_text_is_taken_out_wherever_it_stands(message: BaseMessage) -> None:
    """In no part of a message is what siltstone recalled stored back; the message's own words stay."""
    got = kept(message)
    assert "heliotrope" not in repr(got)
    assert got.type == message.type
    assert ("Hi" in got.text) == ("Hi" in message.text)


def test_block_that_was_all_injected_leaves_no_empty_one() -> None:
    """Providers refuse empty text blocks."""
    assert kept(HumanMessage([{"type": "text", "text": FENCED}, picture])).content == [picture]


def test_documents_of_the_retriever_are_no_artifacts_that_stay(tiered: TieredMemory) -> None:
    """A tool that hands over documents beside its answer does not bring their text back into the store."""
    documents = SiltstoneRetriever(tiered).invoke("engineer")
    assert "Shenzhen" in documents[0].page_content
    tiered.add([to_message(ToolMessage("ok", tool_call_id="1", artifact=documents))], session_id="tuesday")
    (stored,) = tiered.messages("tuesday")
    assert "Shenzhen" not in repr(stored)
    assert documents[0].id in repr(stored)


OPENAI = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


@pytest.mark.parametrize(
    ("metadata", "calls"),
    [
        ({"tool_calls": [OPENAI]}, [("c", "f", {"x": 1})]),
        ({"tool_calls": [{**OPENAI, "function": {"name": "f", "arguments": "{x"}}]}, [("c", "f", {"input": "{x"})]),
        ({"tool_calls": [{"id": "c", "name": None, "args": None}]}, [("c", "unknown", {})]),
        ({"tool_calls": [{"tool_id": 7, "tool_name": "f", "tool_kwargs": {"x": 1}}]}, [("7", "f", {"x": 1})]),
        ({"tool_calls": [{"id": "c", "type": "tool_use", "name": "f", "input": {"x": 1}}]}, [("c", "f", {"x": 1})]),
        ({"function_call": {"name": "f", "arguments": "{}"}}, [(None, "f", {})]),
        ({"tool_calls": ["f", 1, None]}, []),
        ({"tool_calls": True, "langchain": "0.3"}, []),
        ({"langchain": {"type": "of another version", "id": "1"}}, []),
        ({"langchain": {"type": 3, "usage_metadata": "none"}}, []),
        ({"langchain": {"content": 7, "response_metadata": 7}}, []),
        ({"langchain": {"type": "chat"}}, []),
    ],
)
def test_odd_metadata_end_no_session(
    tiered: TieredMemory, metadata: dict[str, Any], calls: list[tuple[str | None, str, dict[str, Any]]]
) -> None:
    """What other applications noted on a message is read as far as it can be; its words are read in any case."""
    tiered.add([Message("assistant", "Hello", metadata=metadata)], session_id="tuesday")
    (message,) = SiltstoneChatMessageHistory("tuesday", memory=tiered).messages
    assert isinstance(message, AIMessage)
    assert message.content == "Hello"
    assert [(call["id"], call["name"], call["args"]) for call in message.tool_calls] == calls


@pytest.mark.parametrize("restart", [True, ["x"], [1], {"a": 1}, None])
@pytest.mark.parametrize("text", ["Be brief.", ""])
def test_an_applications_own_word_restart_is_no_restart_of_ours(tiered: TieredMemory, restart: Any, text: str) -> None:
    """Metadata of that name on a system message end no session and hide nothing of it."""
    if text == "" and restart == ["x"]:
        return  # that is ours
    tiered.add([("user", "One?"), Message("system", text, metadata={"restart": restart})], session_id="tuesday")
    assert [m.content for m in SiltstoneChatMessageHistory("tuesday", memory=tiered).messages] == ["One?", text]
    assert tiered.window("tuesday", max_tokens=99)[0].content == "One?"
