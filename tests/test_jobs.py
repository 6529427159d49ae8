"""Work that models do: leased, retried, never lost, never done twice, and never undoing a forget."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from siltstone import BackendUnavailableError, Digest, DigestItem, Message, ModelError, Settings, TieredMemory
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.compress.llm import LLMSummarizer
from siltstone.lifecycle.jobs import Job, jobs
from siltstone.stores.folder import FolderStore
from siltstone.testing import FrozenClock, HashEmbedder, ScriptedChatModel, WordCounter
from writers import PROCESSES, consolidate_without_end

CANARY = "heliotrope"
SAID = [
    ("user", f"I'm Alice, I live in Lisbon, and my password hint is {CANARY}."),
    ("assistant", "Nice to meet you, Alice."),
    ("user", "I'm allergic to peanuts."),
    ("assistant", "Noted. I will keep that in mind."),
]
ANSWER = json.dumps(
    {
        "topic": "Alice",
        "summary": "Alice lives in Lisbon and is allergic to peanuts.",
        "facts": [
            {"text": "Alice lives in Lisbon", "sources": ["m1"]},
            {"text": "Alice is allergic to peanuts", "sources": ["m3"]},
        ],
        "preferences": [],
        "events": [],
    }
)


class Failing:
    """A summarizer that fails as long as it is told to."""

    name = "failing"

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.calls = 0

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Raise, or return what the rules find."""
        self.calls += 1
        if self.error is not None:
            raise self.error
        return ExtractiveSummarizer().summarize(messages, max_tokens=max_tokens)


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that stands still."""
    return FrozenClock("2024-05-08T12:00:00+00:00")


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock) -> Iterator[Callable[..., TieredMemory]]:
    """Opens the memory of one folder with a summarizer."""
    memories = []

    def open_with(summarizer: object, **settings: object) -> TieredMemory:
        chosen = Settings(embed_wait=5.0, **{"span_turns": 4, **settings})  # type: ignore[arg-type]
        memory = TieredMemory.open(
            tmp_path / "m",
            embedder=HashEmbedder(),
            token_counter=WordCounter(),
            summarizer=summarizer,
            clock=clock,
            settings=chosen,
        )
        memories.append(memory)
        return memory

    yield open_with
    for memory in memories:
        memory.close()


def waiting(memory: TieredMemory) -> list[Job]:
    """Return the jobs of the memory's user that are not done."""
    return [job for job in jobs(memory.handle.store, memory.user_id) if job.state != "done"]  # type: ignore[attr-defined]


def facts(memory: TieredMemory) -> list[str]:
    """Return what is known, without turns and summaries."""
    return sorted(record.text for record in memory.records(kinds=["profile", "fact", "event"]))


class Returning(Failing):
    """A summarizer that returns something until it is told to work."""

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return what was given as its error, whatever that is."""
        if self.error is None:
            return super().summarize(messages, max_tokens=max_tokens)
        return self.error  # type: ignore[return-value]


ITEM = DigestItem("Alice lives in Lisbon", ("m1",))


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "Alice lives in Lisbon.",
        Digest("", None),  # type: ignore[arg-type]
        Digest("", "lone \ud800"),
        Digest("", "", facts=("Alice",)),  # type: ignore[arg-type]
        Digest("", "", events=(dataclasses.replace(ITEM, text=3),)),  # type: ignore[arg-type]
        Digest("", "", events=(dataclasses.replace(ITEM, occurred_at=datetime(2024, 5, 8)),)),
    ],
)
def test_a_digest_that_is_none_is_a_failure(
    opened: Callable[..., TieredMemory], clock: FrozenClock, wrong: Any
) -> None:
    """What a user's summarizer returns is checked; nothing of it is taken in, and it is asked again."""
    summarizer = Returning(wrong)
    summarizer.error = wrong if wrong is not None else ()  # type: ignore[assignment]
    memory = opened(summarizer)
    memory.add(SAID, session_id="s")
    assert memory.consolidate().count("fail") == 1
    assert facts(memory) == []
    summarizer.error = None
    clock.advance(seconds=61)
    assert memory.consolidate().count("digest") == 1


