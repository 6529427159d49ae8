"""Whatever goes wrong is told as a problem document, under the id of the request, without anybody's words."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")

from siltstone import TieredMemory, errors
from siltstone.errors import SiltstoneError
from siltstone.http.logs import JsonLines
from siltstone.wire import raised

NESTED: Any = "[" * 100_000 + "]" * 100_000
JSON = {"content-type": "application/json"}


def assert_problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """Check that an answer is a whole problem document, and return it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    details = answer.json()
    assert details["status"] == status
    assert details["type"].startswith("urn:siltstone:problem:")
    assert details["title"]
    assert details["detail"]
    assert details["request_id"] == answer.headers["x-request-id"]
    return dict(details)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/memory", 404),
        ("GET", "/memory/records/nobody", 404),
        ("GET", "/memory/records/nobody/history", 404),
        ("DELETE", "/memory/records/nobody", 404),
        ("GET", "/memory/write", 405),
        ("PUT", "/memory/records/m", 405),
        ("BREW", "/memory/stats", 405),
        ("GET", "/memory/sessions/s/messages?limit=-1", 422),
        ("GET", "/memory/sessions/s/messages?limit=many", 422),
        ("GET", "/memory/sessions/s/messages?before=nobody", 404),
        ("GET", "/memory/stats?user_id=", 422),
        ("GET", "/memory/records/%FF", 422),
        ("GET", "/memory/records/%20", 422),
    ],
)
def test_a_path_that_leads_nowhere_is_a_problem(client: httpx.Client, method: str, path: str, status: int) -> None:
    """No such path, method, thing, or parameter: each is told in the same form."""
    details = assert_problem(client.request(method, path), status)

    if status == 405:
        assert client.request(method, path).headers["allow"]
    assert isinstance(raised(details), SiltstoneError)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "no json",
        "{",
        "[]",
        "null",
        '"text"',
        '{"question": 7}',
        '{"question": null}',
        '{"question": ["a"]}',
        '{"question": "q", "top_k": "3"}',
        '{"question": "q", "top_k": true}',
        '{"question": "q", "top_k": 0}',
        '{"question": "q", "top_k": 1e99}',
        '{"question": "q", "top_k": 999999999999999999999999}',
        '{"question": "q", "max_tokens": -1}',
        '{"question": "q", "user_id": 5}',
        '{"question": "q", "user_id": ""}',
        '{"question": "q", "user_id": {"$ne": null}}',
        '{"question": "q", "surprise": 1}',
        '{"question": "q", "top_k": NaN}',
        '{"question": "\\ud800"}',
        '{"question": "q", "user_id": "\\udfff"}',
        '{"question": "q", "question\\ud800": 1}',
        '{"question": ' + NESTED + "}",
        '{"question": "q", "x": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}",
        "[" * 1_000_000,
    ],
)
def test_a_body_that_is_no_question_is_refused(client: httpx.Client, body: str) -> None:
    """Torn, deep, of another type, with lone surrogates or unknown fields: 422, and the service goes on."""
    assert_problem(client.post("/memory/query", content=body, headers=JSON), 422)
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("messages", {"session_id": "s", "messages": [{"role": "narrator", "content": "x"}]}),
        ("messages", {"session_id": "s", "messages": [{"role": "user", "content": " "}]}),
        ("messages", {"session_id": "s", "messages": [{"role": "user", "content": "x", "created_at": "yesterday"}]}),
        (
            "messages",
            {"session_id": "s", "messages": [{"role": "user", "content": "x", "created_at": "2026-05-08T09:00"}]},
        ),
        ("messages", {"session_id": "s", "messages": [{"role": "user", "content": "x", "id": "turn:x"}]}),
        ("messages", {"session_id": " ", "messages": []}),
        ("write", {"dialogue_id": "s"}),
        ("write", {"dialogue_id": "s", "dialogue_text": "x", "messages": []}),
        ("write", {"dialogue_id": "s", "dialogue_text": "用户："}),
        ("remember", {"text": ""}),
        ("remember", {"text": "x", "kind": "turn"}),
        ("remember", {"text": "x", "importance": 2}),
        ("remember", {"text": "x", "ttl": 5, "expires_at": "2030-01-01T00:00:00Z"}),
        ("remember", {"text": "x", "ttl": 1e300}),
        ("remember", {"text": "x", "metadata": {"deep": json.loads("[" * 500 + "]" * 500)}}),
        ("search", {"query": "x", "kinds": ["secret"]}),
        ("search", {"query": "x", "since": "0001-01-01T00:00:00+14:00"}),
        ("context", {"sections": ["everything"]}),
        ("forget", {"everything": True, "session_id": "s"}),
        ("records", {"metadata": ["a"]}),
    ],
)
def test_input_that_is_refused_changes_nothing(
    client: httpx.Client, memory: TieredMemory, path: str, body: dict[str, Any]
) -> None:
    """What the memory refuses is 422 with its reason, and nothing of it is stored."""
    before = memory.revision

    assert_problem(client.post(f"/memory/{path}", json=body), 422)
    assert memory.revision == before


