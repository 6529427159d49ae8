"""SiltstoneMemoryBlock inside LlamaIndex's own Memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_script import Script, assert_valid, calling, text

from llama_index_siltstone import SiltstoneMemoryBlock, SiltstoneRetriever
from siltstone import TieredMemory
from siltstone.text.guard import CLOSE, OPEN

pytestmark = [
    # LlamaIndex looks for its steps with inspect.getmembers, which touches pydantic's deprecated attributes.
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince211"),
    # ReActAgent asks so in each step.
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It is sunny in {city}."


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


def test_block_stores_a_long_conversation(tiered: TieredMemory, with_block: Callable[..., Any]) -> None:
    """A hundred turns are a hundred stored turns, in order."""
    engine = SimpleChatEngine.from_defaults(llm=Script("ok").model, memory=with_block(token_limit=400))
    for n in range(100):
        engine.chat(f"Question {n}?")
    said = [message.content for message in tiered.messages("tuesday") if message.role == "user"]
    assert said == [f"Question {n}?" for n in range(100)]


def test_blocks_that_see_the_same_at_once_store_it_once(tiered: TieredMemory) -> None:
    """Several memories of one conversation, as of several requests, ask and hand over at once: nothing is doubled."""
    queue = [ChatMessage("First?"), ChatMessage("One.", role="assistant"), ChatMessage("Second?")]

    async def ask(n: int) -> None:
        block = SiltstoneMemoryBlock(tiered, session_id="tuesday")
        await (block.aget(queue, session_id="tuesday") if n % 2 else block.aput(queue))

    async def all_at_once() -> None:
        await asyncio.gather(*(ask(n) for n in range(8)))

    asyncio.run(all_at_once())
    assert [message.content for message in tiered.messages("tuesday")] == ["First?", "One.", "Second?"]


def test_block_serves_an_agent(tiered: TieredMemory, with_block: Callable[..., Any]) -> None:
    """In a FunctionAgent with a tool the fact is in each request, pairs are whole, and the turns are stored once."""
    script = Script(calling("weather", city="Shenzhen"), "Sunny.", "Yes.")
    agent = FunctionAgent(llm=script.model, tools=[weather], streaming=False)

    async def talk() -> None:
        memory = with_block()
        for question in ("What is the weather where I work?", "Really, where I work?"):
            await agent.run(question, memory=memory)

    asyncio.run(talk())
    for request in script.sent:
        assert "a front-end engineer in Shenzhen" in text(request)
        assert_valid([message for message in request if message.role != MessageRole.SYSTEM])
    roles = [message.role for message in tiered.messages("tuesday")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


@pytest.mark.parametrize("kind", [FunctionAgent, ReActAgent])
def test_question_is_stored_once_however_many_tools_answer_it(
    tiered: TieredMemory, with_block: Callable[..., Any], kind: type[FunctionAgent] | type[ReActAgent]
) -> None:
    """An agent asks with its question again after each tool round; said twice by the user, it is two turns."""
    words = 'Thought: I need a tool.\nAction: weather\nAction Input: {"city": "Rome"}'
    step = calling("weather", city="Rome") if kind is FunctionAgent else words

    async def talk() -> None:
        memory = with_block()
        for _ in range(2):
            script = Script(step, step, "Thought: I can answer.\nAnswer: Hot.")
            await kind(llm=script.model, tools=[weather], streaming=False).run("And in Rome?", memory=memory)
        await memory.aget()

    asyncio.run(talk())
    assert [m.content for m in tiered.messages("tuesday") if m.role == "user"] == ["And in Rome?"] * 2


def test_question_handed_over_before_its_turn_is_stored_once(
    tiered: TieredMemory, with_block: Callable[..., Any]
) -> None:
    """Engines that ask with the question before they put it into the queue double nothing, same words or not."""
    script, notes = Script("ok"), SiltstoneRetriever(tiered)
    engine = ContextChatEngine.from_defaults(retriever=notes, llm=script.model, memory=with_block())
    for question in ("ok", "ok", "And now?"):
        engine.chat(question)
    said = [(message.role, message.content) for message in tiered.messages("tuesday")]
    assert said == [("user", "ok"), ("assistant", "ok")] * 2 + [("user", "And now?")]


def test_block_serves_agents_that_hand_over(tiered: TieredMemory, with_block: Callable[..., Any]) -> None:
    """The second agent asks for the first one's question with tool talk in between: it is stored once."""
    script = Script(
        calling("handoff", to_agent="forecaster", reason="It knows."), calling("weather", city="Rome"), "Hot."
    )
    host = FunctionAgent(
        name="host", description="Talks.", llm=script.model, streaming=False, can_handoff_to=["forecaster"]
    )
    forecaster = FunctionAgent(
        name="forecaster", description="Knows the weather.", llm=script.model, tools=[weather], streaming=False
    )

    async def talk() -> None:
        workflow = AgentWorkflow(agents=[host, forecaster], root_agent="host")
        await workflow.run("What is the weather where I work?", memory=with_block())

    asyncio.run(talk())
    for request in script.sent:
        assert "a front-end engineer in Shenzhen" in text(request)
    assert [m.content for m in tiered.messages("tuesday") if m.role == "user"] == ["What is the weather where I work?"]


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
