"""What whoever runs the service looks at: whether it lives, what it does, and how it is described."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")

from running import Running

from siltstone import TieredMemory
from siltstone.access import Tokens, make_token
from siltstone.errors import ConfigurationError
from siltstone.http import create_app
from siltstone.testing import HashEmbedder

VERBS = {
    "write", "messages", "remember", "query", "search", "context", "window", "records", "forget", "consolidate",
    "import", "flush", "sessions", "export", "stats", "revision", "records/{id}", "records/{id}/history",
    "sessions/{id}", "sessions/{id}/messages", "users/{id}",
}  # fmt: skip


def test_it_says_whether_it_lives_and_can_work(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """``/healthz`` is the process, ``/readyz`` the memory; both are for everybody."""
    client = serve(memory)
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}

    closed = create_app(memory)
    closed.router.lifespan_context = _Unopened
    with Running(closed) as running, httpx.Client(base_url=running.url) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 503
        assert client.get("/memory/stats").status_code == 503
        assert client.get("/memory/stats").headers["retry-after"] == "1"


class _Unopened:
    """The life of an application whose memory is not open yet."""

    def __init__(self, _: Any) -> None:
        pass

    async def __aenter__(self) -> None:
        """Open nothing."""

    async def __aexit__(self, *_: object) -> None:
        """Close nothing."""


def test_a_memory_that_it_opened_it_closes(serve: Callable[..., httpx.Client], tmp_path: Path) -> None:
    """Given a callable, the service opens the memory when it starts, and closes it when it ends."""
    opened: list[TieredMemory] = []

    def source() -> TieredMemory:
        opened.append(TieredMemory.open(tmp_path / "memory", embedder=HashEmbedder()))
        return opened[-1]

    with Running(create_app(source)) as running:
        assert httpx.get(f"{running.url}/memory/stats", timeout=60).status_code == 200
    assert len(opened) == 1
    with pytest.raises(ConfigurationError, match="closed"):
        opened[0].stats()


def test_prometheus_is_told_what_is_done(client: httpx.Client) -> None:
    """Requests by route and status, what each stage has cost, and no name or word of anybody."""
    client.post("/memory/write", json={"dialogue_id": "canary", "dialogue_text": "canary", "user_id": "canary"})
    client.post("/memory/search", json={"query": "canary", "user_id": "canary"})
    client.get("/memory/records/canary")
    client.request("BREW", "/canary")
    client.post("/memory/search", content=b"canary", headers={"content-type": "text/plain"})

    text = client.get("/metrics").text

    def figure(pattern: str) -> float:
        (found,) = re.findall(rf"^{pattern} (\S+)$", text, re.MULTILINE)
        return float(found)

    labels = r'method="POST",route="/memory/write",status="200"'
    assert figure(rf"siltstone_http_request_seconds_count\{{{labels}\}}") == 1
    assert (
        figure(r'siltstone_http_request_seconds_count\{method="GET",route="/memory/records/\{id\}",status="404"\}') == 1
    )
    assert figure(r'siltstone_http_request_seconds_count\{method="other",route="-",status="404"\}') == 1
    assert figure(r'siltstone_http_refused_total\{reason="media"\}') == 1
    assert figure(r'siltstone_stage_calls_total\{stage="add"\}') == 1
    assert figure(r'siltstone_stage_calls_total\{stage="search"\}') == 1
    assert figure(r'siltstone_stage_seconds_total\{stage="search"\}') > 0
    assert figure("siltstone_http_requests_running") == 1
    assert figure("process_resident_memory_bytes") > 0
    assert "canary" not in text


def test_it_describes_every_route(client: httpx.Client) -> None:
    """The description has every verb, an example of every body, and every error in its form."""
    described = client.get("/openapi.json").json()
    paths = described["paths"]

    assert {path.removeprefix("/memory/") for path in paths if path.startswith("/memory")} == VERBS
    for path, operations in paths.items():
        for method, operation in operations.items():
            assert operation["description"], (method, path)
            for status, answer in operation["responses"].items():
                assert answer["description"], (method, path, status)
                if status >= "400":
                    assert list(answer["content"]) == ["application/problem+json"], (method, path, status)
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is not None:
                schema = described["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
                assert schema["examples"], (method, path)


def test_every_example_works(client: httpx.Client) -> None:
    """What the description shows can be sent as it stands."""
    described = client.get("/openapi.json").json()
    for path, operations in described["paths"].items():
        body = operations.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json")
        if body is None:
            continue
        schema = described["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
        for example in schema["examples"]:
            answer = client.post(path, json=example)
            assert answer.status_code in (200, 204), (path, answer.text)


def test_the_description_is_a_page_without_anything_from_elsewhere(client: httpx.Client) -> None:
    """``/docs`` is whole in itself: no script, no other address, and a policy that allows none."""
    answer = client.get("/docs")
    policy = answer.headers["content-security-policy"]

    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "<script" not in answer.text
    assert not re.findall(r'(?:src|href)="(?!openapi\.json")', answer.text)
    for path in ("/memory/write", "/memory/records/{id}", "/metrics"):
        assert path in answer.text
    assert "用户：我喜欢用 Python 写自动化脚本。" in answer.text
    style = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)[0]
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy


def test_the_description_says_that_tokens_are_needed(
    serve: Callable[..., httpx.Client], memory: TieredMemory, tmp_path: Path
) -> None:
    """With tokens, every route that asks for one says so; without, none does."""
    make_token(tmp_path / "tokens", name="a", admin=True)
    with_tokens = serve(memory, tokens=Tokens(tmp_path / "tokens")).get("/openapi.json").json()
    without = serve(memory).get("/openapi.json").json()

    asked = {path for path, found in with_tokens["paths"].items() for one in found.values() if "security" in one}
    assert asked == {path for path in with_tokens["paths"] if path not in ("/healthz", "/readyz")}
    assert "securitySchemes" not in without["components"]


def test_answers_are_kept_by_nobody_in_between(client: httpx.Client) -> None:
    """No cache may store an answer, and no browser may take it for something else."""
    for path in ("/memory/stats", "/docs", "/nothing"):
        headers = client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers or "uvicorn" not in headers["server"]