def test_a_rest_on_nothing_is_not_found(client: httpx.Client) -> None:
    """A record cannot rest on a source that is not there."""
    assert_problem(client.post("/memory/remember", json={"text": "x", "source_ids": ["nobody"]}), 404)


@pytest.mark.parametrize("type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_is_sent_as_a_form_is_refused(client: httpx.Client, type: str) -> None:
    """A page of another site can make a browser send a form, but no JSON: only that is read."""
    details = assert_problem(
        client.post("/memory/query", content=b'{"question": "x"}', headers={"content-type": type}), 415
    )

    assert "application/json" in details["detail"]


class Broken(TieredMemory):
    """A memory that fails as it is told to."""

    error: BaseException = RuntimeError()

    def for_user(self, user_id: str) -> Any:
        """Fail."""
        raise self.error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.StoreLockedError("the secret is held"), 503),
        (errors.BackendUnavailableError("the secret does not answer"), 503),
        (errors.ReadOnlyError("the secret is read-only"), 403),
        (errors.ModelError("the secret failed"), 502),
        (errors.StoreCorruptedError("the secret is damaged"), 500),
        (errors.ConfigurationError("the secret is closed"), 500),
        (RuntimeError("the secret"), 500),
        (RecursionError("the secret"), 500),
        (MemoryError("the secret"), 500),
    ],
)
def test_a_failure_is_told_and_logged_without_words(
    error: Exception,
    status: int,
    serve: Callable[..., httpx.Client],
    memory: TieredMemory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever the memory raises becomes a problem; what nobody foresaw is logged by type and place alone."""
    broken = Broken(memory._engine, "default", owner=False)
    broken.error = error
    client = serve(broken)

    with caplog.at_level(logging.INFO):
        answer = client.get("/memory/stats")

    details = assert_problem(answer, status)
    if not isinstance(error, SiltstoneError):
        assert "secret" not in answer.text
        logged = "\n".join(JsonLines().format(record) for record in caplog.records)
        assert type(error).__name__ in logged
        assert "test_problems.py" in logged
        assert "secret" not in logged
    else:
        assert details["detail"] == str(error)
        assert type(raised(details)) is type(error)
    assert ("retry-after" in answer.headers) == (status == 503)


def test_the_log_has_a_line_for_each_request_and_no_words(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """A line says what was asked for by its route, how long it took and how it ended; no text, no id, no name."""
    with caplog.at_level(logging.DEBUG):
        client.post(
            "/memory/write",
            json={"dialogue_id": "canary-session", "dialogue_text": "canary-text", "user_id": "canary-user"},
            headers={"x-request-id": "my-id.1"},
        )
        client.get("/memory/sessions/canary-session/messages?user_id=canary-user")
        client.post("/memory/query", content=b'{"canary-broken', headers=JSON)
        client.get("/canary-path")
        client.post("/memory/remember", json={"text": "canary-text", "kind": "canary-kind"})

    ours = [record for record in caplog.records if not record.name.startswith(("http", "asyncio"))]
    lines = [json.loads(JsonLines().format(record)) for record in ours]
    requests = [line for line in lines if line["message"] == "request"]
    assert [(line["method"], line["route"], line["status"]) for line in requests] == [
        ("POST", "/memory/write", 200),
        ("GET", "/memory/sessions/{id}/messages", 200),
        ("POST", "/memory/query", 422),
        ("GET", "-", 404),
        ("POST", "/memory/remember", 422),
    ]
    assert requests[0]["request_id"] == "my-id.1"
    assert requests[0]["ms"] >= 0
    assert requests[0]["bytes"] > 0
    assert len({line["request_id"] for line in requests}) == 5
    assert "canary" not in json.dumps(lines)


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "<script>", 'a"b'])
def test_a_request_id_that_is_none_is_replaced(client: httpx.Client, given: str) -> None:
    """What a client calls its request goes into logs and headers, so that only plain names are taken."""
    answer = client.get("/healthz", headers={"x-request-id": given})

    assert answer.headers["x-request-id"] != given
    assert len(answer.headers["x-request-id"]) == 16
