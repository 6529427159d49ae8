"""LlamaIndex messages come back from the store as they were."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import (
    AudioBlock,
    CachePoint,
    ChatMessage,
    CitableBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_script import text

from llama_index_siltstone import SiltstoneMemory
from llama_index_siltstone.messages import content_key, to_chat_message, to_message
from siltstone import Message, TieredMemory
from siltstone.text.guard import fence

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(st.text(min_size=1, max_size=4), json_values, max_size=2)
names = st.text(max_size=4)
blocks = st.one_of(
    st.builds(TextBlock, text=st.text(max_size=20)),
    st.builds(ThinkingBlock, content=st.text(max_size=10), additional_information=objects),
    st.builds(ToolCallBlock, tool_call_id=st.none() | names, tool_name=names, tool_kwargs=objects),
    st.builds(ImageBlock, image=st.just(PIXEL), detail=st.none() | st.just("low")),
    st.builds(ImageBlock, url=st.just("https://example.com/cat.png")),
    st.builds(AudioBlock, audio=st.just(b"RIFF....WAVE"), format=st.just("wav")),
    st.builds(DocumentBlock, data=st.just(b"%PDF-1.4"), title=st.just("a")),
    st.just(CitableBlock(title="t", source="s", content=[TextBlock(text="cited")])),
)  # fmt: skip
messages = st.builds(
    ChatMessage,
    role=st.sampled_from(MessageRole),
    blocks=st.lists(blocks, max_size=3),
    additional_kwargs=objects.filter(lambda kwargs: "images" not in kwargs),
)


@given(messages)
def test_message_comes_back_as_it_was(message: ChatMessage) -> None:
    """Role, blocks of every sort and the provider's arguments survive, by way of JSON."""
    stored = to_message(message)
    through_json = Message(stored.role, stored.content, metadata=json.loads(json.dumps(stored.metadata)))
    assert to_chat_message(through_json).model_dump(mode="json") == message.model_dump(mode="json")


def test_plain_messages_carry_nothing_besides() -> None:
    """A text is a text: no metadata, so that every framework reads it alike."""
    assert to_message(ChatMessage("Hello", role="user")) == Message("user", "Hello")


def test_text_is_indexed_and_pictures_are_kept() -> None:
    """Of a multimodal message the words are the content; the picture waits in the metadata."""
    stored = to_message(ChatMessage(role="user", blocks=[TextBlock(text="My cat"), ImageBlock(image=PIXEL)]))
    assert stored.content == "My cat"
    assert [b["block_type"] for b in (stored.metadata or {})["llama_index"]["blocks"]] == ["text", "image"]


def test_call_without_words_is_stored_with_its_call() -> None:
    """An agent's tool call has no content: it is stored for what it is, under the key that all frameworks know."""
    call = ToolCallBlock(tool_call_id="1", tool_name="weather", tool_kwargs={"city": "Shenzhen"})
    stored = to_message(ChatMessage(role="assistant", blocks=[call]))
    assert stored.content == ""
    assert (stored.metadata or {})["tool_calls"] == [{"id": "1", "name": "weather", "args": {"city": "Shenzhen"}}]


def test_calls_of_older_integrations_are_understood() -> None:
    """Calls in OpenAI's form among ``additional_kwargs`` count as calls and come back where they were."""
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    message = ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call]})
    stored = to_message(message)
    assert (stored.metadata or {})["tool_calls"] == [{"id": "1", "name": "weather", "args": {}}]
    assert to_chat_message(stored) == message


ODD_VALUES = [b"\x0a\xff\xfe", float("inf"), float("-inf"), 2**70, -(2**64), [b"\xff", {"deep": (2**65, b"")}]]


