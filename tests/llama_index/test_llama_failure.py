"""A memory that fails does not end the chat."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_script import Script, text

from llama_index_siltstone import SiltstoneMemory, SiltstoneMemoryBlock


def test_chat_goes_on_without_its_memory_and_the_turns_are_stored_later(
    tiered: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """While the store is away the model still sees the conversation; one warning; afterwards nothing is missing."""
    script = Script("One.", "Two.", "Three.", "Four.")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=memory)
    engine.chat("First?")
    tiered.failing = True
    with caplog.at_level(logging.WARNING, "siltstone"):
        engine.chat("Second?")
        engine.chat("Third?")
    assert len(caplog.records) == 1
    assert [m.content for m in script.sent[-1]] == ["First?", "One.", "Second?", "Two.", "Third?"]
    tiered.failing = False
    engine.chat("Fourth?")
    said = [message.content for message in tiered.messages("tuesday")]
    assert said == ["First?", "One.", "Second?", "Two.", "Third?", "Three.", "Fourth?", "Four."]
    assert memory.unsaved == []


def test_turns_that_wait_survive_a_saved_state(tiered: Any) -> None:
    """What could not be stored is saved with the memory, as JSON, and stored by the one that is restored."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    tiered.failing = True
    memory.put(ChatMessage("My cat is called Miez."))
    saved = json.loads(json.dumps(memory.to_dict()))
    tiered.failing = False
    restored = SiltstoneMemory.from_dict(saved, memory=tiered)
    assert [m.content for m in restored.get_all()] == ["My cat is called Miez."]
    memory.get_all()  # the first one stores it too: once
    assert [m.content for m in tiered.messages("tuesday")] == ["My cat is called Miez."]


def test_message_that_cannot_be_stored_does_not_hold_up_the_others(
    tiered: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """One that the store refuses for good is logged and left; what stands around it is stored."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    with caplog.at_level(logging.ERROR, "siltstone"):
        memory.put_messages([ChatMessage("before"), ChatMessage("x" * 20_000_001), ChatMessage("after")])
    assert [m.content for m in tiered.messages("tuesday")] == ["before", "after"]
    assert "characters" in caplog.text


def test_set_and_reset_do_not_raise_either(tiered: Any) -> None:
    """The rest of the surface degrades as well, and the history that was set is shown meanwhile."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    tiered.failing = True
    memory.set([ChatMessage("Hello"), ChatMessage("Hi", role="assistant")])
    assert [m.content for m in memory.get()] == ["Hello", "Hi"]
    memory.reset()
    assert memory.get_all() == []
    tiered.failing = False
    assert memory.get_all() == []
    assert "Hello" in [message.content for message in tiered.messages("tuesday")]


def test_block_recalls_nothing_and_the_chat_goes_on(tiered: Any, llama_memory: Callable[..., Any]) -> None:
    """LlamaIndex's own Memory keeps working when its block's store is away."""
    memory = llama_memory(memory_blocks=[SiltstoneMemoryBlock(tiered)])
    memory.put(ChatMessage("Where do I work?"))
    tiered.failing = True
    assert text(memory.get()) == "Where do I work?"
    tiered.failing = False
    assert "Shenzhen" in text(memory.get())
