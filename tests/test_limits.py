"""Limits at work, over real HTTP: calls wait for their turn, budgets last across processes, and nothing is lost."""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scripted_server import Answer, ScriptedServer
from siltstone import BackendUnavailableError, InvalidInputError, Message, Settings, TieredMemory
from siltstone.lifecycle.jobs import jobs
from siltstone.models.limits import LimitedChatModel, Limiter, Page, PostponedError
from siltstone.models.usage import Limits, read_usage
from siltstone.stores.folder import FolderStore
from siltstone.testing import FrozenClock, HashEmbedder, ScriptedChatModel, WordCounter
from siltstone.upkeep import verify

SAID = [
    ("user", "I live in Lisbon."),
    ("assistant", "A fine city."),
    ("user", "I'm allergic to peanuts."),
    ("assistant", "I will keep that in mind."),
]
DIGEST = json.dumps(
    {
        "topic": "Alice",
        "summary": "The user lives in Lisbon and is allergic to peanuts.",
        "facts": [{"text": "The user lives in Lisbon", "sources": ["m1"]}],
        "preferences": [],
        "events": [],
    }
)
GOOD = Answer({"choices": [{"message": {"content": DIGEST}, "finish_reason": "stop"}]})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that digests whatever it is asked."""
    with ScriptedServer([GOOD]) as server:
        yield server


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock("2024-05-08T12:00:00+00:00")


@pytest.fixture
def opened(tmp_path: Path, server: ScriptedServer, clock: FrozenClock) -> Iterator[Callable[..., TieredMemory]]:
    """Opens the memory of one folder, its summarizer behind the server."""
    memories = []

    def open_with(where: object = tmp_path / "m", *, url: str | None = None, **settings: Any) -> TieredMemory:
        memory = TieredMemory.open(
            where,  # type: ignore[arg-type]
            embedder=HashEmbedder(),
            token_counter=WordCounter(),
            summarizer=f"openai:small@{url or server.url}",
            clock=clock,
            settings=Settings(embed_wait=5.0, span_turns=4, **settings),
        )
        memories.append(memory)
        return memory

    yield open_with
    for memory in memories:
        memory.close()


def told(memory: TieredMemory, sessions: int) -> None:
    """Give a memory so many sessions of one span each."""
    for number in range(sessions):
        memory.add(SAID, session_id=f"s{number}")


def test_a_spent_budget_keeps_work_until_the_next_day(
    opened: Callable[..., TieredMemory], server: ScriptedServer, clock: FrozenClock
) -> None:
    """What is left over waits without a failure, ``stats`` says so, and it is done when the day (UTC) is over."""
    memory = opened(requests_per_day=2)
    told(memory, 5)
    report = memory.consolidate()
    assert (report.count("digest"), report.count("wait"), report.count("fail")) == (2, 3, 0)
    assert len(server.asked) == 2
    assert memory.consolidate().count("wait") == 3
    stats = memory.stats()
    assert stats.over_budget is not None
    assert "2024-05-09 00:00 UTC" in stats.over_budget
    assert stats.model_usage["requests"] == stats.model_usage["requests_per_day"] == 2
    assert (stats.jobs, stats.dead_letters) == ({}, ())
    clock.advance(hours=11, minutes=59)
    assert memory.consolidate().count("digest") == 0
    clock.advance(minutes=2)
    assert memory.consolidate().count("digest") == 2
    clock.advance(days=1)
    assert memory.consolidate().count("digest") == 1
    assert memory.stats().over_budget is None
    assert len(server.asked) == 5
    assert memory.consolidate().rows == ()


def test_a_budget_of_tokens_counts_requests_and_answers(
    opened: Callable[..., TieredMemory], server: ScriptedServer
) -> None:
    """A span that was begun is finished; the next one finds the budget used up."""
    memory = opened(tokens_per_day=10)
    told(memory, 2)
    report = memory.consolidate()
    assert (report.count("digest"), report.count("wait")) == (1, 1)
    asked = sum(WordCounter().count(turn["content"]) for turn in server.asked[0].body["messages"])
    assert memory.stats().model_usage["tokens"] <= asked + WordCounter().count(DIGEST)
    assert memory.stats().model_usage["tokens"] > WordCounter().count(DIGEST)


def test_a_budget_survives_a_restart(
    opened: Callable[..., TieredMemory], server: ScriptedServer, clock: FrozenClock, tmp_path: Path
) -> None:
    """Whoever opens the store next finds it used up, also one that has no limits set and only looks."""
    memory = opened(requests_per_day=1)
    told(memory, 2)
    memory.consolidate()
    memory.close()
    again = opened(requests_per_day=1)
    assert again.consolidate().count("wait") == 1
    assert len(server.asked) == 1
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), clock=clock, read_only=True) as looking:
        assert looking.stats().over_budget is not None
    assert verify(tmp_path / "m").findings == ()


def test_the_extractive_summarizer_may_stand_in(
    opened: Callable[..., TieredMemory], server: ScriptedServer, clock: FrozenClock
) -> None:
    """With ``over_budget="extractive"`` nothing waits; what it made is marked, and stays."""
    memory = opened(requests_per_day=1, over_budget="extractive")
    told(memory, 3)
    assert memory.consolidate().count("digest") == 3
    assert len(server.asked) == 1
    made = {record.made_by for record in memory.records(kinds=["profile", "fact"])}
    assert "extractive" in made
    clock.advance(days=1)
    assert memory.consolidate().count("digest") == 0


def ask_much(folder: Path, url: str, name: str) -> None:
    """Consolidate a user of a store under a budget, as another process would."""
    with TieredMemory.open(
        folder,
        user_id=name,
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        summarizer=f"openai:small@{url}",
        clock=FrozenClock("2024-05-08T12:00:00+00:00"),
        settings=Settings(span_turns=4, requests_per_day=7),
    ) as memory:
        told(memory, 6)
        memory.consolidate()


def test_processes_of_one_store_share_a_budget(tmp_path: Path, server: ScriptedServer) -> None:
    """Three processes with six spans each ask as often as one may, and as many more as were under way at once."""
    processes = multiprocessing.get_context("spawn")
    workers = [processes.Process(target=ask_much, args=(tmp_path / "m", server.url, name)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert 7 <= len(server.asked) <= 9
    assert read_usage(FolderStore(tmp_path / "m").usage()).requests == len(server.asked)


def limiter(limits: Limits, clock: FrozenClock, slept: list[float], **changes: Any) -> Limiter:
    """Return a limiter whose pauses move the clock instead of taking time."""

    def pause(seconds: float) -> bool:
        slept.append(seconds)
        clock.advance(seconds=seconds)
        return False

    options: dict[str, Any] = {"concurrency": None, "book": Page(), "counter": WordCounter(), "pause": pause, **changes}
    return Limiter(limits, clock=clock, **options)


def test_calls_wait_for_their_turn(clock: FrozenClock) -> None:
    """With six requests a minute one goes every ten seconds, and no pause comes before the first."""
    slept: list[float] = []
    model = LimitedChatModel(ScriptedChatModel(["yes"] * 4), limiter(Limits(requests_per_minute=6), clock, slept))
    for _ in range(3):
        assert model.complete([Message("user", "Well?")]) == "yes"
    assert slept == pytest.approx([10.0, 10.0])


def test_a_turn_that_is_far_off_is_not_waited_for(clock: FrozenClock) -> None:
    """A thread sleeps a minute at most; beyond that the work is put off, and takes nothing from the others."""
    slept: list[float] = []
    book = Page()
    limits = Limits(tokens_per_minute=10)
    model = LimitedChatModel(ScriptedChatModel(["yes"] * 4), limiter(limits, clock, slept, book=book))
    model.complete([Message("user", "word " * 30)])
    before = book.usage()
    with pytest.raises(PostponedError) as caught:
        model.complete([Message("user", "Well?")])
    assert caught.value.until == clock.now() + timedelta(seconds=186)
    assert (book.usage(), slept) == (before, [])


def test_work_that_was_put_off_has_not_failed(
    opened: Callable[..., TieredMemory], server: ScriptedServer, clock: FrozenClock
) -> None:
    """A span whose turn is minutes off waits as a job without an attempt, and is digested when it has come."""
    memory = opened(tokens_per_minute=100)
    told(memory, 2)
    report = memory.consolidate()
    assert (report.count("digest"), report.count("wait"), report.count("fail")) == (1, 1, 0)
    (job,) = [job for job in jobs(memory.handle.store, "default") if job.state != "done"]  # type: ignore[attr-defined]
    assert (job.state, job.attempts, job.covers) == ("waiting", 0, False)
    assert isinstance(job.until, datetime)
    clock.advance(job.until - clock.now())
    assert memory.consolidate().count("digest") == 1
    assert len(server.asked) == 2


def test_only_so_many_calls_are_under_way(clock: FrozenClock) -> None:
    """A third call begins when one of two has come back."""
    entered, go = threading.Semaphore(0), threading.Event()
    most = [0, 0]

    def slow(_: object) -> str:
        most[0] += 1
        most[1] = max(most)
        entered.release()
        assert go.wait(30)
        most[0] -= 1
        return "yes"

    model = LimitedChatModel(ScriptedChatModel([slow] * 5), limiter(Limits(), clock, [], concurrency=2))
    threads = [threading.Thread(target=model.complete, args=([Message("user", "Well?")],)) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert entered.acquire(timeout=30)
    assert entered.acquire(timeout=30)
    assert not entered.acquire(timeout=0.2)
    go.set()
    for thread in threads:
        thread.join(30)
    assert most[1] == 2


def test_closing_does_not_wait_for_a_turn(opened: Callable[..., TieredMemory], server: ScriptedServer) -> None:
    """A worker that sleeps until its turn is woken when the memory is closed, and its span stays due."""
    memory = opened(requests_per_minute=1, worker=True, worker_pause=0.0, close_wait=30.0)
    told(memory, 2)
    _until(lambda: len(server.asked) > 0)
    memory.close()
    assert not memory.handle.condenser.worker._thread.is_alive()  # type: ignore[attr-defined]
    assert len(server.asked) <= 2


def _until(true: Callable[[], bool]) -> None:
    while not true():
        threading.Event().wait(0.01)


def test_the_chat_never_waits(opened: Callable[..., TieredMemory], server: ScriptedServer) -> None:
    """While the worker waits for its turn, ``add``, ``search`` and ``context`` go on, and ask no language model."""
    memory = opened(requests_per_minute=1, worker=True, worker_pause=0.0, close_wait=0.1)
    told(memory, 3)
    _until(lambda: len(server.asked) > 0)
    for number in range(20):
        memory.add([("user", f"I have a dog named Rex{number}.")], session_id=f"t{number}")
        assert memory.search(f"Rex{number}")[0].record.text.endswith(f"Rex{number}.")
        memory.context("Where do I live?", session_id="s0")
    assert len(server.asked) <= 2


def test_a_server_that_asks_for_more_time_than_there_is_gets_it(
    opened: Callable[..., TieredMemory], clock: FrozenClock
) -> None:
    """After 429 with a long Retry-After the stand-in is there at once, and the model is asked again when it said so."""
    busy = Answer({"error": "slow down"}, status=429, headers={"retry-after": "7200"})
    with ScriptedServer([busy, GOOD]) as server:
        memory = opened(":memory:", url=server.url)
        told(memory, 1)
        assert memory.consolidate().count("digest") == 1
        assert len(server.asked) == 1
        for _ in range(4):
            clock.advance(minutes=29)
            assert memory.consolidate().rows == ()
        clock.advance(minutes=5)
        assert memory.consolidate().count("digest") == 1
        assert len(server.asked) == 2
        assert memory.stats().jobs == {}


def test_a_time_limit_reaches_the_model(opened: Callable[..., TieredMemory]) -> None:
    """``model_timeout`` is for one attempt: a server that is slower is given up, and the span kept."""
    with ScriptedServer([Answer("", delay=20.0)]) as server:
        memory = opened(":memory:", url=server.url, model_timeout=0.1)
        told(memory, 1)
        with pytest.raises(BackendUnavailableError, match="allowed"):
            memory.summarizer.chat_model.complete([Message("user", "Well?")])  # type: ignore[attr-defined]
        assert memory.consolidate().count("digest") == 1
        assert memory.stats().jobs == {"waiting": 1}


def test_a_damaged_count_begins_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file of numbers that cannot be read is announced, and costs nothing but the count of the day."""
    store = FolderStore(tmp_path / "m")
    store.turn_usage(lambda page: {"requests": 3})
    (tmp_path / "m" / "USAGE").write_bytes(b"{broken")
    assert store.usage() == {}
    assert "begins anew" in caplog.text
    store.turn_usage(lambda page: {"requests": page.get("requests", 0) + 1})
    assert store.usage() == {"requests": 1}
    store.close()


@pytest.mark.parametrize(
    "wrong", [{"requests_per_day": 0}, {"tokens_per_minute": -1}, {"concurrency": 0}, {"over_budget": "stop"}]
)
def test_limits_that_are_none_are_refused_at_opening(wrong: dict[str, Any]) -> None:
    """A limit is a positive number; what to do beyond it is one of two things."""
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), settings=Settings(**wrong))
