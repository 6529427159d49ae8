"""SiltstoneChatMessageHistory in RunnableWithMessageHistory and in chains: real runs, and what the model was sent."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import logging
import uuid
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_script import ScriptedModel, assert_valid, calling, text

from langchain_siltstone import SiltstoneChatMessageHistory
from siltstone import InvalidInputError, Settings, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

# LangChain deprecates histories and their runnable for its 2.0; this is the test of the adapter for who uses them.
pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")

TUESDAY: Any = {"configurable": {"session_id": "tuesday"}}


def history(tiered: TieredMemory, session_id: str = "tuesday") -> SiltstoneChatMessageHistory:
    """Return the history of a conversation."""
    return SiltstoneChatMessageHistory(session_id, memory=tiered)


def with_list_input(tiered: TieredMemory, model: ScriptedModel) -> Runnable[Any, Any]:
    """Return a chat whose input is a list of messages."""
    return RunnableWithMessageHistory(model, lambda session_id: history(tiered, session_id))


def with_dict_input(tiered: TieredMemory, model: ScriptedModel) -> Runnable[Any, Any]:
    """Return a chat with a prompt, into which what is recalled goes beside the history."""
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief.\n{recalled}"), MessagesPlaceholder("history"), ("user", "{question}")]
    )
    recall = RunnablePassthrough.assign(recalled=lambda x: tiered.context(x["question"], max_tokens=300).text)
    return RunnableWithMessageHistory(
        recall | prompt | model,
        lambda session_id: history(tiered, session_id),
        input_messages_key="question",
        history_messages_key="history",
    )


def said(tiered: TieredMemory, session_id: str = "tuesday") -> list[tuple[str, str]]:
    """Return roles and texts of a conversation."""
    return [(message.type, str(message.text)) for message in history(tiered, session_id).messages]


def test_list_input_keeps_the_whole_conversation(tiered: TieredMemory) -> None:
    """Each turn is stored once, and the next request holds the earlier ones."""
    model = ScriptedModel("One.", "Two.")
    chat = with_list_input(tiered, model)
    chat.invoke([HumanMessage("First?")], TUESDAY)
    chat.invoke([HumanMessage("Second?")], TUESDAY)
    assert text(model.sent[1]) == "First?\nOne.\nSecond?"
    assert said(tiered) == [("human", "First?"), ("ai", "One."), ("human", "Second?"), ("ai", "Two.")]


def test_chain_with_recall_sends_what_was_said_on_another_day(tiered: TieredMemory) -> None:
    """Recall enters through the prompt; the history stays the raw transcript and stores none of it."""
    model = ScriptedModel("In Shenzhen.")
    with_dict_input(tiered, model).invoke({"question": "Where do I work?"}, TUESDAY)
    assert "a front-end engineer in Shenzhen" in text(model.sent[0])
    assert said(tiered) == [("human", "Where do I work?"), ("ai", "In Shenzhen.")]


def test_chain_recalls_nothing_that_its_history_says(tiered: TieredMemory) -> None:
    """With the ids of the history left out, the running session stands once in the prompt, the others beside it."""

    def recall_for(x: Any, config: RunnableConfig) -> str:
        said = [str(message.id) for message in tiered.messages(config["configurable"]["session_id"])]
        return tiered.context(x["question"], exclude_ids=said, max_tokens=300).text

    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief.\n{recalled}"), MessagesPlaceholder("history"), ("user", "{question}")]
    )
    model = ScriptedModel("Noted.", "In Shenzhen.")
    chat = RunnableWithMessageHistory(
        RunnablePassthrough.assign(recalled=RunnableLambda(recall_for)) | prompt | model,
        lambda session_id: history(tiered, session_id),
        input_messages_key="question",
        history_messages_key="history",
    )
    chat.invoke({"question": "At work I front-end with plums."}, TUESDAY)
    chat.invoke({"question": "Where do I work with plums?"}, TUESDAY)
    assert text(model.sent[1]).count("front-end with plums") == 1
    assert "a front-end engineer in Shenzhen" in text(model.sent[1])


def test_streamed_answer_is_stored_whole(tiered: TieredMemory) -> None:
    """Chunks are one message of the history, of the plain class."""
    model = ScriptedModel("In the city of Shenzhen.")
    chunks = list(with_dict_input(tiered, model).stream({"question": "Where do I work?"}, TUESDAY))
    assert len(chunks) > 1
    (_, answer) = history(tiered).messages
    assert type(answer) is AIMessage
    assert str(answer.text).strip() == "In the city of Shenzhen."


WAYS = ["invoke", "stream", "batch", "ainvoke", "astream", "abatch"]


def asked(chat: Runnable[Any, Any], way: str, said: Any) -> None:
    """Run the chat in one of LangChain's ways, to its end."""

    async def later() -> None:
        if way == "astream":
            _ = [chunk async for chunk in chat.astream(said, TUESDAY)]
        elif way == "abatch":
            await chat.abatch([said], [TUESDAY])
        else:
            await chat.ainvoke(said, TUESDAY)

    if way.startswith("a"):
        asyncio.run(later())
    elif way == "stream":
        list(chat.stream(said, TUESDAY))
    elif way == "batch":
        chat.batch([said], [TUESDAY])
    else:
        chat.invoke(said, TUESDAY)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["list", "dict"])