@pytest.mark.parametrize("value", ODD_VALUES, ids=repr)
@pytest.mark.parametrize(
    "holding",
    [
        lambda value: ChatMessage("Hi", role="assistant", additional_kwargs={"x": value}),
        lambda value: ChatMessage(
            role="assistant",
            blocks=[ThinkingBlock(content="hm", additional_information={"x": value}), TextBlock(text="Hi")],
        ),
        lambda value: ChatMessage(
            role="assistant", blocks=[ToolCallBlock(tool_call_id="1", tool_name="f", tool_kwargs={"x": value})]
        ),
    ],
    ids=["additional_kwargs", "thinking", "tool_call"],
)
def test_values_that_json_has_not_come_back_as_they_were(
    tiered: TieredMemory, holding: Callable[[Any], ChatMessage], value: Any
) -> None:
    """Bytes of providers, infinities and long integers, wherever they stand, are stored, shown and given back."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    message, result = holding(value), ChatMessage("r", role="tool", additional_kwargs={"tool_call_id": "1"})
    memory.put_messages([ChatMessage("q"), message, result])
    assert len(tiered.messages("tuesday")) == len(memory.get_all()) == 3
    told = memory.get_all()[1]
    own = ("additional_information", "tool_kwargs")
    found = [
        told.additional_kwargs,
        *(getattr(block, name) for block in told.blocks for name in own if hasattr(block, name)),
    ]
    assert {"x": as_lists(value)} in found
    assert told.role == memory.get()[1].role  # it can be counted, too
    memory.set([*memory.get_all(), ChatMessage("thanks")])  # and known again
    assert len(tiered.messages("tuesday")) == 4


def as_lists(value: Any) -> Any:
    """Return the value with lists for tuples, which JSON has not."""
    if isinstance(value, dict):
        return {key: as_lists(item) for key, item in value.items()}
    return [as_lists(item) for item in value] if isinstance(value, list | tuple) else value


def circle() -> list[Any]:
    """Return a list that holds itself."""
    made: list[Any] = []
    made.append(made)
    return made


def closed() -> io.BytesIO:
    """Return a stream that cannot be read any more."""
    stream = io.BytesIO(PIXEL)
    stream.close()
    return stream


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage("Hi", additional_kwargs={"raw": object()}),
        ChatMessage("Hi", additional_kwargs={"raw": circle()}),
        ChatMessage("Hi", additional_kwargs={"raw": float("nan")}),
        ChatMessage(blocks=[TextBlock(text="Hi"), ToolCallBlock(tool_name="f", tool_kwargs={"x": object()})]),
        ChatMessage(blocks=[TextBlock(text="Hi"), ToolCallBlock(tool_name="f", tool_kwargs={"x": circle()})]),
        ChatMessage(blocks=[TextBlock(text="Hi"), ThinkingBlock(additional_information={"x": {1: {2, 3}}})]),
        ChatMessage(blocks=[TextBlock(text="Hi"), ImageBlock(image=closed())]),
        ChatMessage(blocks=[TextBlock(text="Hi"), ImageBlock(image=io.BytesIO(b"\xff\xfe"))]),
    ],
    ids=["object", "circle", "nan", "object called", "circle called", "sets thought", "closed stream", "stream"],
)
def test_whatever_a_message_holds_it_is_stored_and_shown(tiered: TieredMemory, message: ChatMessage) -> None:
    """Objects, circles, closed streams: nothing among a provider's values loses the message or ends the chat."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    memory.put(message)
    assert memory.get_all()[0].content == "Hi"
    assert [type(block) for block in memory.get_all()[0].blocks] == [type(block) for block in message.blocks]
    assert memory.get()


OPENAI_CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


@pytest.mark.parametrize(
    "metadata",
    [
        {"tool_calls": [OPENAI_CALL]},
        {"tool_calls": [{"id": "1", "function": {}}]},
        {"tool_calls": [None, 7, "f", {"id": "1"}]},
        {"tool_calls": {"id": "1"}},
        {"function_call": {"name": "f", "arguments": "not json"}},
        {"llama_index": "mine", "tool_calls": [OPENAI_CALL]},
        {"llama_index": {"blocks": "mine", "role": "mine", "additional_kwargs": [1]}},
        {"llama_index": {"blocks": [1, {"block_type": "text"}, {"block_type": "mine"}]}},
        {"llama_index": {"additional_kwargs": {"images": ["mine"]}}},
        {"langchain": {"content": 7}},
    ],
    ids=repr,
)
def test_metadata_of_other_applications_do_not_end_a_session(tiered: TieredMemory, metadata: dict[str, Any]) -> None:
    """Whatever an application writes beside its messages, the session can be read, shown and set, with its words."""
    turn = {"role": "assistant", "content": "words", "metadata": metadata}
    result = {"role": "tool", "content": "r", "metadata": {"tool_call_id": "1"}}
    tiered.add([("user", "q"), turn, result, ("assistant", "done")], session_id="tuesday")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    assert [m.content for m in memory.get_all()] == ["q", "words", "r", "done"]
    assert text(memory.get()).endswith("done")
    transcript = [*memory.get_all(), ChatMessage("more")]
    memory.set(transcript)
    stored = tiered.messages("tuesday")
    memory.set(transcript)
    assert tiered.messages("tuesday") == stored