def test_a_summarizer_that_raises_anything_fails_for_its_span_alone(
    opened: Callable[..., TieredMemory], clock: FrozenClock
) -> None:
    """The other spans are digested and summaries rolled up in the same run, and the failures end as a dead letter."""

    class Particular(Failing):
        def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
            if any(CANARY in message.content for message in messages):
                raise KeyError(f"no idea what \ud800 {CANARY} is")
            return ExtractiveSummarizer().summarize(messages, max_tokens=max_tokens)

    memory = opened(Particular(ValueError()), retries=1)
    memory.add(SAID, session_id="s")
    memory.add([*SAID[2:], *SAID[2:]], session_id="t")
    report = memory.consolidate()
    assert (report.count("fail"), report.count("digest")) == (1, 1)
    assert next(row.why for row in report.rows if row.action == "fail").startswith("KeyError: ")
    assert facts(memory) == ["I'm allergic to peanuts"]
    clock.advance(days=1)
    memory.consolidate()
    (job,) = waiting(memory)
    assert (job.state, job.attempts) == ("dead", 2)
    assert len(memory.messages("s")) == len(SAID)


@pytest.mark.parametrize(
    "error", [ModelError("refused"), BackendUnavailableError("429"), RuntimeError("a bug"), OSError(5, "no line")]
)
def test_a_failure_deletes_nothing_and_is_retried_after_a_pause(
    opened: Callable[..., TieredMemory], clock: FrozenClock, error: Exception
) -> None:
    """The span waits, longer after each failure, is not tried in between, and is taken in when the model works."""
    summarizer = Failing(error)
    memory = opened(summarizer)
    memory.add(SAID, session_id="s")
    assert memory.consolidate().count("fail") == 1
    assert memory.consolidate().rows == ()
    (job,) = waiting(memory)
    assert (job.state, job.attempts) == ("waiting", 1)
    assert job.error is not None
    assert str(error) in job.error
    clock.advance(seconds=61)
    assert memory.consolidate().count("fail") == 1
    clock.advance(seconds=61)
    assert memory.consolidate().rows == ()
    clock.advance(seconds=60)
    summarizer.error = None
    assert memory.consolidate().count("digest") == 1
    assert facts(memory) == ["I live in Lisbon", "I'm Alice", "I'm allergic to peanuts"]
    assert waiting(memory) == []
    assert memory.messages("s") != []
    assert summarizer.calls == 3


def test_a_dead_letter_keeps_the_raw_answer_until_it_is_replayed(
    opened: Callable[..., TieredMemory], clock: FrozenClock
) -> None:
    """After too many failures a span is left alone, with what the model said; ``retry`` takes it up again."""
    model = ScriptedChatModel(["no JSON at all, sorry"] * 3 + [ANSWER])
    memory = opened(LLMSummarizer(model, retries=0), retries=2)
    memory.add(SAID, session_id="s")
    for _ in range(5):
        memory.consolidate()
        clock.advance(days=1)
    (job,) = waiting(memory)
    assert (job.state, job.attempts, job.raw) == ("dead", 3, "no JSON at all, sorry")
    assert len(model.calls) == 3
    assert memory.consolidate(dry_run=True, retry=True).count("digest") == 1
    memory.consolidate(retry=True)
    assert "Alice lives in Lisbon" in facts(memory)
    assert waiting(memory) == []


def test_the_extractive_summarizer_stands_in_until_the_model_works(
    opened: Callable[..., TieredMemory], clock: FrozenClock
) -> None:
    """A digest made for a model that failed is marked, and made again by the model later, adding nothing twice."""
    model = ScriptedChatModel([BackendUnavailableError("down"), ANSWER])
    memory = opened(LLMSummarizer(model, fallback=ExtractiveSummarizer()))
    memory.add(SAID, session_id="s")
    memory.consolidate()
    before = list(memory.records(kinds="profile"))
    assert before
    assert all("fallback" in record.flags for record in before)
    (job,) = waiting(memory)
    assert (job.state, job.covers, job.error) == ("waiting", True, "down")
    assert memory.consolidate().rows == ()
    clock.advance(minutes=2)
    assert memory.consolidate().count("digest") == 1
    assert waiting(memory) == []
    assert len(facts(memory)) == len(before)
    assert memory.consolidate().rows == ()


def test_a_local_model_is_a_model(opened: Callable[..., TieredMemory]) -> None:
    """``local`` says that texts stay in the process: a dry run still asks nothing, and a failure waits as a job."""

    class Local(Failing):
        local = True

    summarizer = Local(ModelError("out of memory"))
    memory = opened(summarizer)
    memory.add(SAID, session_id="s")
    assert memory.consolidate(dry_run=True).count("digest") == 1
    assert summarizer.calls == 0
    assert memory.consolidate().count("fail") == 1
    assert [job.state for job in waiting(memory)] == ["waiting"]


