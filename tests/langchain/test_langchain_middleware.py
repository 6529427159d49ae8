"""SiltstoneMemoryMiddleware in agents made by create_agent: real runs, and what the model was sent."""

from __future__ import annotations

import asyncio
import fcntl
import logging
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_script import ScriptedModel, assert_valid, calling, text
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langchain_siltstone import SiltstoneMemoryMiddleware
from siltstone import Settings, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

TUESDAY: Any = {"configurable": {"thread_id": "tuesday"}}


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It is sunny in {city}."


def agent_of(tiered: TieredMemory, model: ScriptedModel, **options: Any) -> Any:
    """Return an agent with the memory of a user and a checkpointer."""
    middleware = [SiltstoneMemoryMiddleware(tiered, tools=False), *options.pop("more", ())]
    options.setdefault("checkpointer", InMemorySaver())
    return create_agent(model, middleware=middleware, **options)


def ask(agent: Any, question: str, config: Any = TUESDAY) -> str:
    """Return the agent's answer."""
    return str(agent.invoke({"messages": [("user", question)]}, config)["messages"][-1].text)


def test_agent_is_sent_what_was_said_on_another_day(tiered: TieredMemory) -> None:
    """In every model call of the run the fact is at the end of the system message, and nowhere in the messages."""
    model = ScriptedModel(calling("weather", city="Shenzhen"), "Sunny.")
    agent = agent_of(tiered, model, tools=[weather], system_prompt="Be brief.")
    assert ask(agent, "What is the weather where I work?") == "Sunny."
    for request in model.sent:
        system, *rest = request
        assert str(system.text).startswith("Be brief.\n\n<siltstone_memory>")
        assert "a front-end engineer in Shenzhen" in str(system.text)
        assert "<siltstone_memory>" not in text(rest)
        assert_valid(rest)


def test_agent_without_a_system_prompt_gets_one(tiered: TieredMemory) -> None:
    """What is recalled makes the system message where there is none."""
    model = ScriptedModel("In Shenzhen.")
    ask(agent_of(tiered, model), "Where do I work?")
    assert model.sent[0][0].type == "system"
    assert "Shenzhen" in str(model.sent[0][0].text)


def test_turns_are_stored_in_full_and_once(tiered: TieredMemory) -> None:
    """Two runs of a thread, tools and all, are in its session; the checkpointer's repetition adds nothing."""
    model = ScriptedModel(calling("weather", city="Shenzhen"), "Sunny.", "Still sunny.")
    agent = agent_of(tiered, model, tools=[weather])
    ask(agent, "What is the weather?")
    ask(agent, "And now?")
    roles = [message.role for message in tiered.messages("tuesday")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


def test_recall_crosses_threads_and_skips_the_running_one(tiered: TieredMemory) -> None:
    """What one thread said is recalled in another; what the thread itself holds is not said twice."""
    model = ScriptedModel("Noted.", "Noted.", "Miez.")
    agent = agent_of(tiered, model)
    ask(agent, "My cat is called Miez.")
    ask(agent, "What is my cat called?")
    assert "Miez" not in str(model.sent[1][0].text)
    ask(agent, "What is my cat called?", {"configurable": {"thread_id": "wednesday"}})
    assert "Miez" in str(model.sent[2][0].text)


def test_async_runs_do_the_same(tiered: TieredMemory) -> None:
    """``ainvoke`` recalls, answers and stores."""
    model = ScriptedModel("In Shenzhen.")
    agent = agent_of(tiered, model)
    asyncio.run(agent.ainvoke({"messages": [("user", "Where do I work?")]}, TUESDAY))
    assert "Shenzhen" in str(model.sent[0][0].text)
    assert [message.content for message in tiered.messages("tuesday")] == ["Where do I work?", "In Shenzhen."]


def test_what_was_recalled_is_in_no_checkpoint(tiered: TieredMemory) -> None:
    """A memory that is forgotten later does not live on in the checkpointer, nor in the agent's output."""
    saver = InMemorySaver()
    agent = agent_of(tiered, ScriptedModel("In Shenzhen."), checkpointer=saver)
    result = agent.invoke({"messages": [("user", "Where do I work?")]}, TUESDAY)
    assert set(result) == {"messages"}
    checkpoints = list(saver.list(TUESDAY))
    assert checkpoints
    assert "front-end" not in repr(checkpoints)
    assert "siltstone_memory" not in repr(checkpoints)


def test_run_that_goes_on_after_an_interrupt_still_remembers(tiered: TieredMemory) -> None:
    """A human's approval in between: the second half of the run recalls again, since nothing was checkpointed."""
    model = ScriptedModel(calling("weather", city="Shenzhen"), "Sunny.")
    approval = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    agent = agent_of(tiered, model, tools=[weather], more=[approval])
    agent.invoke({"messages": [("user", "What is the weather where I work?")]}, TUESDAY)
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), TUESDAY)
    assert len(model.sent) == 2
    assert "a front-end engineer in Shenzhen" in str(model.sent[1][0].text)
    assert [m.role for m in tiered.messages("tuesday")] == ["user", "assistant", "tool", "assistant"]


