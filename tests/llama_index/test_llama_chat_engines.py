"""SiltstoneMemory in LlamaIndex's chat engines: each really runs, and what the model was sent is checked."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.memory import BaseMemory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_script import Script, assert_valid, text

from llama_index_siltstone import SiltstoneMemory, SiltstoneRetriever
from llama_index_siltstone.window import cost
from siltstone import TieredMemory


def on_tuesday(tiered: TieredMemory, **options: object) -> SiltstoneMemory:
    """Return the memory of Tuesday's conversation."""
    return SiltstoneMemory.from_defaults(tiered, session_id="tuesday", **options)  # type: ignore[arg-type]


def transcript(memory: SiltstoneMemory) -> list[tuple[str, str | None]]:
    """Return roles and texts of the whole conversation."""
    return [(message.role.value, message.content) for message in memory.get_all()]


def test_simple_chat_engine_sends_what_was_said_on_another_day(tiered: TieredMemory) -> None:
    """A fact of Monday reaches the model on Tuesday, and both turns are stored."""
    script, memory = Script("In Shenzhen."), on_tuesday(tiered)
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=memory)
    assert engine.chat("Where do I work?").response == "In Shenzhen."
    assert "Shenzhen" in text(script.sent[0])
    assert script.sent[0][-1].content is not None
    assert script.sent[0][-1].content.endswith("Where do I work?")
    assert transcript(memory) == [("user", "Where do I work?"), ("assistant", "In Shenzhen.")]


def test_simple_chat_engine_counts_its_system_prompt_into_the_limit(tiered: TieredMemory) -> None:
    """With a long prefix the history is shorter: together they stay under the limit."""
    memory = on_tuesday(tiered, token_limit=200)
    for n in range(30):
        tiered.add([("user", f"Question number {n} of many?"), ("assistant", "Yes.")], session_id="tuesday")
    script = Script()
    SimpleChatEngine.from_defaults(llm=script.model, memory=memory, system_prompt="word " * 120).chat("And now?")
    assert cost(script.sent[0], tiered.token_counter) <= 200 + 4


def test_simple_chat_engine_streams_and_stores_from_another_thread(tiered: TieredMemory) -> None:
    """A streamed answer is stored by the engine's own thread, once it is complete."""
    script, memory = Script("In Shenzhen."), on_tuesday(tiered)
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=memory)
    assert "".join(engine.stream_chat("Where do I work?").response_gen) == "In Shenzhen."
    assert "Shenzhen" in text(script.sent[0])
    assert transcript(memory) == [("user", "Where do I work?"), ("assistant", "In Shenzhen.")]


def test_simple_chat_engine_chats_and_streams_asynchronously(tiered: TieredMemory) -> None:
    """The async methods send and store the same."""
    script, memory = Script("In Shenzhen.", "Alice."), on_tuesday(tiered)
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=memory)

    async def talk() -> str:
        await engine.achat("Where do I work?")
        answer = await engine.astream_chat("What is my name?")
        return "".join([token async for token in answer.async_response_gen()])

    assert asyncio.run(talk()) == "Alice."
    assert "Shenzhen" in text(script.sent[0])
    assert "Alice" in text(script.sent[1])
    assert [role for role, _ in transcript(memory)] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("insert", ["user", "system"])
def test_context_chat_engine_leaves_placeholders_in_the_history_alone(tiered: TieredMemory, insert: str) -> None:
    """The engine takes the history for a template: braces that a user wrote are not filled in, nor is the memory."""
    tiered.add([("user", "My template says {context_str} and {query_str}.")], session_id="monday")
    tiered.add([("user", "It also holds {existing_answer}."), ("assistant", "I see.")], session_id="tuesday")
    script, memory = Script("Two."), on_tuesday(tiered, insert=insert)
    engine = ContextChatEngine.from_defaults(
        retriever=SiltstoneRetriever(tiered, exclude_session_id="monday"), llm=script.model, memory=memory
    )
    engine.chat("Which placeholders does my template hold?")
    request = text(script.sent[0])
    assert request.count("Which placeholders does my template hold?") == 1
    assert "{ context_str }" in request
    assert "{ existing_answer }" in request
    assert transcript(memory)[0] == ("user", "It also holds {existing_answer}.")


ENGINES = [SimpleChatEngine, ContextChatEngine, CondensePlusContextChatEngine, CondenseQuestionChatEngine]
WAYS = ["chat", "stream_chat", "achat", "astream_chat"]
QUESTION = "In which city do I work?"


def engine_of(engine_class: type, tiered: TieredMemory, memory: BaseMemory, script: Script) -> BaseChatEngine:
    """Return an engine of a class; those that answer from documents have a handbook with one sentence."""
    handbook = SiltstoneRetriever(tiered.for_user("handbook"), top_k=1)
    options: dict[str, Any] = {"llm": script.model, "memory": memory}
    if engine_class is CondenseQuestionChatEngine:
        options["query_engine"] = RetrieverQueryEngine.from_args(handbook, llm=script.model)
    elif engine_class is not SimpleChatEngine:
        options["retriever"] = handbook
    engine: BaseChatEngine = engine_class.from_defaults(**options)  # type: ignore[attr-defined]
    return engine


def answered(engine: BaseChatEngine, way: str) -> str:
    """Return an engine's answer, asked by one of its four methods."""

    async def later() -> str:
        answer = await getattr(engine, way)(QUESTION)
        if way == "astream_chat":
            return "".join([token async for token in answer.async_response_gen()])
        return str(answer)

    if way.startswith("a"):
        return asyncio.run(later())
    answer = getattr(engine, way)(QUESTION)
    return "".join(answer.response_gen) if way == "stream_chat" else str(answer)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine_class", ENGINES)