def test_each_input_in_each_way_is_sent_what_was_said_on_another_day(tiered: TieredMemory, kind: str, way: str) -> None:
    """The fact within its budget, the tool's pair whole and once, both turns stored as plain messages."""
    budget = 60
    tiered.add([("user", f"An engineer told me joke {n}, a long one.") for n in range(30)], session_id="jokes")
    pair = [calling("weather", city="Rome"), ToolMessage("Sunny there.", tool_call_id="call-weather")]
    history(tiered).add_messages([HumanMessage("Weather?"), *pair, AIMessage("Sunny.")])
    question, model = "Am I a front-end engineer in Shenzhen?", ScriptedModel("Yes, you are.")

    def recalled(asked: str) -> str:
        return tiered.context(asked, max_tokens=budget, sections=["recalled"]).text

    if kind == "list":
        recall = RunnableLambda(lambda messages: [SystemMessage(recalled(str(messages[-1].text))), *messages])
        chat: Any = RunnableWithMessageHistory(recall | model, lambda session_id: history(tiered, session_id))
        asked(chat, way, [HumanMessage(question)])
    else:
        prompt = ChatPromptTemplate.from_messages(
            [("system", "{recalled}"), MessagesPlaceholder("history"), ("user", "{question}")]
        )
        chat = RunnableWithMessageHistory(
            RunnablePassthrough.assign(recalled=lambda x: recalled(x["question"])) | prompt | model,
            lambda session_id: history(tiered, session_id),
            input_messages_key="question",
            history_messages_key="history",
        )
        asked(chat, way, {"question": question})

    ((system, *rest),) = model.sent
    assert "I'm Alice, a front-end engineer in Shenzhen." in str(system.text)
    assert WordCounter().count(str(system.text)) <= budget
    assert [m.type for m in rest] == ["human", "ai", "tool", "ai", "human"]
    assert_valid(rest)
    told = history(tiered).messages
    assert [m.type for m in told] == ["human", "ai", "tool", "ai", "human", "ai"]
    assert (type(told[-2]), told[-2].text) == (HumanMessage, question)
    assert (type(told[-1]), str(told[-1].text).strip()) == (AIMessage, "Yes, you are.")


def test_batch_keeps_sessions_apart(tiered: TieredMemory) -> None:
    """Several sessions in one batch each get their own turn."""
    chat = with_dict_input(tiered, ScriptedModel("Yes."))
    sessions = ["a", "b", "c"]
    configs: Any = [{"configurable": {"session_id": session}} for session in sessions]
    chat.batch([{"question": f"Am I {session}?"} for session in sessions], configs)
    for session in sessions:
        assert said(tiered, session) == [("human", f"Am I {session}?"), ("ai", "Yes.")]


