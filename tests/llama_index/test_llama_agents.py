"""SiltstoneMemory and the memory tools in LlamaIndex's agents: each really runs, and what the model got is checked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.tools import FunctionTool
from llama_script import Script, assert_valid, calling, text

from llama_index_siltstone import SiltstoneMemory, SiltstoneToolSpec
from llama_index_siltstone.window import cost
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

pytestmark = [
    # LlamaIndex looks for its steps with inspect.getmembers, which touches pydantic's deprecated attributes.
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince211"),
    # Its ReActAgent asks within a step whether the workflow runs.
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It is sunny in {city}."


def talk(agent: Any, *questions: str, **options: Any) -> list[str]:
    """Run the agent once per question; return its answers."""

    async def run() -> list[str]:
        return [str(await agent.run(question, **options)) for question in questions]

    return asyncio.run(run())


def test_function_agent_is_sent_what_was_said_on_another_day(tiered: TieredMemory) -> None:
    """The fact reaches the model in every round, right before the question, and tool pairs are stored whole."""
    script = Script(calling("weather", city="Shenzhen"), "Sunny.")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    agent = FunctionAgent(llm=script.model, tools=[weather], streaming=False)
    assert talk(agent, "What is the weather where I work?", memory=memory) == ["Sunny."]
    for request in script.sent:
        assert "a front-end engineer in Shenzhen" in text(request)
        assert_valid(request)
    assert [m.role.value for m in memory.get_all()] == ["user", "assistant", "tool", "assistant"]
    assert_valid(memory.get_all())


def test_tool_pairs_of_earlier_turns_come_back_whole(tiered: TieredMemory) -> None:
    """The next run's request holds the call and its result, in their order, with the ids that join them."""
    script = Script(calling("weather", city="Shenzhen"), "Sunny.", "You asked about Shenzhen.")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    agent = FunctionAgent(llm=script.model, tools=[weather], streaming=False)
    talk(agent, "What is the weather where I work?", "Which city was that?", memory=memory)
    request = script.sent[-1]
    assert_valid(request)
    assert [m.role.value for m in request] == ["user", "assistant", "tool", "assistant", "user"]
    assert request[2].content == "It is sunny in Shenzhen."


class CountingMemory(TieredMemory):
    """A memory that counts how often it is asked for a context."""

    asked = 0

    async def acontext(self, *args: Any, **options: Any) -> Any:
        """Count, and answer as usual."""
        self.asked += 1
        return await super().acontext(*args, **options)


def test_recall_happens_once_per_turn_of_an_agent(folder: Path) -> None:
    """The rounds of one run ask for the same recall: the store is searched once, until something is written."""
    script = Script(calling("weather", city="Shenzhen"), calling("weather", city="Berlin"), "Sunny.")
    with CountingMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter()) as tiered:
        tiered.add([("user", "I'm Alice, a front-end engineer in Shenzhen.")], session_id="monday")
        memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
        agent = FunctionAgent(llm=script.model, tools=[weather], streaming=False)
        talk(agent, "What is the weather where I work?", memory=memory)
        assert len(script.sent) == 3
        assert len({request[0].blocks[0].text for request in script.sent}) == 1  # type: ignore[union-attr]
        assert tiered.asked == 2  # for the rounds; and when the agent reads the turn that it has stored
        memory.put(ChatMessage("I moved to Berlin."))
        assert "Berlin" in text(memory.get(input="Where do I live?"))


def agents_of(kind: str, script: Script) -> Any:
    """Return an agent with a tool, or two that hand over."""
    options: dict[str, Any] = {"llm": script.model, "streaming": False}
    if kind == "FunctionAgent":
        return FunctionAgent(tools=[weather], **options)
    if kind == "ReActAgent":
        return ReActAgent(tools=[FunctionTool.from_defaults(weather)], **options)
    host = FunctionAgent(name="host", description="Talks.", can_handoff_to=["other"], **options)
    other = FunctionAgent(name="other", description="Knows the weather.", tools=[weather], **options)
    return AgentWorkflow(agents=[host, other], root_agent="host")


@pytest.mark.parametrize("kind", ["FunctionAgent", "ReActAgent", "AgentWorkflow"])
def test_agents_keep_to_the_limit_with_whole_pairs(tiered: TieredMemory, kind: str) -> None:
    """After a long talk with a tool's round at its end: the fact, the pair, and no token more than the limit."""
    limit = 200
    answer = "Thought: I can answer.\nAnswer: In Shenzhen." if kind == "ReActAgent" else "In Shenzhen."
    without, script = Script(answer), Script(answer)
    nothing = SiltstoneMemory.from_defaults(tiered.for_user("nobody"), recall_share=0)
    talk(agents_of(kind, without), "In which city do I work?", memory=nothing)

    tiered.add([("user", "A question. " * 9), ("assistant", "An answer. " * 9)] * 20, session_id="tuesday")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday", token_limit=limit)
    result = ChatMessage("Sunny there.", role="tool", additional_kwargs={"tool_call_id": "call-weather"})
    memory.put_messages([ChatMessage("Weather?"), calling("weather", city="Rome"), result])
    memory.put(ChatMessage("Sunny.", role="assistant"))
    assert talk(agents_of(kind, script), "In which city do I work?", memory=memory) == ["In Shenzhen."]

    (request,) = script.sent
    assert "a front-end engineer in Shenzhen" in text(request)
    assert "Sunny there." in text(request)
    assert_valid(request)
    own = cost(without.sent[0], tiered.token_counter)  # the agent's prompt and the question
    assert cost(request, tiered.token_counter) <= limit + own


