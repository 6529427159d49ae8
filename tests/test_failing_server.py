"""A memory whose model misbehaves in every way seen in the field: nothing is lost, all is retried, nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from malformed import GOOD, HOPELESS, IN_PART, MEAT, READABLE, WORK, said
from scripted_server import Answer, Asked, ScriptedServer
from siltstone import Settings, TieredMemory
from siltstone.compress.llm import LLMSummarizer
from siltstone.lifecycle.jobs import Job, jobs
from siltstone.models.openai import OpenAIChatModel
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

SAID = [
    ("user", "I'm Alice, a front-end engineer in Shenzhen."),
    ("assistant", "Nice to meet you!"),
    ("user", "I no longer eat meat."),
    ("assistant", "Noted. I will keep that in mind."),
]

NO_ANSWER = {
    "empty text": said(""),
    "no text": said(None),
    "filtered": said("…", finish="content_filter"),
    "no choices": Answer({"object": "error"}),
    "a page": Answer("<html>502</html>"),
    "refused": Answer({"error": {"message": "no such model"}}, status=404),
}
AWAY = {
    "overloaded": Answer({"error": "overloaded"}, status=529),
    "limited": Answer({"error": "slow down"}, status=429, headers={"retry-after": "30"}),
    "slow": Answer("", delay=1.0),
}
EVERY = {name: said(text) for name, text in {**READABLE, **IN_PART, **HOPELESS}.items()} | NO_ANSWER | AWAY
NEVER_GOOD = {name: said(text) for name, text in HOPELESS.items()} | NO_ANSWER | AWAY

Opened = Callable[..., TieredMemory]


def model(server: ScriptedServer, patience: float = 60.0) -> OpenAIChatModel:
    """Return the model of a server, which is waited for so many seconds."""
    return OpenAIChatModel("m", server.url, timeout=patience, deadline=patience, backoff=0.01)


def patience_for(answer: Answer) -> float:
    """Return how long to wait for an answer: for one that does not come, not long."""
    return 0.3 if answer in AWAY.values() else 60.0


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that stands still."""
    return FrozenClock("2024-05-08T12:00:00+00:00")


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock) -> Iterator[Opened]:
    """Opens a memory with a summarizer."""
    memories = []

    def open_with(summarizer: LLMSummarizer, **settings: object) -> TieredMemory:
        memory = TieredMemory.open(
            tmp_path / "m",
            embedder=HashEmbedder(),
            token_counter=WordCounter(),
            summarizer=summarizer,
            clock=clock,
            settings=Settings(embed_wait=5.0, **{"span_turns": 4, **settings}),  # type: ignore[arg-type]
        )
        memories.append(memory)
        return memory

    yield open_with
    for memory in memories:
        memory.close()


def known(memory: TieredMemory) -> list[str]:
    """Return what is known beside the turns."""
    return sorted(record.text for record in memory.records(kinds=["profile", "fact", "event"]))


def unfinished(memory: TieredMemory) -> list[Job]:
    """Return the jobs of the memory's user that are not done."""
    return [job for job in jobs(memory.handle.store, memory.user_id) if job.state != "done"]  # type: ignore[attr-defined]


FACTS = sorted([WORK["text"], MEAT["text"]])


@pytest.mark.parametrize("answer", EVERY.values(), ids=EVERY.keys())
def test_whatever_comes_first_the_digest_is_taken_in_once(opened: Opened, clock: FrozenClock, answer: Answer) -> None:
    """After any answer the turns are all there; once the server answers well, so are the facts, each once."""
    with ScriptedServer([answer, said(GOOD)]) as server:
        summarizer = LLMSummarizer(model(server, patience_for(answer)), retries=0)
        memory = opened(summarizer)
        memory.add(SAID, session_id="s")
        memory.consolidate()
        assert [message.content for message in memory.messages("s")] == [text for _, text in SAID]
        summarizer.chat_model = model(server)
        for _ in range(3):
            clock.advance(days=1)
            memory.consolidate()
    assert known(memory) == FACTS
    assert unfinished(memory) == []
    assert all(record.support == 1 for record in memory.records(kinds=["profile", "fact", "event"]))


@pytest.mark.parametrize("answer", NEVER_GOOD.values(), ids=NEVER_GOOD.keys())
def test_a_server_that_never_answers_well_leaves_a_dead_letter(
    opened: Opened, clock: FrozenClock, answer: Answer, request: pytest.FixtureRequest
) -> None:
    """It is listed with what the model had said; the turns stay, and ``retry`` takes the span in later."""
    answers = [answer]
    with ScriptedServer(lambda _: answers[0]) as server:
        summarizer = LLMSummarizer(model(server, patience_for(answer)), retries=0)
        memory = opened(summarizer, retries=1)
        memory.add(SAID, session_id="s")
        for _ in range(3):
            memory.consolidate()
            clock.advance(days=1)
        (job,) = unfinished(memory)
        assert (job.state, job.attempts) == ("dead", 2)
        assert job.raw == HOPELESS.get(request.node.callspec.id, "")
        (letter,) = memory.stats().dead_letters
        assert job.error is not None
        assert job.error in letter
        assert [message.content for message in memory.messages("s")] == [text for _, text in SAID]
        answers[0], summarizer.chat_model = said(GOOD), model(server)
        assert memory.consolidate().rows == ()
        memory.consolidate(retry=True)
    assert known(memory) == FACTS
    assert memory.stats().dead_letters == ()


def test_the_chat_goes_on_while_the_server_keeps_the_model_waiting(opened: Opened) -> None:
    """With a request under way ``add``, ``search`` and ``context`` return; nothing has come of it yet."""
    asked, answer = threading.Event(), threading.Event()

    def hold(_: Asked) -> Answer:
        asked.set()
        answer.wait(30)
        return said(GOOD)

    with ScriptedServer(hold) as server:
        memory = opened(LLMSummarizer(model(server)), worker=True, worker_pause=0.0, close_wait=0.0)
        memory.add(SAID, session_id="s")
        assert asked.wait(30)
        memory.add([("user", "Are you still there?")], session_id="s")
        assert memory.search("engineer", top_k=1)[0].record.text == SAID[0][1]
        assert "Shenzhen" in memory.context("Where do I work?", max_tokens=300).text
        assert known(memory) == []
        answer.set()