def test_two_memories_in_one_agent_do_not_overwrite_each_other(tiered: TieredMemory) -> None:
    """With names of their own, a user's and a team's memory are both in the system message."""
    team = tiered.for_user("team")
    team.add([("user", "Our office in Shenzhen is on the third floor.")], session_id="handbook")
    model = ScriptedModel("Third floor.")
    handbook = SiltstoneMemoryMiddleware(team, tools=False, store=False, name="handbook")
    ask(agent_of(tiered, model, more=[handbook]), "On which floor is the Shenzhen office where I work?")
    system = str(model.sent[0][0].text)
    assert "a front-end engineer in Shenzhen" in system
    assert "third floor" in system
    assert [session.session_id for session in team.sessions()] == ["handbook"]


def test_agent_gets_the_memory_tools(tiered: TieredMemory) -> None:
    """By default the agent can search, remember and forget."""
    model = ScriptedModel(calling("remember", text="Alice prefers tea.", kind="profile"), "Remembered.")
    agent = create_agent(model, middleware=[SiltstoneMemoryMiddleware(tiered)])
    ask(agent, "Remember that I prefer tea.", {})
    assert model.tools == ["search_memory", "remember", "forget"]
    assert [record.text for record in tiered.records(kinds="profile")] == ["Alice prefers tea."]


def test_summary_of_another_middleware_is_not_stored_as_the_users_words(tiered: TieredMemory) -> None:
    """SummarizationMiddleware replaces old turns by a summary in the user's role, which nobody said."""
    model, writer = ScriptedModel("word " * 40), ScriptedModel("SUMMARY of it all")
    summarizer = SummarizationMiddleware(writer, trigger=("messages", 4), keep=("messages", 2))
    agent = agent_of(tiered, model, more=[summarizer])
    for n in range(4):
        ask(agent, f"Question {n}?")
    assert writer.sent
    stored = [message.content for message in tiered.messages("tuesday") if message.role == "user"]
    assert stored == [f"Question {n}?" for n in range(4)]


@pytest.mark.parametrize("awaited", [False, True])
def test_what_is_summarised_away_within_a_run_is_stored_whole(tiered: TieredMemory, awaited: bool) -> None:
    """A long run whose first rounds are gone before its end: the question, calls and results are stored, in order."""
    cities = ["Rome", "Oslo", "Lima", "Kyoto", "Perth"]
    model = ScriptedModel(*(calling("weather", city=city) for city in cities), "All sunny.")
    summarizer = SummarizationMiddleware(ScriptedModel("SUMMARY"), trigger=("messages", 4), keep=("messages", 2))
    agent = agent_of(tiered, model, tools=[weather], more=[summarizer])
    said = {"messages": [("user", "What is the weather in my cities?")]}
    if awaited:
        asyncio.run(agent.ainvoke(said, TUESDAY))
    else:
        agent.invoke(said, TUESDAY)
    assert "What is the weather in my cities?" not in text(model.sent[-1])
    stored = tiered.messages("tuesday")
    assert [message.role for message in stored] == ["user", *["assistant", "tool"] * 5, "assistant"]
    assert stored[0].content == "What is the weather in my cities?"
    assert [message.content for message in stored[2::2]] == [f"It is sunny in {city}." for city in cities]
    assert stored[-1].content == "All sunny."


def test_forgotten_turn_does_not_come_back_from_the_checkpointer(tiered: TieredMemory) -> None:
    """The thread's state still holds the turn, and sends it after every run: it stays forgotten."""
    agent = agent_of(tiered, ScriptedModel("Noted."))
    ask(agent, "My PIN is 1234.")
    tiered.forget(ids=[tiered.messages("tuesday")[0].id or ""])
    ask(agent, "Anything else?")
    assert not any("1234" in record.text for record in tiered.records())