def test_calls_in_openais_form_are_given_as_calls(tiered: TieredMemory) -> None:
    """A tool pair that was written over HTTP or by another library is a call with its arguments, and its result."""
    turn = {"role": "assistant", "content": "", "metadata": {"tool_calls": [OPENAI_CALL]}}
    result = {"role": "tool", "content": "r", "metadata": {"tool_call_id": "1"}}
    tiered.add([("user", "q"), turn, result], session_id="tuesday")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    for shown in (memory.get_all(), memory.get()):
        assert shown[1].blocks == [ToolCallBlock(tool_call_id="1", tool_name="f", tool_kwargs={"x": 1})]


def test_lone_surrogates_do_not_lose_the_message() -> None:
    """What a model broke in the middle of a character is stored with a mark in its place."""
    stored = to_message(ChatMessage("Hi \ud83d", additional_kwargs={"a": "\udc00"}))
    assert stored.content == "Hi \ufffd"
    assert to_chat_message(stored).additional_kwargs == {"a": "\ufffd"}


def test_injected_text_is_taken_out() -> None:
    """A message that comes back with what was recalled in front is the user's own words again."""
    recalled = TextBlock(text=fence("user: I live in Berlin."))
    message = ChatMessage(role="user", blocks=[recalled, TextBlock(text="Where do I live?")])
    assert to_message(message) == Message("user", "Where do I live?")


@pytest.mark.parametrize(
    "hidden",
    [
        lambda text: ChatMessage("x", role="tool", additional_kwargs={"tool_call_id": "1", "raw": {"content": [text]}}),
        lambda text: ChatMessage(blocks=[TextBlock(text="x"), ThinkingBlock(content=text)], role="assistant"),
        lambda text: ChatMessage(
            blocks=[TextBlock(text="x"), ThinkingBlock(additional_information={"a": [text]})], role="assistant"
        ),
        lambda text: ChatMessage(
            blocks=[TextBlock(text="x"), ToolCallBlock(tool_name="f", tool_kwargs={"a": text})], role="assistant"
        ),
        lambda text: ChatMessage(
            blocks=[TextBlock(text="x"), ToolCallBlock(tool_name="f", tool_kwargs=json.dumps({"a": text}))]
        ),
        lambda text: ChatMessage(
            blocks=[TextBlock(text="x"), CitableBlock(title="t", source="s", content=[TextBlock(text=text)])]
        ),
    ],
    ids=["additional_kwargs", "thinking", "information", "call", "call as text", "cited"],
)
def test_what_was_injected_is_stored_nowhere_in_a_message(
    tiered: TieredMemory, folder: Path, hidden: Callable[[str], ChatMessage]
) -> None:
    """Recalled text that comes back in a provider's arguments or in any block goes with its source."""
    tiered.add([("user", "my PIN is zebra7781")], session_id="old")
    recalled = tiered.context("what is my PIN", max_tokens=200).text
    assert "zebra7781" in recalled
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    memory.put(hidden(recalled))
    tiered.forget(session_id="old")
    assert memory.get_all()[0].content == "x"
    assert "zebra7781" not in str(tiered.messages("tuesday"))
    assert not [path for path in folder.rglob("*") if path.is_file() and b"zebra7781" in path.read_bytes()]


def test_key_of_a_message_ignores_what_a_front_end_drops() -> None:
    """Thinking, cache points, provider's arguments and outer spaces do not make another turn; other words do."""
    rich = ChatMessage(
        role="assistant",
        blocks=[ThinkingBlock(content="hm"), TextBlock(text="Yes."), CachePoint(cache_control={"type": "ephemeral"})],
        additional_kwargs={"refusal": None},
    )
    plain = ChatMessage("Yes. ", role="assistant")
    assert content_key(to_message(rich)) == content_key(to_message(plain))
    assert content_key(to_message(plain)) != content_key(to_message(ChatMessage("No.", role="assistant")))
    assert content_key(to_message(plain)) != content_key(to_message(ChatMessage("Yes.", role="user")))
