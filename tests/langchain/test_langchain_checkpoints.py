"""Agents with the middleware and a checkpointer on disk: over threads, over processes, and several at once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed")

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, messages_from_dict
from langchain_core.tools import tool
from langchain_script import ScriptedModel, assert_valid, text
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langchain_siltstone import SiltstoneMemoryMiddleware
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

FACT = "I'm Alice, a front-end engineer in Shenzhen."
TUESDAY: Any = {"configurable": {"thread_id": "tuesday"}}
QUESTION = "Weather where I work, as a front-end engineer?"
BUDGET = 60
"""Tokens of what the middleware recalls here: less than all that there is to recall."""
PETS = {"cat": "Lisbon", "parrot": "Oslo", "horse": "Turin", "turtle": "Kyoto", "rabbit": "Quito", "snake": "Perth"}

PROGRAM = textwrap.dedent(
    """
    import json, sys
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.messages import messages_to_dict
    from langchain_core.tools import tool
    from langchain_script import ScriptedModel, calling
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.types import Command
    from langchain_siltstone import SiltstoneMemoryMiddleware
    from siltstone import TieredMemory
    from siltstone.testing import HashEmbedder, WordCounter

    @tool
    def weather(city: str) -> str:
        "Tell the weather of a city."
        return f"It is sunny in {city}."

    folder, checkpoints, budget, steps = *sys.argv[1:3], int(sys.argv[3]), json.loads(sys.argv[4])
    sent = []
    with (
        SqliteSaver.from_conn_string(checkpoints) as saver,
        TieredMemory.open(folder, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter()) as memory,
    ):
        for step in steps:
            answers = [calling("weather", city=a["city"]) if isinstance(a, dict) else a for a in step["answers"]]
            model = ScriptedModel(*answers)
            middleware = [SiltstoneMemoryMiddleware(memory, tools=False, max_tokens=budget)]
            if step.get("approval"):
                middleware.append(HumanInTheLoopMiddleware(interrupt_on={"weather": True}))
            agent = create_agent(model, tools=[weather], middleware=middleware, checkpointer=saver)
            said = {"messages": [("user", step["question"])]} if "question" in step else Command(
                resume={"decisions": [{"type": "approve"}]}
            )
            agent.invoke(said, {"configurable": {"thread_id": step["thread"]}})
            sent += [messages_to_dict(request) for request in model.sent]
    print(json.dumps(sent))
    """
)


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It is sunny in {city}."


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    """The database of the checkpointer."""
    return tmp_path / "checkpoints.sqlite"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store in which Alice introduced herself on Monday, and said much else."""
    folder = tmp_path / "memory"
    with opened(folder) as memory:
        memory.add([("user", FACT), ("assistant", "Nice to meet you, Alice!")], session_id="monday")
        memory.add([("user", f"An engineer told me joke {n}, a long one.") for n in range(30)], session_id="jokes")
    return folder


@pytest.fixture
def memory(folder: Path) -> Iterator[TieredMemory]:
    """That store, open in this process."""
    with opened(folder) as memory:
        yield memory


def opened(folder: Path) -> TieredMemory:
    """Open Alice's store."""
    return TieredMemory.open(folder, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter())


