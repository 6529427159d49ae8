from __future__ import annotations

from typing import Any

import pytest

from scripted_server import Answer, ScriptedServer
from siltstone.errors import BackendUnavailableError, ModelError
from siltstone.models.ollama import OllamaChatModel
from siltstone.records import Message

ASK = [Message("system", "You summarize."), Message("user", "我搬到了深圳。")]


def model(server: ScriptedServer, **options: Any) -> OllamaChatModel:
    """Return an impatient model on the server."""
    return OllamaChatModel("qwen3:0.6b", server.url, **{"deadline": 0.3, "backoff": 0.01, **options})


def test_schema_goes_out_as_format() -> None:
    """Ollama gets the schema as ``format``, the limit and a window that holds the prompt, and streams nothing."""
    schema = {"type": "object"}
    with ScriptedServer([Answer({"message": {"role": "assistant", "content": "{}"}, "done": True})]) as server:
        assert model(server).complete(ASK, schema=schema, max_tokens=7) == "{}"
        (asked,) = server.asked
    assert asked.path == "/api/chat"
    assert asked.body["messages"][1] == {"role": "user", "content": "我搬到了深圳。"}
    assert (asked.body["format"], asked.body["stream"], asked.body["options"]["num_predict"]) == (schema, False, 7)
    assert asked.body["options"]["num_ctx"] == 8192


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        (Answer({"error": "model 'qwen3:0.6b' not found"}, 404), ModelError, "not found.*ollama pull qwen3:0.6b"),
        (Answer({"message": {"content": ""}}), ModelError, "empty"),
        (Answer({"done": True}), ModelError, "no message"),
        (Answer("<html>"), ModelError, "JSON"),
        (Answer({"error": "loading"}, 503), BackendUnavailableError, "loading"),
    ],
)
def test_failures_are_translated(answer: Answer, error: type[Exception], reason: str) -> None:
    """What Ollama says of a failure becomes an error of siltstone's tree; a missing model names the command."""
    with ScriptedServer([answer]) as server, pytest.raises(error, match=reason):
        model(server).complete(ASK)
