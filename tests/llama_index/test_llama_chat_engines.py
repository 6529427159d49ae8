"""SiltstoneMemory in LlamaIndex's chat engines: each really runs, and what the model was sent is checked."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import MessageRole
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
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


def test_engine_makes_the_memory_itself_from_its_class() -> None:
    """``memory_cls=SiltstoneMemory`` works as with LlamaIndex's own memories, in this process's memory."""
    script = Script("Hello.")
    engine = SimpleChatEngine.from_defaults(llm=script.model, memory_cls=SiltstoneMemory)
    engine.chat("My cat is called Miez.")
    engine.chat("What is my cat called?")
    assert "Miez" in text(script.sent[1])


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


@pytest.mark.parametrize("engine_class", [ContextChatEngine, CondensePlusContextChatEngine])
def test_context_engines_send_what_was_said_on_another_day(tiered: TieredMemory, engine_class: type) -> None:
    """Chat, stream and their async twins recall before the turn is stored, and then store it."""
    script, memory = Script("In Shenzhen."), on_tuesday(tiered)
    nothing = SiltstoneRetriever(tiered.for_user("nobody"))
    engine = engine_class.from_defaults(retriever=nothing, llm=script.model, memory=memory)

    engine.chat("Where do I work?")
    assert "".join(engine.stream_chat("Where do I work now?").response_gen)

    async def talk() -> None:
        await engine.achat("Where did I work?")
        answer = await engine.astream_chat("Where will I work?")
        async for _ in answer.async_response_gen():
            pass

    asyncio.run(talk())
    for request in script.sent:
        assert "a front-end engineer in Shenzhen" in text(request)
    assert [role for role, _ in transcript(memory)] == ["user", "assistant"] * 4


def test_condense_question_engine_condenses_with_what_was_said_on_another_day(tiered: TieredMemory) -> None:
    """The recalled fact is in the prompt that rewrites the question."""
    script, memory = Script("Where does Alice work?", "In Shenzhen."), on_tuesday(tiered)
    query_engine = RetrieverQueryEngine.from_args(SiltstoneRetriever(tiered), llm=script.model)
    engine = CondenseQuestionChatEngine.from_defaults(query_engine=query_engine, llm=script.model, memory=memory)
    engine.chat("Where do I work?")
    assert "a front-end engineer in Shenzhen" in text(script.sent[0])
    assert [role for role, _ in transcript(memory)] == ["user", "assistant"]


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
