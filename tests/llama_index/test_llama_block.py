"""SiltstoneMemoryBlock inside LlamaIndex's own Memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_script import Script, text

from llama_index_siltstone import SiltstoneMemoryBlock
from siltstone import TieredMemory
from siltstone.text.guard import CLOSE, OPEN


@pytest.fixture
def with_block(tiered: TieredMemory, llama_memory: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a LlamaIndex memory of Tuesday's conversation with our block in it."""
    return lambda **options: llama_memory(memory_blocks=[SiltstoneMemoryBlock(tiered)], **options)


def test_block_sends_what_was_said_on_another_day(with_block: Callable[..., Any]) -> None:
    """In a real chat engine the fact of Monday reaches the model on Tuesday."""
    script = Script("In Shenzhen.")
    SimpleChatEngine.from_defaults(llm=script.model, memory=with_block()).chat("Where do I work?")
    assert "a front-end engineer in Shenzhen" in text(script.sent[0])


def test_block_stores_each_turn_once_before_any_overflow(tiered: TieredMemory, with_block: Callable[..., Any]) -> None:
    """The block stores what it sees when it is asked; the same words said twice are two turns."""
    script = Script("ok")
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=with_block())
    for question in ("ok", "ok", "And now?"):
        engine.chat(question)
    said = [message.content for message in tiered.messages("tuesday")]
    assert said == ["ok", "ok", "ok", "ok", "And now?"]  # the last answer is seen at the next turn


def test_block_stores_what_leaves_the_queue_once(tiered: TieredMemory, with_block: Callable[..., Any]) -> None:
    """Messages that overflow were seen before: handed over, they are not stored again."""
    script = Script("word " * 60)
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=with_block(token_limit=400))
    for n in range(8):
        engine.chat(f"Question {n}?")
    said = [message.content for message in tiered.messages("tuesday") if message.role == "user"]
    assert said == [f"Question {n}?" for n in range(8)]


def test_block_recalls_what_the_queue_has_dropped(tiered: TieredMemory, with_block: Callable[..., Any]) -> None:
    """A turn that has left the queue comes back when it is asked for, and what is in the queue is not said twice."""
    script = Script("word " * 60)
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=with_block(token_limit=600))
    engine.chat("My cat is called Miez.")
    for n in range(8):
        engine.chat(f"Question {n}?")
    engine.chat("What is my cat called?")
    request = text(script.sent[-1])
    assert "Miez" in request
    assert request.count("What is my cat called?") == 1


def test_forgotten_turn_does_not_come_back_from_the_queue(tiered: TieredMemory, with_block: Callable[..., Any]) -> None:
    """LlamaIndex's queue still holds the turn; the block does not store it again."""
    script = Script("Noted.")
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=with_block())
    engine.chat("My PIN is 1234.")
    engine.chat("Anything else?")
    tiered.forget(ids=[tiered.messages("tuesday")[0].id or ""])
    engine.chat("And now?")
    assert not any("1234" in record.text for record in tiered.records())
    assert [m.content for m in tiered.messages("tuesday")] == ["Noted.", "Anything else?", "Noted.", "And now?"]


def test_block_truncates_by_whole_lines(tiered: TieredMemory) -> None:
    """Asked for fewer tokens it drops lines from the end and stays fenced; with nothing left it is gone."""
    block = SiltstoneMemoryBlock(tiered)
    assert block.priority >= 1
    content = f"{OPEN}\nfirst line\nsecond line\nthird line\n{CLOSE}"
    assert asyncio.run(block.atruncate(content, 3)) == f"{OPEN}\nfirst line\nsecond line\n{CLOSE}"
    assert asyncio.run(block.atruncate(content, 100)) is None


def test_block_keeps_to_its_budget(tiered: TieredMemory) -> None:
    """``max_tokens`` bounds what it returns, by the memory's own counter."""
    for n in range(50):
        tiered.add([("user", f"Shenzhen fact number {n}: it is warm there.")], session_id="monday")
    block = SiltstoneMemoryBlock(tiered, max_tokens=120)
    content = asyncio.run(block.aget([ChatMessage("What about Shenzhen?")], session_id="tuesday"))
    assert "Shenzhen" in content
    assert tiered.token_counter.count(content) <= 120