def test_turn_of_a_run_that_failed_is_made_up_for(tiered: TieredMemory) -> None:
    """A model that raised left its question in the thread's state: the next run stores it as well."""

    class Failing(ScriptedModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            if not self.sent:
                self.sent.append([])
                raise RuntimeError("the model is down")
            return super()._generate(*args, **kwargs)

    agent = agent_of(tiered, Failing("Sunny."))
    with pytest.raises(RuntimeError, match="the model is down"):
        ask(agent, "First?")
    ask(agent, "Second?")
    assert [message.content for message in tiered.messages("tuesday")] == ["First?", "Second?", "Sunny."]


def test_turns_that_could_not_be_stored_are_stored_with_another_thread(tmp_path: Path) -> None:
    """What an agent said while another process held the lock is stored with the next run of whichever thread."""
    options: Any = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "settings": Settings(lock_timeout=0.05)}
    with TieredMemory.open(tmp_path, **options) as opened:
        opened.add([("user", "Hello")], session_id="monday")
        agent = agent_of(opened, ScriptedModel("Lovely.", "Noted."))
        (lock,) = tmp_path.glob("users/*/*/LOCK")
        with lock.open("rb+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            ask(agent, "I moved to Rome.")
        assert opened.messages("tuesday") == []
        ask(agent, "I like plums.", {"configurable": {"thread_id": "wednesday"}})
        assert [m.content for m in opened.messages("tuesday")] == ["I moved to Rome.", "Lovely."]
        assert [m.content for m in opened.messages("wednesday")] == ["I like plums.", "Noted."]


def test_failing_memory_does_not_end_the_run(tiered: Any, caplog: pytest.LogCaptureFixture) -> None:
    """While the store is away the agent answers, one warning is logged, and the turns are stored later, once."""
    model = ScriptedModel("One.", "Two.")
    agent = agent_of(tiered, model)
    tiered.failing = True
    with caplog.at_level(logging.WARNING, "siltstone"):
        assert ask(agent, "First?") == "One."
    assert len(caplog.records) == 1
    tiered.failing = False
    ask(agent, "Second?")
    assert [message.content for message in tiered.messages("tuesday")] == ["First?", "One.", "Second?", "Two."]


def test_session_can_be_given(tiered: TieredMemory) -> None:
    """``session_id=`` names the conversation where no thread does."""
    agent = create_agent(
        ScriptedModel("Hi."), middleware=[SiltstoneMemoryMiddleware(tiered, session_id="fixed", tools=False)]
    )
    agent.invoke({"messages": [HumanMessage("Hello")]})
    assert [message.content for message in tiered.messages("fixed")] == ["Hello", "Hi."]


def test_runs_without_a_thread_share_a_session_and_are_told_so(
    tiered: TieredMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """Without ``thread_id`` and ``session_id`` the turns go to "default", and one warning says what to pass."""
    agent = agent_of(tiered, ScriptedModel("One.", "Two."), checkpointer=None)
    with caplog.at_level(logging.WARNING, "siltstone"):
        ask(agent, "First?", {})
        ask(agent, "Second?", {})
    assert [message.content for message in tiered.messages("default")] == ["First?", "One.", "Second?", "Two."]
    assert len(caplog.records) == 1
    assert "thread_id" in caplog.text


def test_model_without_tool_calls_needs_the_tools_off(tiered: TieredMemory) -> None:
    """``tools=False`` serves a model that has no ``bind_tools``."""
    model = GenericFakeChatModel(messages=iter([AIMessage("In Shenzhen.")]))
    agent = create_agent(model, middleware=[SiltstoneMemoryMiddleware(tiered, tools=False)])
    assert ask(agent, "Where do I work?") == "In Shenzhen."


def test_agent_recalls_in_chinese(tiered: TieredMemory) -> None:
    """A Chinese fact of another day reaches the model for a Chinese question."""
    tiered.add([("user", "我叫张三，是深圳的前端工程师。")], session_id="星期一")
    model = ScriptedModel(AIMessage("你叫张三。"))
    ask(agent_of(tiered, model), "我叫什么名字？我是做什么的？")
    assert "我叫张三，是深圳的前端工程师。" in str(model.sent[0][0].text)