def test_each_engine_in_each_way_is_sent_what_was_said_on_another_day(
    tiered: TieredMemory, engine_class: type, way: str
) -> None:
    """With a long talk and a tool's round before: the fact, the pair whole, no token too many, both turns stored."""
    limit = 200
    tiered.for_user("handbook").add([("user", "All cities have offices.")], session_id="handbook")
    tiered.add([("user", "A question. " * 9), ("assistant", "An answer. " * 9)] * 20, session_id="tuesday")
    memory = on_tuesday(tiered, token_limit=limit)
    call = ToolCallBlock(tool_call_id="1", tool_name="weather", tool_kwargs={"city": "Rome"})
    result = ChatMessage("Sunny there.", role="tool", additional_kwargs={"tool_call_id": "1"})
    memory.put_messages([ChatMessage("Weather?"), ChatMessage(role="assistant", blocks=[call]), result])
    memory.put(ChatMessage("Sunny.", role="assistant"))

    without = Script("In Shenzhen.")
    nothing = SiltstoneMemory.from_defaults(tiered.for_user("nobody"), recall_share=0)
    answered(engine_of(engine_class, tiered, nothing, without), way)
    script = Script("In Shenzhen.")
    assert answered(engine_of(engine_class, tiered, memory, script), way).strip() == "In Shenzhen."

    remembering = [request for request in script.sent if "a front-end engineer in Shenzhen" in text(request)]
    assert remembering
    assert "Sunny there." in text(remembering[-1])
    for request in remembering:
        assert cost(request, tiered.token_counter) <= limit + max(cost(r, tiered.token_counter) for r in without.sent)
        assert_valid(request)
    assert transcript(memory)[-2:] == [("user", QUESTION), ("assistant", "In Shenzhen.")]


@pytest.mark.parametrize("engine_class", [SimpleChatEngine, ContextChatEngine, CondensePlusContextChatEngine])
def test_an_answer_read_after_the_next_turn_is_kept(tiered: TieredMemory, engine_class: type) -> None:
    """A stream is stored when it is read to its end, in another thread, be it after the user's next turn."""
    tiered.for_user("handbook").add([("user", "All cities have offices.")], session_id="handbook")
    script, memory = Script("One.", "Two.", "Three."), on_tuesday(tiered)
    engine = engine_of(engine_class, tiered, memory, script)
    slow = engine.stream_chat("First?")
    engine.chat("Second?")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: "".join(slow.response_gen)).result()
    engine.chat("Third?")
    assert sorted(content or "" for _, content in transcript(memory)) == sorted(
        ["First?", "One.", "Second?", "Two.", "Third?", "Three."]
    )
    for request in script.sent:
        assert_valid(request)


@pytest.mark.parametrize("engine_class", [SimpleChatEngine, CondenseQuestionChatEngine])
def test_engines_make_the_memory_themselves_from_its_class(tiered: TieredMemory, engine_class: type) -> None:
    """``memory_cls=`` and a history: the memory made of them has the history and recalls, in this process's memory."""
    script = Script("Miez.")
    options: dict[str, Any] = {"llm": script.model, "memory_cls": SiltstoneMemory}
    if engine_class is CondenseQuestionChatEngine:
        options["query_engine"] = RetrieverQueryEngine.from_args(SiltstoneRetriever(tiered), llm=script.model)
    history = [ChatMessage("My cat is called Miez."), ChatMessage("Lovely.", role="assistant")]
    engine = engine_class.from_defaults(chat_history=history, **options)  # type: ignore[attr-defined]
    engine.chat("What is my cat called?")
    assert "Miez" in text(script.sent[0])
    assert [m.content for m in engine.chat_history] == [
        "My cat is called Miez.", "Lovely.", "What is my cat called?", "Miez.",
    ]  # fmt: skip


def test_engine_given_a_chat_history_takes_it_on_once(tiered: TieredMemory) -> None:
    """A transcript passed with every call is stored once, and the conversation goes on from it."""
    script, memory = Script("Yes."), on_tuesday(tiered)
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=memory)
    engine.chat("One?")
    for question in ("Two?", "Three?"):
        engine.chat(question, chat_history=memory.get_all())
    assert [content for role, content in transcript(memory) if role == "user"] == ["One?", "Two?", "Three?"]
    assert len(tiered.messages("tuesday")) == 6


def test_memory_of_a_session_goes_on_in_a_new_object(tiered: TieredMemory) -> None:
    """Another object for the same session, as in a web server's next request, sees the whole conversation."""
    script = Script("Noted.")
    for question in ("I moved to Berlin.", "Where do I live?"):
        SimpleChatEngine.from_defaults(llm=script.model, memory=on_tuesday(tiered)).chat(question)
    assert [m.role for m in script.sent[1]] == [MessageRole.USER, MessageRole.ASSISTANT, MessageRole.USER]
    assert_valid(script.sent[1])


def test_reset_begins_anew_and_forgets_nothing(tiered: TieredMemory) -> None:
    """After ``engine.reset()`` the conversation is empty, in every object, and its facts are still recalled."""
    script, memory = Script("Noted."), on_tuesday(tiered)
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory=memory)
    engine.chat("My cat is called Miez.")
    engine.reset()
    assert memory.get_all() == on_tuesday(tiered).get_all() == []
    engine.chat("What is my cat called?")
    assert len(script.sent[1]) == 1
    assert "Miez" in text(script.sent[1])