def test_transcript_passed_with_every_run_is_stored_once(tiered: TieredMemory) -> None:
    """``run(chat_history=…)`` sends the whole transcript each time; only what is new in it is stored."""
    script = Script("One.", "Two.", "Three.")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    agent = FunctionAgent(llm=script.model, tools=[weather], streaming=False)
    history: list[ChatMessage] = []
    for question in ("First?", "Second?", "Third?"):
        (answer,) = talk(agent, question, memory=memory, chat_history=list(history))
        history += [ChatMessage(question), ChatMessage(answer, role="assistant")]
    said = [(m.role, m.content) for m in tiered.messages("tuesday")]
    assert said == [
        ("user", "First?"), ("assistant", "One."), ("user", "Second?"), ("assistant", "Two."),
        ("user", "Third?"), ("assistant", "Three."),
    ]  # fmt: skip


def test_state_prompt_of_an_agent_is_not_stored(tiered: TieredMemory) -> None:
    """An agent with a state writes it into the message it got; the stored turn stays what the user said."""
    script = Script("All right.")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    agent = FunctionAgent(llm=script.model, tools=[weather], streaming=False, initial_state={"mood": "glad"})
    talk(agent, "Hello there", "How are you?", memory=memory)
    assert "glad" in text(script.sent[0])
    assert [m.content for m in memory.get_all() if m.role == MessageRole.USER] == ["Hello there", "How are you?"]


@pytest.mark.parametrize("system_prompt", [None, "You are a helper."])
def test_react_agent_is_sent_what_was_said_on_another_day(tiered: TieredMemory, system_prompt: str | None) -> None:
    """Placed before the user turn, recalled text reaches a ReAct agent with and without a system prompt."""
    script = Script(
        'Thought: I need a tool.\nAction: weather\nAction Input: {"city": "Shenzhen"}',
        "Thought: I can answer.\nAnswer: Sunny.",
    )
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    agent = ReActAgent(
        llm=script.model, tools=[FunctionTool.from_defaults(weather)], streaming=False, system_prompt=system_prompt
    )
    assert talk(agent, "What is the weather where I work?", memory=memory) == ["Sunny."]
    for request in script.sent:
        assert "a front-end engineer in Shenzhen" in text(request)


def test_react_agent_does_not_store_what_its_tool_recalled(tiered: TieredMemory) -> None:
    """A ReAct agent keeps its observations as its own words; what was recalled in them is taken out."""
    script = Script(
        'Thought: I look it up.\nAction: search_memory\nAction Input: {"query": "engineer"}',
        "Thought: I can answer.\nAnswer: In Shenzhen.",
    )
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    agent = ReActAgent(llm=script.model, tools=SiltstoneToolSpec(tiered).to_tool_list(), streaming=False)
    talk(agent, "What am I?", memory=memory)
    stored = "\n".join(message.content for message in tiered.messages("tuesday"))
    assert "Answer: In Shenzhen." in stored
    assert "front-end" not in stored


def test_agents_handing_over_share_one_conversation(tiered: TieredMemory) -> None:
    """In an AgentWorkflow the second agent gets the fact, the question and the first agent's tool talk, valid."""
    script = Script(
        calling("handoff", to_agent="forecaster", reason="It knows the weather."),
        calling("weather", city="Shenzhen"),
        "Sunny.",
        "It was sunny.",
    )
    host = FunctionAgent(
        name="host", description="Talks.", llm=script.model, streaming=False, can_handoff_to=["forecaster"]
    )
    forecaster = FunctionAgent(
        name="forecaster", description="Knows the weather.", llm=script.model, tools=[weather], streaming=False
    )
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    workflow = AgentWorkflow(agents=[host, forecaster], root_agent="host")
    assert talk(workflow, "What is the weather where I work?", "And then?", memory=memory) == [
        "Sunny.",
        "It was sunny.",
    ]
    for request in script.sent:
        assert "a front-end engineer in Shenzhen" in text(request)
        assert_valid(request)
    assert_valid(memory.get_all())


def test_agent_searches_remembers_and_forgets_by_its_tools(tiered: TieredMemory) -> None:
    """The agent finds the fact, stores another, and deletes one by the id that it was shown."""
    (record_id,) = [r.id for r in tiered.records() if "engineer" in r.text]
    script = Script(
        calling("search_memory", query="engineer"),
        calling("remember", text="Alice prefers tea.", kind="profile"),
        calling("forget", memory_id=record_id),
        "Done.",
    )
    agent = FunctionAgent(llm=script.model, tools=SiltstoneToolSpec(tiered).to_tool_list(), streaming=False)
    talk(agent, "Tidy up what you know of me.")
    assert f"[{record_id}]" in text(script.sent[1])
    assert [r.text for r in tiered.records(kinds="profile")] == ["Alice prefers tea."]
    assert not any("engineer" in record.text for record in tiered.records())


def test_agent_recalls_in_chinese(tiered: TieredMemory) -> None:
    """A Chinese fact of another day reaches the model for a Chinese question."""
    tiered.add([("user", "我叫张三，是深圳的前端工程师。")], session_id="星期一")
    script = Script("你是前端工程师。")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="星期二")
    talk(
        FunctionAgent(llm=script.model, tools=[weather], streaming=False), "我叫什么名字？我是做什么的？", memory=memory
    )
    assert "我叫张三，是深圳的前端工程师。" in text(script.sent[0])