def test_concurrent_calls_on_one_session_lose_nothing(tiered: TieredMemory) -> None:
    """Three invokes at once, sync in threads and async, leave all their turns in the history."""
    chat = with_dict_input(tiered, ScriptedModel("Yes."))
    questions = [{"question": f"Question {n}?"} for n in range(3)]
    chat.batch(questions, [TUESDAY] * 3)

    async def at_once() -> None:
        await asyncio.gather(*(chat.ainvoke({"question": f"Async {n}?"}, TUESDAY) for n in range(3)))

    asyncio.run(at_once())
    asked = sorted(content for kind, content in said(tiered) if kind == "human")
    assert asked == [f"Async {n}?" for n in range(3)] + [f"Question {n}?" for n in range(3)]
    assert len(said(tiered)) == 12


def test_full_messages_survive(tiered: TieredMemory) -> None:
    """Ids, calls, artifacts and usage come back equal, from another object, sync and async."""
    messages = [
        HumanMessage("天气？", id="h1"),
        calling("weather", city="深圳").model_copy(
            update={"id": "a1", "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}
        ),
        ToolMessage("晴", tool_call_id="call-weather", artifact={"degrees": 31}, id="t1"),
        AIMessage([{"type": "text", "text": "晴。"}, {"type": "image", "url": "https://example.com/sun.png"}]),
    ]
    history(tiered).add_messages(messages)
    assert history(tiered).messages == messages
    assert asyncio.run(history(tiered).aget_messages()) == messages


def test_message_added_twice_is_stored_once_and_a_changed_one_replaced(tiered: TieredMemory) -> None:
    """The id decides: the same message again is no second turn, another text is its new version."""
    chat = history(tiered)
    chat.add_messages([HumanMessage("Hello", id="1"), AIMessage("Hi", id="2")])
    chat.add_messages([HumanMessage("Hello", id="1"), AIMessage("Hi there", id="2")])
    assert said(tiered) == [("human", "Hello"), ("ai", "Hi there")]


def test_clear_begins_anew_and_forgets_nothing(tiered: TieredMemory) -> None:
    """After ``clear`` the transcript is empty for every object; its facts are still recalled until forgotten."""
    chat = history(tiered)
    chat.add_messages([HumanMessage("My cat is called Miez."), AIMessage("Lovely.", id="a1")])
    chat.clear()
    assert history(tiered).messages == []
    assert "Miez" in tiered.context("What is my cat called?", max_tokens=300).text
    asyncio.run(chat.aadd_messages([HumanMessage("Hello again")]))
    assert said(tiered) == [("human", "Hello again")]
    tiered.forget(session_id="tuesday")
    assert "Miez" not in tiered.context("What is my cat called?", max_tokens=300).text


def test_async_methods_do_what_the_others_do(tiered: TieredMemory) -> None:
    """Messages that are added, read and cleared awaited are those of the sync methods."""
    chat, told = history(tiered), [HumanMessage("My cat is called Miez.", id="1"), AIMessage("Lovely.", id="2")]

    async def use() -> None:
        await chat.aadd_messages(told)
        assert await chat.aget_messages() == chat.messages == told
        await chat.aclear()
        assert await chat.aget_messages() == chat.messages == []

    asyncio.run(use())
    assert "Miez" in tiered.context("What is my cat called?", max_tokens=300).text


@pytest.mark.elsewhere_than("memory", "postgres", "replica", "simple")
def test_files_hold_the_words_as_they_were_written(tiered: TieredMemory, tmp_path: Path) -> None:
    """Chinese stays Chinese on disk, in texts and in what tools were called with: no escapes to grow it or hide it."""
    history(tiered).add_messages([HumanMessage("天气如何？"), calling("weather", city="石家庄")])
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "天气如何？".encode() in written
    assert "石家庄".encode() in written


def test_trimming_by_clear_and_add_keeps_what_is_added_back(tiered: TieredMemory) -> None:
    """The usual way to trim a history, to clear it and to add the last messages again, shows these."""
    chat = history(tiered)
    chat.add_messages([HumanMessage("One?", id="1"), AIMessage("One.", id="2"), HumanMessage("Two?", id="3")])
    last = chat.messages[-2:]
    chat.clear()
    chat.add_messages(last)
    assert chat.messages == last
    assert len([m for m in tiered.messages("tuesday") if m.content]) == 3


def test_forgotten_words_said_again_are_shown_and_not_remembered(tiered: TieredMemory) -> None:
    """The user may say again what was forgotten: the turn is in the transcript, in its place, and no memory of it."""
    chat = history(tiered)
    chat.add_messages([HumanMessage("My PIN is 1234."), AIMessage("Noted.")])
    tiered.forget(ids=[tiered.messages("tuesday")[0].id or ""])
    chat.add_messages([HumanMessage("My PIN is 1234."), AIMessage("I see.")])
    assert said(tiered) == [("ai", "Noted."), ("human", "My PIN is 1234."), ("ai", "I see.")]
    assert not any("1234" in record.text for record in tiered.records())


def test_a_forgotten_transcript_sent_again_is_in_no_file(tmp_path: Path) -> None:
    """It is shown where it was sent, until that store is closed; nothing of it is stored, not even as metadata."""
    models = {"embedder": HashEmbedder(), "token_counter": WordCounter()}
    call = {"name": "unlock", "args": {"pin": "heliotrope"}, "id": "1", "type": "tool_call"}
    told = [
        HumanMessage("My PIN is heliotrope."),
        AIMessage("", tool_calls=[call]),
        ToolMessage("heliotrope it is", tool_call_id="1"),
        AIMessage("Noted."),
    ]
    with TieredMemory.open(tmp_path, **models) as memory:
        chat = SiltstoneChatMessageHistory("s", memory=memory)
        chat.add_messages(told)
        memory.forget(session_id="s")
        chat.add_messages([*told, HumanMessage("Something new.")])
        assert [m.content for m in chat.messages] == [*[m.content for m in told], "Something new."]
        assert [m.content for m in memory.messages("s")] == ["Something new."]
        assert [m.content for m in memory.window("s", max_tokens=500)] == ["Something new."]
        chat.clear()
        assert chat.messages == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"heliotrope" in path.read_bytes()]
    with TieredMemory.open(tmp_path, **models) as memory:
        assert SiltstoneChatMessageHistory("s", memory=memory).messages == []


