"""What an agent says is stored once and whole, however its state and its front end treat the messages."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langchain_script import ScriptedModel, calling
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langchain_siltstone import SiltstoneMemoryMiddleware
from langchain_siltstone.messages import to_message
from langchain_siltstone.transcript import sent_again
from siltstone import ConfigurationError, Message, TieredMemory

TUESDAY: Any = {"configurable": {"thread_id": "tuesday"}}


@tool
def note(text: str) -> str:
    """Note something."""
    return f"noted {text}"


def agent_of(tiered: TieredMemory, model: ScriptedModel, **options: Any) -> Any:
    """Return an agent with the memory of a user."""
    return create_agent(model, middleware=[SiltstoneMemoryMiddleware(tiered, tools=False)], **options)


def said(tiered: TieredMemory) -> list[str]:
    """Return the texts of the thread's session."""
    return [message.content for message in tiered.messages("tuesday")]


@pytest.mark.parametrize("window", [None, 2, 3])
@pytest.mark.parametrize("with_tools", [True, False])
def test_transcript_that_is_sent_with_each_run_is_stored_once(
    tiered: TieredMemory, window: int | None, with_tools: bool
) -> None:
    """All of it or its newest messages, with or without the calls to tools; what it says is not recalled beside it."""
    script: list[str | AIMessage] = []
    for n in range(4):
        script += [calling("note", text=f"n{n}"), f"answer {n}"]
    model = ScriptedModel(*script)
    agent = agent_of(tiered, model, tools=[note])
    transcript: list[Any] = []
    questions = ["My dog is called Rex", "What is my dog called?", "What is my dog called?", "thanks"]
    for question in questions:
        transcript = [*transcript, HumanMessage(question)]
        sent = transcript if window is None else transcript[-window:]
        result = agent.invoke({"messages": copy.deepcopy(sent)}, TUESDAY)["messages"][len(sent) :]
        transcript += [m.model_copy(update={"id": None}) for m in (result if with_tools else result[-1:])]
    stored = [m.content for m in tiered.messages("tuesday") if m.role == "user"]
    assert stored == questions
    assert [m.content for m in tiered.messages("tuesday") if m.role == "tool"] == [f"noted n{n}" for n in range(4)]
    if window is None:
        assert not any("Rex" in m.text for request in model.sent[2:] for m in request if m.type == "system")


def test_new_turns_alone_are_all_stored_though_they_say_the_same(tiered: TieredMemory) -> None:
    """A front end that sends only what is new may send the same words again; those are said twice."""
    agent = agent_of(tiered, ScriptedModel("welcome"))
    for text in ("hello", "thanks", "thanks"):
        agent.invoke({"messages": [("user", text)]}, TUESDAY)
    assert said(tiered) == ["hello", "welcome", "thanks", "welcome", "thanks", "welcome"]


