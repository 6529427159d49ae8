"""Summaries of summaries by a language model: leased, retried, and never made twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import long_lives
from scripted_server import Answer, Asked, ScriptedServer
from siltstone import Record, TieredMemory
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.compress.llm import LLMSummarizer
from siltstone.models.openai import OpenAIChatModel
from siltstone.testing import FrozenClock
from writers import PROCESSES, consolidate_with

TOLD = "We spent an hour in the workshop with the boat engine and some tools."
DIGEST = {"topic": "boat", "summary": "They spent hours with the boat engine and some tools.", "facts": [],
          "preferences": [], "events": []}  # fmt: skip
ROLES = ("user", "assistant")
DOWN = Answer("", status=503)


def completion(value: Any) -> Answer:
    """Return the response of a chat endpoint with this text."""
    message = {"role": "assistant", "content": value if isinstance(value, str) else json.dumps(value)}
    return Answer({"choices": [{"message": message, "finish_reason": "stop"}]})


def model(server: ScriptedServer, **options: Any) -> LLMSummarizer:
    """Return a summarizer that asks the server, and waits little."""
    return LLMSummarizer(OpenAIChatModel("m", server.url, backoff=0.01, deadline=0.05), retries=0, **options)


def opened(clock: FrozenClock, folder: Path, summarizer: Any) -> TieredMemory:
    """Open the memory of a folder with a summarizer."""
    return long_lives.opened(clock, folder, summarizer, span_turns=8, retries=2)


@pytest.fixture
def clock() -> FrozenClock:
    """The noon of a Monday."""
    return FrozenClock("2024-05-06T12:00:00+00:00")


@pytest.fixture
def folder(tmp_path: Path, clock: FrozenClock) -> Path:
    """A store in which the two spans of a session are summarised, and the session is over since."""
    with opened(clock, tmp_path / "m", None) as memory:
        memory.add([(ROLES[n % 2], f"{TOLD} Hour {n}.") for n in range(16)], session_id="s")
        memory.consolidate()
    clock.advance(hours=7)
    return tmp_path / "m"


def session_summary(memory: TieredMemory) -> list[Record]:
    """Return the summary of the session, if there is one."""
    return [record for record in memory.records(kinds="summary") if record.level == 1]


def test_a_summary_that_a_model_fails_on_waits_and_becomes_a_dead_letter(folder: Path, clock: FrozenClock) -> None:
    """It is tried again after a pause, not before; after too many failures only on demand; and nothing is lost."""
    with ScriptedServer([DOWN]) as server, opened(clock, folder, model(server)) as memory:
        assert memory.consolidate().count("fail") == 1
        asked = len(server.asked)
        assert memory.consolidate().rows == ()
        assert memory.consolidate(dry_run=True).rows == ()
        assert len(server.asked) == asked
        assert memory.stats().jobs == {"waiting": 1}
        for _ in range(3):
            clock.advance(hours=1)
            memory.consolidate()
        assert memory.stats().jobs == {"dead": 1}
        assert memory.stats().dead_letters[0].startswith("session 's', 3 attempts: ")
        asked = len(server.asked)
        clock.advance(days=2)
        memory.consolidate()
        assert len(server.asked) == asked
        assert len(list(memory.records(kinds="summary"))) == 2
    with ScriptedServer([completion(DIGEST)]) as server, opened(clock, folder, model(server)) as memory:
        memory.consolidate()
        assert server.asked == []
        assert memory.consolidate(retry=True).count("roll up") == 1
        assert [record.made_by for record in session_summary(memory)] == ["m"]
        assert memory.stats().jobs == {}
        assert memory.consolidate(retry=True).rows == ()


def test_a_dead_summary_is_due_again_when_more_was_said(folder: Path, clock: FrozenClock) -> None:
    """What failed was another question: with a further span among its sources it begins anew."""
    with ScriptedServer([DOWN]) as server, opened(clock, folder, model(server)) as memory:
        for _ in range(4):
            memory.consolidate()
            clock.advance(hours=5)
        assert memory.stats().jobs == {"dead": 1}
    with opened(clock, folder, ExtractiveSummarizer()) as memory:
        memory.add([("user", f"{TOLD} Again, hour {n}.") for n in range(8)], session_id="s")
        memory.consolidate()
    clock.advance(hours=7)
    with ScriptedServer([completion(DIGEST)]) as server, opened(clock, folder, model(server)) as memory:
        assert memory.consolidate().count("roll up") == 1
        assert len(session_summary(memory)[0].source_ids) == 3


def test_the_extractive_summarizer_stands_in_for_a_summary_of_summaries(folder: Path, clock: FrozenClock) -> None:
    """It is marked, and made again by the model once that works."""
    fallback = ExtractiveSummarizer()
    with ScriptedServer([DOWN]) as server, opened(clock, folder, model(server, fallback=fallback)) as memory:
        memory.consolidate()
        (record,) = session_summary(memory)
        assert record.flags == ("fallback",)
        assert memory.consolidate().rows == ()
        assert memory.stats().jobs == {"waiting": 1}
    clock.advance(minutes=2)
    with ScriptedServer([completion(DIGEST)]) as server, opened(clock, folder, model(server)) as memory:
        memory.consolidate()
        (again,) = session_summary(memory)
        assert (again.id, again.version, again.made_by, again.flags) == (record.id, 2, "m", ())
        assert memory.stats().jobs == {}
        assert memory.consolidate().rows == ()


def test_a_failed_answer_goes_with_what_it_rests_on(folder: Path, clock: FrozenClock) -> None:
    """What a model answered is kept with the job, and is in no file once a source is forgotten."""
    with (
        ScriptedServer([completion("I cannot, said the heliotrope")]) as server,
        opened(clock, folder, model(server)) as memory,
    ):
        memory.consolidate()
        assert memory.stats().jobs == {"waiting": 1}
        assert [path for path in folder.rglob("*") if path.is_file() and b"heliotrope" in path.read_bytes()]
        memory.forget(ids=[memory.messages("s")[0].id or ""])
        assert memory.stats().jobs == {}
    assert not [path for path in folder.rglob("*") if path.is_file() and b"heliotrope" in path.read_bytes()]


def test_two_processes_ask_for_each_summary_and_reflection_once(tmp_path: Path) -> None:
    """While a model is at work for one process the other leaves that alone, and everything is made once."""
    folder = tmp_path / "m"
    clock = FrozenClock("2024-05-06T12:00:00+00:00")
    with opened(clock, folder, None) as memory:
        for name, place in (("Ada", "attic"), ("Bob", "barn"), ("Cid", "cellar")):
            lines = [(ROLES[n % 2], TOLD.replace("workshop", place) + f" {name}, hour {n}.") for n in range(16)]
            memory.add(lines, session_id=name)
            memory.add([("user", f"I have a dog named {name}{n}.") for n in range(5)], session_id=f"{name}'s")
        clock.advance(hours=1)
        memory.consolidate()
        for n in range(8):
            memory.add([("user", f"I have a cat named Tom{n}.")], session_id=f"cat {n}")
            clock.advance(minutes=31)
            memory.consolidate()
        assert not session_summary(memory)

    def answer(asked: Asked) -> Answer:
        reflecting = "insights" in json.dumps(asked.body["messages"][0])
        body = completion({"insights": [], "stale": []} if reflecting else DIGEST).body
        return Answer(body, delay=0.4)

    with ScriptedServer(answer) as server:
        pipes = [(PROCESSES.Pipe(duplex=False), PROCESSES.Pipe(duplex=False)) for _ in range(2)]
        workers = [
            PROCESSES.Process(target=consolidate_with, args=(server.url, folder, ready[1], go[0]))
            for ready, go in pipes
        ]
        for worker in workers:
            worker.start()
        for ready, _ in pipes:
            ready[0].recv()
        for _, go in pipes:
            go[1].send(None)
        for worker in workers:
            worker.join(120)
            assert worker.exitcode == 0
        questions = [json.dumps(asked.body["messages"]) for asked in server.asked]
    assert len(questions) == len(set(questions))
    with opened(clock, folder, None) as memory:
        made = [record for record in memory.records(kinds="summary") if record.level]
        assert sum(record.level == 1 for record in made) == 3
        assert all(record.version == 1 for record in made)
        assert memory.stats().jobs == {}
    assert sum("insights" in question for question in questions) == 1