def test_turn_that_could_not_be_stored_is_kept_for_the_next_view(tmp_path: Path) -> None:
    """A factory that calls ``for_user`` anew per call loses no turn while another process holds the user's lock."""
    settings = Settings(lock_timeout=0.05)
    with TieredMemory.open(tmp_path, embedder=HashEmbedder(), token_counter=WordCounter(), settings=settings) as opened:
        opened.for_user("alice").add([("user", "Hello")], session_id="tuesday")
        (lock,) = tmp_path.glob("users/*/*/LOCK")
        with lock.open("rb+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            history(opened.for_user("alice")).add_messages([HumanMessage("Is 深圳 warm?"), AIMessage("Yes.")])
        gc.collect()
        assert [m.content for m in opened.for_user("alice").messages("tuesday")] == ["Hello"]
        assert said(opened.for_user("bob")) == []
        assert said(opened.for_user("alice")) == [("human", "Hello"), ("human", "Is 深圳 warm?"), ("ai", "Yes.")]
        assert [m.content for m in opened.for_user("alice").messages("tuesday")] == ["Hello", "Is 深圳 warm?", "Yes."]


def test_turn_that_could_not_be_stored_is_stored_at_the_close(tmp_path: Path) -> None:
    """A session that nobody speaks in again loses nothing: the store that is free by then takes it."""
    options: Any = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "settings": Settings(lock_timeout=0.05)}
    with TieredMemory.open(tmp_path, **options) as opened:
        opened.add([("user", "Hello")], session_id="monday")
        (lock,) = tmp_path.glob("users/*/*/LOCK")
        with lock.open("rb+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            history(opened).add_messages([HumanMessage("I moved to Rome."), AIMessage("Lovely.")])
        assert opened.messages("tuesday") == []
    with TieredMemory.open(tmp_path, **options) as opened:
        assert said(opened) == [("human", "I moved to Rome."), ("ai", "Lovely.")]


def test_making_a_history_asks_the_store_nothing(tiered: Any, caplog: pytest.LogCaptureFixture) -> None:
    """LangChain makes one with every call: that costs nothing, and cannot fail."""
    tiered.failing = True
    with caplog.at_level(logging.WARNING, "siltstone"):
        history(tiered)
        assert not caplog.records
        assert history(tiered).messages == []
    assert len(caplog.records) == 1


def test_chain_whose_recall_fails_goes_on_by_its_fallback(tiered: Any) -> None:
    """``memory.context`` raises; with a fallback, as the docstring shows it, the chain goes on and keeps the turn."""
    recall = RunnableLambda(lambda x: tiered.context(x["question"]).text).with_fallbacks([RunnableLambda(lambda x: "")])
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief.{recalled}"), MessagesPlaceholder("history"), ("user", "{question}")]
    )
    model = ScriptedModel("One.", "Two.")
    chat = RunnableWithMessageHistory(
        RunnablePassthrough.assign(recalled=recall) | prompt | model,
        lambda session_id: history(tiered, session_id),
        input_messages_key="question",
        history_messages_key="history",
    )
    tiered.failing = True
    chat.invoke({"question": "Where do I work?"}, TUESDAY)
    tiered.failing = False
    chat.invoke({"question": "And where do I work?"}, TUESDAY)
    assert str(model.sent[0][0].text) == "Be brief."
    assert "Shenzhen" in text(model.sent[1])
    assert [content for _, content in said(tiered)] == ["Where do I work?", "One.", "And where do I work?", "Two."]


