"""A memory that fails does not end the chat."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_script import Script, text

from llama_index_siltstone import SiltstoneMemory, SiltstoneMemoryBlock, SiltstoneRetriever
from siltstone import InvalidInputError, Settings, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter


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


@pytest.mark.parametrize("ending", ["flush", "close", "another conversation"])
def test_turns_that_could_not_be_stored_need_no_further_turn(folder: Path, ending: str) -> None:
    """A conversation that ends while another process holds the lock is stored once the store is free again."""
    options: Any = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "settings": Settings(lock_timeout=0.05)}
    with TieredMemory.open(folder, **options) as opened:
        opened.add([("user", "Hello")], session_id="monday")
        memory = SiltstoneMemory.from_defaults(opened, session_id="tuesday")
        block = SiltstoneMemoryBlock(opened, session_id="wednesday")
        (lock,) = folder.glob("users/*/*/LOCK")
        with lock.open("rb+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            memory.put(ChatMessage("I moved to Rome."))
            asyncio.run(block.aput([ChatMessage("I like plums.")]))
        assert [item["content"] for item in memory.unsaved] == ["I moved to Rome."]
        if ending == "flush":
            opened.flush()
        elif ending == "another conversation":
            SiltstoneMemory.from_defaults(opened, session_id="thursday").put(ChatMessage("Hello again"))
    assert memory.unsaved == []
    with TieredMemory.open(folder, **options) as opened:
        assert [m.content for m in opened.messages("tuesday")] == ["I moved to Rome."]
        assert [m.content for m in opened.messages("wednesday")] == ["I like plums."]


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


@pytest.mark.parametrize("read_before", [True, False])
def test_what_was_done_last_is_known_while_the_store_is_away(tiered: Any, read_before: bool) -> None:
    """Put, set, edited, shortened or reset just before the store went away: the conversation is what it was then."""
    a, b, c = ChatMessage("a"), ChatMessage("b", role="assistant"), ChatMessage("c")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    steps: list[tuple[Callable[[], None], list[str]]] = [
        (lambda: memory.set([a, b]), ["a", "b"]),
        (lambda: memory.put(c), ["a", "b", "c"]),
        (lambda: memory.set([a, b]), ["a", "b"]),
        (lambda: memory.set([c]), ["c"]),
        (memory.reset, []),
        (lambda: memory.put_messages([a, b]), ["a", "b"]),
    ]
    for act, said in steps:
        act()
        if read_before:
            memory.get()
        tiered.failing = True
        assert [m.content for m in memory.get_all()] == said
        assert [m.content for m in memory.get()] == said
        tiered.failing = False
        assert [m.content for m in memory.get_all()] == said


def test_edited_transcript_set_while_the_store_is_away_is_shown(tiered: Any) -> None:
    """Edited, shortened, lengthened during an outage, the conversation is what was set, then and afterwards."""
    a, b, c = ChatMessage("a"), ChatMessage("b", role="assistant"), ChatMessage("c")
    for n, wanted in enumerate([[c], [a], [a, b], [a, b, c], [a, c], [b, a], []]):
        memory = SiltstoneMemory.from_defaults(tiered, session_id=f"s{n}")
        memory.put_messages([a, b])
        tiered.failing = True
        memory.set(wanted)
        memory.set(wanted)
        assert [m.content for m in memory.get_all()] == [m.content for m in wanted]
        tiered.failing = False
        for one in (memory, SiltstoneMemory.from_defaults(tiered, session_id=f"s{n}")):
            assert [m.content for m in one.get_all()] == [m.content for m in wanted]


def test_transcripts_set_again_and_again_meanwhile_are_stored_once(tiered: Any) -> None:
    """An agent sets its whole history with every run: while the store is away this adds up to one conversation."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    history = [ChatMessage(content, role=role) for role, content in (("user", "a"), ("assistant", "b"), ("user", "c"))]
    tiered.failing = True
    for length in (2, 2, 3, 3):
        memory.set(history[:length])
    assert [m.content for m in memory.get_all()] == ["a", "b", "c"]
    memory.set([history[0], ChatMessage("another", role="assistant")])  # an answer is taken back
    tiered.failing = False
    for one in (memory, SiltstoneMemory.from_defaults(tiered, session_id="tuesday")):
        assert [m.content for m in one.get_all()] == ["a", "another"]
    assert [m.content for m in tiered.messages("tuesday") if m.content] == ["a", "b", "c", "another"]


def test_engine_whose_retriever_fails_as_well_goes_on(tiered: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A retriever whose store is away finds nothing, sync and async, and is logged once until it works again."""
    retriever = SiltstoneRetriever(tiered)
    tiered.failing = True
    with caplog.at_level(logging.WARNING, "siltstone"):
        memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
        ContextChatEngine.from_defaults(retriever=retriever, llm=Script("One.").model, memory=memory).chat("First?")
        assert asyncio.run(retriever.aretrieve("engineer")) == []
    assert [record.message.count("could not answer (search)") for record in caplog.records].count(1) == 1
    tiered.failing = False
    assert "Shenzhen" in retriever.retrieve("engineer")[0].text
    tiered.failing = True
    with caplog.at_level(logging.WARNING, "siltstone"):
        assert retriever.retrieve("engineer") == []
    assert [record.message.count("could not answer (search)") for record in caplog.records].count(1) == 2


def test_wrong_arguments_of_a_retriever_are_errors(tiered: TieredMemory) -> None:
    """Only a failing memory is passed over: what the application got wrong, it is told."""
    with pytest.raises(InvalidInputError):
        SiltstoneRetriever(tiered, since="yesterday-ish").retrieve("engineer")


def test_block_recalls_nothing_and_the_chat_goes_on(tiered: Any, llama_memory: Callable[..., Any]) -> None:
    """LlamaIndex's own Memory keeps working when its block's store is away."""
    memory = llama_memory(memory_blocks=[SiltstoneMemoryBlock(tiered)])
    memory.put(ChatMessage("Where do I work?"))
    tiered.failing = True
    assert text(memory.get()) == "Where do I work?"
    tiered.failing = False
    assert "Shenzhen" in text(memory.get())