def in_another_process(folder: Path, checkpoints: Path, *steps: dict[str, Any]) -> list[list[BaseMessage]]:
    """Run an agent step by step in a Python of its own; return what its model was sent."""
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    arguments = [str(folder), str(checkpoints), str(BUDGET), json.dumps(steps)]
    ran = subprocess.run(
        [sys.executable, "-c", here + PROGRAM, *arguments], capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return [messages_from_dict(request) for request in json.loads(ran.stdout)]


def on_disk(checkpoints: Path) -> bytes:
    """Return the bytes of the database, its journals included."""
    return b"".join(path.read_bytes() for path in checkpoints.parent.glob(f"{checkpoints.name}*"))


def agent_of(memory: TieredMemory, model: ScriptedModel, saver: Any) -> Any:
    """Return an agent with a tool, the memory and the checkpointer."""
    middleware = [SiltstoneMemoryMiddleware(memory, tools=False, max_tokens=BUDGET)]
    return create_agent(model, tools=[weather], middleware=middleware, checkpointer=saver)


def assert_remembered(request: list[BaseMessage]) -> None:
    """Check that the fact is in the system message alone, within its budget, and that each tool pair is whole."""
    system, *rest = request
    assert FACT in str(system.text)
    assert WordCounter().count(str(system.text)) <= BUDGET
    assert "<siltstone_memory>" not in text(rest)
    assert_valid(rest)


@pytest.mark.slow
def test_threads_go_on_in_another_process(folder: Path, checkpoints: Path) -> None:
    """The second process has a thread's turns from the checkpointer, and from the memory what other sessions said."""
    in_another_process(
        folder,
        checkpoints,
        {"thread": "tuesday", "question": QUESTION, "answers": [{"city": "Shenzhen"}, "Sunny."]},
        {"thread": "evening", "question": "My cat is called Miez.", "answers": ["Noted."]},
    )
    again, elsewhere = in_another_process(
        folder,
        checkpoints,
        {"thread": "tuesday", "question": "And who am I, a front-end engineer?", "answers": ["Alice."]},
        {"thread": "wednesday", "question": "What is my cat called?", "answers": ["Miez."]},
    )
    assert_remembered(again)
    assert [m.type for m in again] == ["system", "human", "ai", "tool", "ai", "human"]
    system, *rest = elsewhere
    assert "My cat is called Miez." in str(system.text)
    assert [m.text for m in rest] == ["What is my cat called?"]
    with opened(folder) as memory:
        roles = [m.role for m in memory.messages("tuesday")]
        assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


@pytest.mark.slow
def test_what_was_recalled_is_in_no_byte_of_the_checkpoints(folder: Path, checkpoints: Path) -> None:
    """The database holds the thread's own turns and nothing recalled; forgotten, the fact reaches no later prompt."""
    step = {"thread": "tuesday", "question": QUESTION, "answers": [{"city": "Lisbon"}, "Sunny."]}
    for request in in_another_process(folder, checkpoints, step):
        assert_remembered(request)
    assert QUESTION.encode() in on_disk(checkpoints)
    for injected in (b"I'm Alice", b"Shenzhen", b"siltstone_memory", b"told me joke"):
        assert injected not in on_disk(checkpoints)
    model = ScriptedModel("Sunny again.")
    with opened(folder) as memory, SqliteSaver.from_conn_string(str(checkpoints)) as saver:
        memory.forget(session_id="monday")
        agent_of(memory, model, saver).invoke({"messages": [("user", QUESTION)]}, TUESDAY)
    assert len(model.sent[0]) == 6  # the system message, and the thread's turns from the other process
    assert "Alice" not in text(model.sent[0])


@pytest.mark.slow
def test_a_run_that_waits_for_approval_goes_on_in_another_process(folder: Path, checkpoints: Path) -> None:
    """The process that resumes recalls again, since no checkpoint holds it, and stores the whole turn once."""
    asks = {"thread": "tuesday", "question": QUESTION, "answers": [{"city": "Lisbon"}], "approval": True}
    in_another_process(folder, checkpoints, asks)
    (request,) = in_another_process(folder, checkpoints, {"thread": "tuesday", "answers": ["Sunny."], "approval": True})
    assert_remembered(request)
    assert [m.type for m in request] == ["system", "human", "ai", "tool"]
    assert b"Shenzhen" not in on_disk(checkpoints)
    with opened(folder) as memory:
        assert [m.role for m in memory.messages("tuesday")] == ["user", "assistant", "tool", "assistant"]


def test_a_turn_that_the_memory_could_not_take_comes_from_the_checkpointer(tiered: Any, checkpoints: Path) -> None:
    """A process that ends while the store is away loses no turn: the thread's state still has it for the next one."""
    with SqliteSaver.from_conn_string(str(checkpoints)) as saver:
        tiered.failing = True
        agent_of(tiered, ScriptedModel("One."), saver).invoke({"messages": [("user", "First?")]}, TUESDAY)
        tiered.failing = False
        agent_of(tiered, ScriptedModel("Two."), saver).invoke({"messages": [("user", "Second?")]}, TUESDAY)
    assert [m.content for m in tiered.messages("tuesday")] == ["First?", "One.", "Second?", "Two."]


def test_many_threads_at_once_over_one_store(memory: TieredMemory, checkpoints: Path) -> None:
    """Six threads of one agent, two turns each, all at once: each is sent its own fact and stored whole, in order."""
    add_pets(memory)
    model = ScriptedModel("There.")
    with SqliteSaver.from_conn_string(str(checkpoints)) as saver:
        agent = agent_of(memory, model, saver)

        def talk(pet: str) -> None:
            for question in questions(pet):
                agent.invoke({"messages": [("user", question)]}, {"configurable": {"thread_id": pet}})

        with ThreadPoolExecutor(len(PETS)) as pool:
            list(pool.map(talk, PETS))
    assert_apart(model.sent, memory)
    assert b"Lives in" not in on_disk(checkpoints)


def test_many_threads_at_once_in_one_event_loop(memory: TieredMemory, checkpoints: Path) -> None:
    """The same by ``ainvoke`` and an async checkpointer."""
    add_pets(memory)
    model = ScriptedModel("There.")

    async def talk(agent: Any, pet: str) -> None:
        for question in questions(pet):
            await agent.ainvoke({"messages": [("user", question)]}, {"configurable": {"thread_id": pet}})

    async def all_at_once() -> None:
        async with AsyncSqliteSaver.from_conn_string(str(checkpoints)) as saver:
            agent = agent_of(memory, model, saver)
            await asyncio.gather(*(talk(agent, pet) for pet in PETS))

    asyncio.run(all_at_once())
    assert_apart(model.sent, memory)
    assert b"Lives in" not in on_disk(checkpoints)


@pytest.mark.slow
def test_processes_that_talk_at_once_lose_nothing(folder: Path, tmp_path: Path) -> None:
    """Three processes, each with a thread and checkpoints of its own, over one user's store at the same time."""
    with opened(folder) as memory:
        add_pets(memory)

    def talk(pet: str) -> list[list[BaseMessage]]:
        steps = [{"thread": pet, "question": question, "answers": ["There."]} for question in questions(pet)]
        return in_another_process(folder, tmp_path / f"{pet}.sqlite", *steps)

    pets = list(PETS)[:3]
    with ThreadPoolExecutor(3) as pool:
        sent = [request for requests in pool.map(talk, pets) for request in requests]
    with opened(folder) as memory:
        assert_apart(sent, memory, pets)


def add_pets(memory: TieredMemory) -> None:
    """Tell the memory where each pet lives."""
    for pet, city in PETS.items():
        memory.add([("user", f"My {pet}? Lives in {city}.")], session_id=f"about the {pet}")


def questions(pet: str) -> list[str]:
    """Return what is asked in the thread of a pet."""
    return [f"Where does my {pet} live?", f"And does the {pet} like it?"]


def assert_apart(sent: list[list[BaseMessage]], memory: TieredMemory, pets: Collection[str] = tuple(PETS)) -> None:
    """Check that each request has what is known of its pet, and each session its own two turns and no others."""
    assert len(sent) == 2 * len(pets)
    for system, *rest in sent:
        pet = next(pet for pet in pets if pet in text(rest))
        assert f"Lives in {PETS[pet]}." in str(system.text)
        assert WordCounter().count(str(system.text)) <= BUDGET
        assert [m.text for m in rest if m.type == "human"] == questions(pet)[: (len(rest) + 1) // 2]
    for pet in pets:
        first, second = questions(pet)
        assert [m.content for m in memory.messages(pet)] == [first, "There.", second, "There."]


def test_two_runs_of_one_thread_at_once_are_both_stored(memory: TieredMemory, checkpoints: Path) -> None:
    """Which of two concurrent runs a checkpointer keeps is its affair: the memory keeps the turns of both."""
    with SqliteSaver.from_conn_string(str(checkpoints)) as saver:
        agent = agent_of(memory, ScriptedModel("Yes."), saver)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: agent.invoke({"messages": [("user", f"Question {n}?")]}, TUESDAY), range(4)))
    asked = sorted(m.content for m in memory.messages("tuesday") if m.role == "user")
    assert asked == [f"Question {n}?" for n in range(4)]
