"""LlamaIndex messages come back from the store as they were."""

from __future__ import annotations

import base64
import json
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

from llama_index_siltstone.messages import content_key, to_chat_message, to_message
from siltstone import Message
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
    assert (stored.metadata or {})["tool_calls"] == [{"id": "1", "name": "weather", "args": "{}"}]
    assert to_chat_message(stored) == message


def test_values_that_are_not_json_become_text() -> None:
    """An object among a provider's arguments does not lose the message."""
    stored = to_message(ChatMessage("Hi", additional_kwargs={"raw": object()}))
    assert "object" in to_chat_message(stored).additional_kwargs["raw"]


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