def test_failing_memory_does_not_end_the_chat(tiered: Any, caplog: pytest.LogCaptureFixture) -> None:
    """While the store is away the model answers, one warning is logged, and the turns are stored later."""
    model = ScriptedModel("One.", "Two.", "Three.")
    chat = with_list_input(tiered, model)
    tiered.failing = True
    with caplog.at_level(logging.WARNING, "siltstone"):
        chat.invoke([HumanMessage("First?")], TUESDAY)
        chat.invoke([HumanMessage("Second?")], TUESDAY)
    assert len(caplog.records) == 1
    assert text(model.sent[1]) == "First?\nOne.\nSecond?"
    tiered.failing = False
    chat.invoke([HumanMessage("Third?")], TUESDAY)
    assert [content for _, content in said(tiered)] == ["First?", "One.", "Second?", "Two.", "Third?", "Three."]


@pytest.mark.parametrize("session_id", [uuid.UUID(int=7), 42, "星期二"], ids=str)
def test_session_may_be_named_by_anything_with_a_text(tiered: TieredMemory, session_id: Any) -> None:
    """What a web application has for a session, a UUID or a number, names it as its text does."""
    SiltstoneChatMessageHistory(session_id, memory=tiered).add_user_message("Hello")
    assert said(tiered, str(session_id)) == [("human", "Hello")]


@pytest.mark.parametrize("session_id", [None, "", " "])
def test_session_without_a_name_is_refused_at_once(tiered: TieredMemory, session_id: Any) -> None:
    """Else every turn would be lost to a line in the log."""
    with pytest.raises(InvalidInputError, match="session_id"):
        SiltstoneChatMessageHistory(session_id, memory=tiered)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_store_that_is_back_before_the_run_ends_costs_no_turn(tiered: Any, asynchronous: bool) -> None:
    """LangChain cuts off as many messages as it reads at the end: it reads what it was given at the beginning."""

    class Healing(ScriptedModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            tiered.failing = False
            return super()._generate(*args, **kwargs)

    history(tiered).add_messages([HumanMessage("One?"), AIMessage("One.")])
    chat = with_list_input(tiered, Healing("Two.", "Three."))
    for question in ("Two?", "Three?"):
        tiered.failing = True
        if asynchronous:
            asyncio.run(chat.ainvoke([HumanMessage(question)], TUESDAY))
        else:
            chat.invoke([HumanMessage(question)], TUESDAY)
    assert [content for _, content in said(tiered)] == ["One?", "One.", "Two?", "Two.", "Three?", "Three."]


def test_transcript_is_read_as_it_is_after_an_outage(tiered: Any) -> None:
    """Of a history that lives on, one read more answers as the failed one did; after a new turn none does."""
    chat = history(tiered)
    chat.add_user_message("One?")
    tiered.failing = True
    assert chat.messages == []
    tiered.failing = False
    assert [len(chat.messages) for _ in range(2)] == [0, 1]
    tiered.failing = True
    assert chat.messages == []
    tiered.failing = False
    chat.add_user_message("Two?")
    assert [m.content for m in chat.messages] == ["One?", "Two?"]
