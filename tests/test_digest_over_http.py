"""Digests over a real HTTP server that misbehaves in every way seen in the field: nothing is lost, all is retried."""

from __future__ import annotations

from typing import Any

import pytest

from malformed import GOOD, HOPELESS, READABLE, said
from scripted_server import Answer, ScriptedServer
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.compress.llm import LLMSummarizer
from siltstone.errors import BackendUnavailableError
from siltstone.models.openai import OpenAIChatModel
from siltstone.records import Message

TALK = [
    Message("user", "I'm Alice, a front-end engineer in Shenzhen.", id="a"),
    Message("assistant", "Nice to meet you!", id="b"),
    Message("user", "I no longer eat meat.", id="c"),
]


def model(server: ScriptedServer, **options: Any) -> OpenAIChatModel:
    """Return a client of the server that waits little."""
    return OpenAIChatModel("m", server.url, **{"backoff": 0.01, "timeout": 2.0, "deadline": 2.0, **options})


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE.keys())
def test_malformed_answers_are_read_at_once(text: str) -> None:
    """What tolerance can read needs no second request."""
    with ScriptedServer([said(text)]) as server:
        digest = LLMSummarizer(model(server)).summarize(TALK)
        assert [item.source_ids for item in digest.facts + digest.preferences] == [("a",), ("c",)]
        assert len(server.asked) == 1


@pytest.mark.parametrize("text", HOPELESS.values(), ids=HOPELESS.keys())
def test_hopeless_answers_are_asked_for_again(text: str) -> None:
    """A bad answer costs a try; the next good one is the digest, and the error was told to the model."""
    with ScriptedServer([said(text), said(GOOD)]) as server:
        digest = LLMSummarizer(model(server)).summarize(TALK)
        assert digest.topic == "Alice"
        assert server.asked[1].body["messages"][-2] == {"role": "assistant", "content": text}


def test_a_server_that_only_talks_nonsense_ends_in_the_dead_letters() -> None:
    """After the last try the raw answer is kept, and with a fallback the digest comes all the same."""
    with ScriptedServer([said("nonsense")]) as server:
        summarizer = LLMSummarizer(model(server), fallback=ExtractiveSummarizer())
        digest = summarizer.summarize(TALK)
        assert (digest.flags, len(server.asked)) == (("fallback",), 3)
        assert digest.raw == "nonsense"


def test_a_server_that_limits_its_rate_is_waited_for() -> None:
    """429 with Retry-After is no failure of the digest."""
    limited = Answer({"error": "slow down"}, status=429, headers={"retry-after": "0.05"})
    with ScriptedServer([limited, limited, said(GOOD)]) as server:
        assert LLMSummarizer(model(server)).summarize(TALK).topic == "Alice"
        assert len(server.asked) == 3


@pytest.mark.parametrize("answer", [Answer("", status=503), Answer("", delay=5.0)], ids=["down", "slow"])
def test_a_server_that_is_away_changes_nothing(answer: Answer) -> None:
    """Down or too slow: the error says so, nothing is replaced, and the same call works once it is back."""
    with ScriptedServer([answer]) as server:
        summarizer = LLMSummarizer(model(server, timeout=0.2, deadline=0.5))
        with pytest.raises(BackendUnavailableError):
            summarizer.summarize(TALK)
    with ScriptedServer([said(GOOD)]) as server:
        summarizer.chat_model = model(server)
        assert summarizer.summarize(TALK).topic == "Alice"
