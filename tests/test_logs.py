"""What goes into a log: what failed and where, and no words that somebody said."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from scripted_server import Answer, ScriptedServer
from siltstone import Message, Settings, TieredMemory
from siltstone.errors import BackendUnavailableError, ModelError, for_log
from siltstone.lifecycle.asking import answered
from siltstone.models.duck import chat_model_of, embedder_of
from siltstone.models.ollama import OllamaChatModel
from siltstone.models.openai import OpenAIChatModel, OpenAIEmbedder
from siltstone.models.rerank import HttpReranker

WORDS = "Alice is allergic to peanuts"
ECHOES = {
    "no JSON": Answer(f"<p>{WORDS}</p>"),
    "another form": Answer({"echo": WORDS}),
    "refused": Answer({"error": {"message": f"too long: {WORDS}"}}, status=400),
    "not found": Answer({"error": f"no model for {WORDS}"}, status=404),
    "overloaded": Answer({"error": f"no room for {WORDS}"}, status=503),
    "said no": Answer({"choices": [{"message": {"refusal": f"no {WORDS}", "content": ""}}]}),
    "no numbers": Answer({"data": [{"index": 0, "embedding": WORDS}]}),
}
ASKERS: dict[str, Callable[[str], Any]] = {
    "openai": lambda url: OpenAIChatModel("m", url, attempts=1).complete([Message("user", WORDS)]),
    "ollama": lambda url: OllamaChatModel("m", url, attempts=1).complete([Message("user", WORDS)]),
    "embeddings": lambda url: OpenAIEmbedder("m", url, dim=4, deadline=5, backoff=60).embed_documents([WORDS]),
    "rerank": lambda url: HttpReranker("m", url, deadline=5, backoff=60).rerank(WORDS, [WORDS]),
}


class Failing:
    """A foreign object that says in its error what it was given."""

    model = "failing"

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def invoke(self, messages: Any) -> str:
        """Fail as a model does."""
        raise self._error(f"cannot take {WORDS}")

    def embed_documents(self, texts: Any) -> Any:
        """Fail as an embedder does."""
        raise self._error(f"cannot take {WORDS}")

    embed_query = embed_documents


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("asker", ASKERS)
def test_what_a_server_answered_is_told_to_who_asked_and_not_to_a_log(asker: str, echo: str) -> None:
    """A server may answer with what it was given: the error has it, a line of a log has what failed."""
    with ScriptedServer([ECHOES[echo]]) as server, pytest.raises((ModelError, BackendUnavailableError)) as raised:
        ASKERS[asker](server.url)

    assert "peanuts" not in for_log(raised.value)
    assert type(raised.value).__name__ in for_log(raised.value)
    if echo in ("no JSON", "refused", "overloaded"):
        assert WORDS in str(raised.value)


@pytest.mark.parametrize("error", [RuntimeError, ConnectionError, ValueError])
def test_what_a_foreign_object_raised_is_not_for_a_log(error: type[Exception]) -> None:
    """So may the error of an object of another library, whatever it is asked for."""
    thing = Failing(error)
    for ask in (
        lambda: chat_model_of(thing).complete([Message("user", WORDS)]),
        lambda: embedder_of(thing).embed_documents([WORDS]),
        lambda: answered(lambda: thing.invoke(WORDS)),
    ):
        with pytest.raises((ModelError, BackendUnavailableError)) as raised:
            ask()
        assert WORDS in str(raised.value)
        assert "peanuts" not in for_log(raised.value)


def test_an_error_that_is_not_ours_is_its_type_in_a_log() -> None:
    """Nobody knows what its words are; of the system's errors it is known."""
    assert for_log(ValueError(WORDS)) == "ValueError"
    assert for_log(OSError(28, "No space left on device", WORDS)) == "OSError: No space left on device"


def test_a_failing_embedder_is_announced_without_what_it_was_given(caplog: pytest.LogCaptureFixture) -> None:
    """The warning says what failed; the statistics, which are for the user, say in which words."""
    with ScriptedServer([ECHOES["overloaded"]]) as server:
        embedder = OpenAIEmbedder("m", server.url, dim=4, deadline=5, backoff=60)
        with (
            caplog.at_level(logging.DEBUG, logger="siltstone"),
            TieredMemory.open(":memory:", embedder=embedder, settings=Settings(close_wait=0.0)) as memory,
        ):
            memory.remember(WORDS)
            with pytest.raises(BackendUnavailableError):
                memory.flush(60)
            told = memory.stats().last_error

    assert WORDS in (told or "")
    assert "the embedder failed" in caplog.text
    assert "503" in caplog.text
    assert "peanuts" not in caplog.text