def test_run_that_is_tried_again_stores_its_question_once(tiered: TieredMemory) -> None:
    """The model failed after the question was stored; the same request comes once more."""

    class Failing(ScriptedModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            if not self.sent:
                self.sent.append([])
                raise RuntimeError("the model is down")
            return super()._generate(*args, **kwargs)

    agent = agent_of(tiered, Failing("Sunny."))
    with pytest.raises(RuntimeError, match="the model is down"):
        agent.invoke({"messages": [("user", "Weather?")]}, TUESDAY)
    assert said(tiered) == ["Weather?"]
    agent.invoke({"messages": [("user", "Weather?")]}, TUESDAY)
    assert said(tiered) == ["Weather?", "Sunny."]


def test_answer_that_is_asked_for_again_is_stored_beside_the_first(tiered: TieredMemory) -> None:
    """A front end goes back to an earlier question: what leads to it is stored, the other answer is new."""
    agent = agent_of(tiered, ScriptedModel("a0", "a1", "a2", "another a1"))
    transcript: list[Any] = []
    for n in range(3):
        transcript = [*transcript, HumanMessage(f"q{n}")]
        agent.invoke({"messages": copy.deepcopy(transcript)}, TUESDAY)
        transcript.append(AIMessage(f"a{n}"))
    agent.invoke({"messages": copy.deepcopy(transcript[:3])}, TUESDAY)
    assert said(tiered) == ["q0", "a0", "q1", "a1", "q2", "a2", "another a1"]


class _TakesOut(AgentMiddleware[Any, Any, Any]):
    """Leaves only the newest message and those of its tool round in the state, before each call of the model."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        newest: list[AnyMessage] = state["messages"][-2:]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *newest]}


@pytest.mark.parametrize("first", [True, False], ids=["memory first", "memory last"])
@pytest.mark.parametrize("kind", ["summary", "trim"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_leaves_the_state_within_a_run_is_stored(
    tiered: TieredMemory, first: bool, kind: str, asynchronous: bool
) -> None:
    """The question and every tool round, wherever the middleware stands, and nothing that nobody said."""
    summary = SummarizationMiddleware(ScriptedModel("SUMMARY"), trigger=("messages", 6), keep=("messages", 2))
    other = summary if kind == "summary" else _TakesOut()
    memory = SiltstoneMemoryMiddleware(tiered, tools=False)
    calls = [AIMessage("", tool_calls=[{"id": f"c{n}", "name": "note", "args": {"text": f"t{n}"}}]) for n in range(6)]
    agent = create_agent(
        ScriptedModel(*calls, "Done."), tools=[note], checkpointer=InMemorySaver(),
        middleware=[memory, other] if first else [other, memory],
    )  # fmt: skip
    request = {"messages": [("user", "I moved to Oslo; note six things")]}
    if asynchronous and kind == "summary":
        asyncio.run(agent.ainvoke(request, TUESDAY))
    else:
        agent.invoke(request, TUESDAY)
    assert [m.content for m in tiered.messages("tuesday") if m.role != "assistant" or m.content] == [
        "I moved to Oslo; note six things",
        *(f"noted t{n}" for n in range(6)),
        "Done.",
    ]


def test_forgotten_messages_stay_forgotten_when_they_are_sent_again(tiered: TieredMemory) -> None:
    """With ids that are new each time: words, calls to tools, their results and pictures."""
    agent = agent_of(tiered, ScriptedModel("ok"))
    call = {"id": "c", "name": "pay", "args": {"pin": "heliotrope"}}
    transcript = [
        HumanMessage("transfer"),
        AIMessage("", tool_calls=[call], response_metadata={"n": 1}),
        ToolMessage("", tool_call_id="c", artifact={"pin": "heliotrope"}),
        HumanMessage([{"type": "image_url", "image_url": {"url": "data:heliotrope"}}]),
    ]
    agent.invoke({"messages": copy.deepcopy(transcript)}, TUESDAY)
    tiered.forget(session_id="tuesday")
    transcript[1].response_metadata = {}
    agent.invoke({"messages": [*copy.deepcopy(transcript), HumanMessage("and now?")]}, TUESDAY)
    assert "heliotrope" not in repr(tiered.messages("tuesday"))
    assert "and now?" in said(tiered)


def test_message_that_was_edited_is_stored_as_it_is_now(tiered: TieredMemory) -> None:
    """Same id, other words: what the old ones said is no longer remembered."""
    agent = agent_of(tiered, ScriptedModel("ok"), checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("I live in Paris", id="h1")]}, TUESDAY)
    agent.invoke({"messages": [HumanMessage("I live in Rome", id="h1")]}, TUESDAY)
    assert said(tiered) == ["I live in Rome", "ok", "ok"]
    agent.update_state(TUESDAY, {"messages": [HumanMessage("I live in Bern", id="h1")]})
    agent.invoke({"messages": [HumanMessage("Where?", id="h2")]}, TUESDAY)
    assert said(tiered) == ["I live in Bern", "ok", "ok", "Where?", "ok"]
    assert not any("Paris" in record.text or "Rome" in record.text for record in tiered.records())


def test_text_that_was_corrected_in_the_memory_stays_corrected(tiered: TieredMemory) -> None:
    """The agent's state still holds the old words; that is no edit of theirs."""
    agent = agent_of(tiered, ScriptedModel("ok"), checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("I live in Pariss", id="h1")]}, TUESDAY)
    tiered.update("turn:h1", text="I live in Paris")
    agent.invoke({"messages": [HumanMessage("Hello", id="h2")]}, TUESDAY)
    assert said(tiered) == ["I live in Paris", "ok", "Hello", "ok"]