def test_another_worker_leaves_a_leased_span_alone(opened: Callable[..., TieredMemory], clock: FrozenClock) -> None:
    """While a model is at work on a span, nobody else starts; when the worker is gone, its lease runs out."""
    entered, go = threading.Event(), threading.Event()

    def slow(messages: Sequence[Message]) -> str:
        entered.set()
        go.wait(30)
        return ANSWER

    model = ScriptedChatModel([slow, ANSWER])
    memory = opened(LLMSummarizer(model))
    memory.add(SAID, session_id="s")
    worker = threading.Thread(target=memory.consolidate)
    worker.start()
    assert entered.wait(30)
    assert memory.consolidate().rows == ()
    assert len(model.calls) == 1
    clock.advance(minutes=6)
    assert memory.consolidate().count("digest") == 1
    known = sorted((record.id, record.version, record.support) for record in memory.records())
    go.set()
    worker.join(30)
    assert sorted((record.id, record.version, record.support) for record in memory.records()) == known
    assert len(model.calls) == 2


@pytest.mark.parametrize("what", ["message", "session", "everything"])
def test_forgetting_while_a_model_is_at_work(opened: Callable[..., TieredMemory], tmp_path: Path, what: str) -> None:
    """What is forgotten during a slow call does not come back with its answer; the rest is digested without it."""
    entered, go = threading.Event(), threading.Event()
    answer = ANSWER.replace("lives in Lisbon", f"lives in Lisbon, hint {CANARY}")

    def slow(messages: Sequence[Message]) -> str:
        entered.set()
        go.wait(30)
        return answer

    rest = json.dumps({**json.loads(ANSWER), "facts": [{"text": "Alice is allergic to peanuts", "sources": ["m2"]}]})
    memory = opened(LLMSummarizer(ScriptedChatModel([slow, rest])))
    ids = memory.add(SAID, session_id="s")
    worker = threading.Thread(target=memory.consolidate)
    worker.start()
    assert entered.wait(30)
    if what == "message":
        memory.forget(ids=[ids[0]])
    elif what == "session":
        memory.forget(session_id="s")
    else:
        memory.forget(everything=True)
    go.set()
    worker.join(30)
    memory.consolidate()
    assert not [path for path in (tmp_path / "m").rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert not any(CANARY in record.text for record in memory.records())
    assert facts(memory) == []  # three turns are no span yet
    assert waiting(memory) == []


def test_a_dead_letter_goes_with_what_it_rests_on(opened: Callable[..., TieredMemory], tmp_path: Path) -> None:
    """A model's raw answer is in no file once one of its messages is forgotten."""
    memory = opened(LLMSummarizer(ScriptedChatModel([f"I cannot digest {CANARY}"]), retries=0))
    ids = memory.add(SAID, session_id="s")
    memory.consolidate()
    assert CANARY in waiting(memory)[0].raw
    memory.forget(ids=[ids[0]])
    assert waiting(memory) == []
    assert not [path for path in (tmp_path / "m").rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_finished_jobs_are_swept(opened: Callable[..., TieredMemory], clock: FrozenClock) -> None:
    """Jobs that are done and cover nothing do not pile up."""
    line = "We spent hour {0} in the workshop with the old boat. " * 5
    talk = [("user" if n % 2 == 0 else "assistant", line.format(n)) for n in range(300)]
    model = Failing(ModelError("x"))
    model.error = None
    memory = opened(model)
    memory.add(talk, session_id="s")
    memory.consolidate()
    assert len(list(jobs(memory.handle.store, memory.user_id))) < 64  # type: ignore[attr-defined]


def test_the_worker_compresses_while_the_talk_goes_on(opened: Callable[..., TieredMemory]) -> None:
    """With ``Settings.worker`` nobody has to call ``consolidate``; ``add`` returns while the model is still at work."""
    entered, go = threading.Event(), threading.Event()

    def slow(messages: Sequence[Message]) -> str:
        entered.set()
        go.wait(30)
        return ANSWER

    memory = opened(LLMSummarizer(ScriptedChatModel([slow])), worker=True, worker_pause=0.0)
    memory.add(SAID, session_id="s")
    assert entered.wait(30)
    memory.add([("user", "Are you still there?")], session_id="s")
    assert facts(memory) == []
    go.set()
    deadline = time.monotonic() + 30
    while not facts(memory) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "Alice lives in Lisbon" in facts(memory)


@pytest.mark.parametrize("stands_in", [False, True], ids=["nobody", "the extractive one"])
def test_the_worker_tries_again_until_the_model_works(tmp_path: Path, stands_in: bool) -> None:
    """After each failure, whose pauses grow, without another write; also where a digest was made without the model."""
    done = threading.Event()

    def works(messages: Sequence[Message]) -> str:
        done.set()
        return ANSWER

    model = ScriptedChatModel([BackendUnavailableError("down")] * 3 + [works])
    with TieredMemory.open(
        tmp_path / "m",
        embedder=HashEmbedder(),
        summarizer=LLMSummarizer(model, fallback=ExtractiveSummarizer() if stands_in else None),
        settings=Settings(span_turns=4, worker=True, worker_pause=0.0, retry_wait=0.05),
    ) as memory:
        memory.add(SAID, session_id="s")
        assert done.wait(60)


def test_the_worker_stops_with_the_memory(opened: Callable[..., TieredMemory]) -> None:
    """Closing waits for the run under way for a bounded time, and leaves what is not done to the next opening."""
    entered, go = threading.Event(), threading.Event()

    def slow(messages: Sequence[Message]) -> str:
        entered.set()
        go.wait(30)
        return ANSWER

    memory = opened(LLMSummarizer(ScriptedChatModel([slow])), worker=True, worker_pause=0.0, close_wait=0.1)
    memory.add(SAID, session_id="s")
    assert entered.wait(30)
    memory.close()
    go.set()
    again = opened(None)
    assert [message.content for message in again.messages("s")] == [text for _, text in SAID]


KILLS = int(os.environ.get("SILTSTONE_KILLS", "20"))


def taken_in(folder: Path) -> int:
    """Return how many messages are covered, none of them twice."""
    store = FolderStore(folder)
    covered = [id for job in jobs(store, "default") if job.covers for id in job.source_ids]
    store.close()
    assert len(covered) == len(set(covered))
    return len(covered)


def test_killed_workers_do_everything_once(tmp_path: Path) -> None:
    """Two workers at a time are killed at random 20 times; in the end every span has been taken in exactly once."""
    folder = tmp_path / "m"
    settings = Settings(span_turns=4, embed_wait=5.0)
    with TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter(), settings=settings) as memory:
        for day in range(KILLS * 6):
            memory.add(
                [
                    ("user", f"I have a dog named Rex{day}. I love jazz."),
                    ("assistant", "What a nice name for a dog that is."),
                    ("user", f"I'm flying to Kyoto{day} on June 3."),
                    ("assistant", "Have a good trip, and take care."),
                ],
                session_id=f"s{day}",
                created_at=f"2024-05-{day % 28 + 1:02}T12:00:00+00:00",
            )
    dice = random.Random(7)
    done = []
    for _ in range(KILLS // 2):
        pipes = [PROCESSES.Pipe(duplex=False) for _ in range(2)]
        workers = [PROCESSES.Process(target=consolidate_without_end, args=(folder, theirs)) for _, theirs in pipes]
        for worker in workers:
            worker.start()
        for ours, _ in pipes:
            ours.recv()
        time.sleep(0.1 + dice.random() * 0.5)
        for worker in workers:
            worker.kill()
            worker.join()
        done.append(taken_in(folder))
    assert len(set(done)) > 2, f"the kills hit no work: {done}"
    with TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter(), settings=settings) as memory:
        memory.consolidate()
        records = [record for record in memory.records() if record.kind in ("profile", "event", "fact")]
        pets = [record.text for record in records if record.topic == "user · pet"]
        assert sorted(pets) == sorted(f"I have a dog named Rex{day}" for day in range(KILLS * 6))
        plans = [record for record in records if record.topic == "user · plan"]
        assert len(plans) == len({record.text for record in plans}) == KILLS * 6
        (jazz,) = [record for record in records if record.topic == "user · like"]
        assert (jazz.support, len(jazz.source_ids)) == (KILLS * 6, KILLS * 6)
        assert all(record.support == 1 for record in records if record is not jazz)
        assert memory.consolidate().rows == ()
    assert taken_in(folder) == KILLS * 24


@pytest.mark.parametrize("state", ["leased", "waiting"])
def test_a_clock_that_was_ahead_stops_nobody(tmp_path: Path, state: str) -> None:
    """A lease or a pause that ends years from now was written by a wrong clock: the job is tried at once."""
    clock = FrozenClock("2034-05-06T09:30:00Z")
    error = BackendUnavailableError("down") if state == "waiting" else KeyboardInterrupt()
    summarizer = Failing(error)  # type: ignore[arg-type]
    settings = Settings(span_idle=0.0, session_idle=0.0)
    with TieredMemory.open(
        tmp_path, embedder=HashEmbedder(), summarizer=summarizer, clock=clock, settings=settings
    ) as memory:
        memory.add(SAID, session_id="s", created_at=datetime.fromisoformat("2024-05-06T09:30:00+00:00"))
        with suppress(KeyboardInterrupt):
            memory.consolidate()
        assert memory.stats().jobs == {state: 1}
        memory.consolidate()
        assert summarizer.calls == 1
        clock.advance(days=-3650)
        summarizer.error = None
        assert "digest" in [row.action for row in memory.consolidate().rows]
