"""The real small model behind a server that is killed, sets limits or talks garbage: all is done once in the end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import httpx
from llama_server import LlamaServer
from models import summarizer_at

from malformed import HOPELESS, said
from scripted_server import Answer, Asked, ScriptedServer
from siltstone import TieredMemory
from siltstone.lifecycle.jobs import Job, jobs
from siltstone.testing import FrozenClock

Opened = Callable[..., TieredMemory]

TALK = [
    ("user", "My name is Alice and I live in Lyon."),
    ("assistant", "Nice to meet you, Alice!"),
    ("user", "I have a cat called Pixel."),
    ("assistant", "What a lovely name for a cat."),
]
TAKEN = "json_object"
"""The form of schema that this server takes."""


def form_of(asked: Asked) -> str:
    """Return the form in which a request has its schema."""
    return str(asked.body["response_format"]["type"])


def unfinished(memory: TieredMemory) -> list[Job]:
    """Return the jobs of the memory's user that are not done."""
    return [job for job in jobs(memory.handle.store, memory.user_id) if job.state != "done"]  # type: ignore[attr-defined]


def turns(memory: TieredMemory) -> list[str]:
    """Return what was said in the talk."""
    return [message.content for message in memory.messages("s")]


def learned(memory: TieredMemory) -> list[str]:
    """Return what is known beside the turns."""
    return [record.text for record in memory.records(kinds=["profile", "fact", "event", "summary"])]


def assert_done_once(memory: TieredMemory) -> None:
    """Check that the talk is there, that the model told something of it, and that nothing is left to do."""
    assert turns(memory) == [text for _, text in TALK]
    assert learned(memory)
    assert all(record.support == 1 for record in memory.records(kinds=["profile", "fact", "event"]))
    assert unfinished(memory) == []
    assert memory.consolidate().rows == ()


def test_killed_while_the_model_writes(llama: LlamaServer, opened: Opened, clock: FrozenClock) -> None:
    """After ``kill -9`` the chat goes on, and the span waits; once the model is back, that is taken in once."""
    killed, chatted = threading.Event(), threading.Event()

    def broken_off(asked: Asked) -> Answer:
        """Kill the model when it has begun to write; keep the caller waiting, then send it away for an hour."""
        if form_of(asked) != TAKEN:
            return llama.relay(asked)
        body = {**asked.body, "stream": True}
        try:
            with httpx.stream("POST", f"{llama.url}{asked.path}", json=body, timeout=1800, trust_env=False) as pieces:
                for _ in pieces.iter_lines():
                    llama.kill()
        except httpx.HTTPError:
            killed.set()
            chatted.wait(600)
            return Answer({"error": "the model is gone"}, status=503, headers={"retry-after": "3600"})
        return Answer({"error": "the model had said all"}, status=400)

    answers = [broken_off]
    with ScriptedServer(lambda asked: answers[-1](asked)) as server:
        memory = opened(summarizer_at(server.url))
        memory.add(TALK, session_id="s")
        clock.advance(hours=1)
        run = threading.Thread(target=memory.consolidate)
        run.start()
        assert killed.wait(900)
        memory.add([("user", "And I ride my bike to work.")], session_id="today")
        assert "bike" in memory.search("bike", top_k=1)[0].record.text
        assert "Lyon" in memory.context("Where do I live?", max_tokens=300).text
        assert learned(memory) == []
        chatted.set()
        run.join()
        llama.start()
        (job,) = unfinished(memory)
        assert (job.state, job.attempts) == ("waiting", 1)
        assert "the model is gone" in str(job.error)
        assert turns(memory) == [text for _, text in TALK]
        assert learned(memory) == []
        answers.append(llama.relay)
        assert memory.consolidate().count("digest") == 0
        assert memory.consolidate(retry=True).count("digest") == 1
        assert_done_once(memory)


def test_limits_and_garbage_before_the_first_good_answer(
    llama: LlamaServer, opened: Opened, clock: FrozenClock
) -> None:
    """A limit is waited out; what makes no sense costs an attempt and nothing else; then the digest is taken in."""
    limits = [Answer({"error": "slow down"}, status=429, headers={"retry-after": "0.2"})] * 3
    garbage = [said(text) for text in HOPELESS.values()]

    def relay(asked: Asked) -> Answer:
        if limits:
            return limits.pop()
        return garbage.pop() if garbage and form_of(asked) == TAKEN else llama.relay(asked)

    with ScriptedServer(relay) as server:
        memory = opened(summarizer_at(server.url, retries=0))
        memory.add(TALK, session_id="s")
        clock.advance(hours=1)
        for _ in range(len(garbage)):
            assert memory.consolidate(retry=True).count("fail") == 1
            assert turns(memory) == [text for _, text in TALK]
            assert learned(memory) == []
        assert (limits, garbage) == ([], [])
        assert memory.consolidate(retry=True).count("digest") == 1
        assert_done_once(memory)