def test_thread_that_goes_on_under_another_name_does_not_recall_itself(tiered: TieredMemory) -> None:
    """The turns of a fork stand in the prompt under the same ids; their copies in the new session are not recalled."""
    model = ScriptedModel("Lovely.")
    agent = agent_of(tiered, model, checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", "My cat is called Miez")]}, TUESDAY)
    state = agent.get_state(TUESDAY).values["messages"]
    fork: Any = {"configurable": {"thread_id": "fork"}}
    agent.invoke({"messages": [*state, HumanMessage("What is my cat called?")]}, fork)
    agent.invoke({"messages": [("user", "My cat, I mean?")]}, fork)
    assert not any("Miez" in m.text for request in model.sent[1:] for m in request if m.type == "system")


def test_turn_outlives_the_middleware_that_could_not_store_it(tiered: Any) -> None:
    """Servers make a middleware per request: what one could not store, the next one does, in its place and once."""
    transcript: list[Any] = []
    for n, failing in enumerate([False, True, True, False]):
        tiered.failing = failing
        transcript = [*transcript, HumanMessage(f"q{n}")]
        agent_of(tiered, ScriptedModel(f"a{n}")).invoke({"messages": copy.deepcopy(transcript)}, TUESDAY)
        transcript.append(AIMessage(f"a{n}"))
    assert said(tiered) == [text for n in range(4) for text in (f"q{n}", f"a{n}")]


def test_two_memories_of_one_agent_have_tools_of_their_own(tiered: TieredMemory) -> None:
    """What a model wants one of them to remember does not land in the other."""
    team = tiered.for_user("team")
    model = ScriptedModel(calling("remember", text="My salary is 900"), calling("remember_team", text="Tea at 4"), "ok")
    both = [SiltstoneMemoryMiddleware(tiered), SiltstoneMemoryMiddleware(team, name="team", store=False)]
    create_agent(model, middleware=both).invoke({"messages": [("user", "Remember this.")]}, TUESDAY)
    assert [record.text for record in tiered.records(kinds="fact")] == ["My salary is 900"]
    assert [record.text for record in team.records(kinds="fact")] == ["Tea at 4"]
    with pytest.raises(ConfigurationError, match="tools' names"):
        SiltstoneMemoryMiddleware(team, name="团队")
    assert SiltstoneMemoryMiddleware(team, name="团队", tools=False).name == "团队"


def test_tool_of_the_application_does_not_hide_one_of_the_memory(tiered: TieredMemory) -> None:
    """Of two tools with one name an agent keeps the last: that is said, not passed over."""

    @tool
    def remember(text: str) -> str:
        """Remember."""
        return "done"

    agent = create_agent(ScriptedModel("ok"), tools=[remember], middleware=[SiltstoneMemoryMiddleware(tiered)])
    with pytest.raises(ConfigurationError, match="another tool of the agent is named 'remember'"):
        agent.invoke({"messages": [("user", "Hi")]}, TUESDAY)
    named = SiltstoneMemoryMiddleware(tiered, name="long_term")
    agent = create_agent(ScriptedModel("ok"), tools=[remember], middleware=[named])
    assert agent.invoke({"messages": [("user", "Hi")]}, TUESDAY)["messages"][-1].text == "ok"


words = st.sampled_from(["a", "b", "thanks"])


@given(st.lists(st.tuples(words, words), max_size=6), words, st.integers(0, 6))
def test_end_of_a_transcript_and_a_new_question_is_one_new_question(
    turns: list[tuple[str, str]], question: str, window: int
) -> None:
    """Whatever was said how often: of the last turns, sent again behind others, only the question is new."""
    transcript: list[BaseMessage] = []
    for asked, answered in turns:
        transcript += [HumanMessage(asked), AIMessage(answered)]
    stored: list[Message] = [to_message(message) for message in transcript]
    sent = transcript[max(len(transcript) - 2 * window, 0) :]
    named = [m.model_copy(update={"id": f"run-{n}"}) for n, m in enumerate([*sent, HumanMessage(question)])]
    turn = sent_again(named, stored, reaches_back=True)
    assert [message.content for message in turn.new] == [question]
    assert set(turn.known) >= {message.id for message in stored[len(stored) - len(sent) :]}
