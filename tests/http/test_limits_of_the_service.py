"""Nobody can ask for too much at once, too often, or for ever; and nobody else feels it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")

from running import Running, status

from siltstone import TieredMemory
from siltstone.access import Tokens, make_token
from siltstone.http import create_app
from siltstone.http.intake import Intake
from siltstone.http.limits import Limits, Rates

HALF = (
    b"POST /memory/remember HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
)
"""A request that says more of its body than comes."""


def test_a_body_over_the_limit_is_refused(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """By what it says of itself, or else by what comes: 413, and nothing of it is stored."""
    client = serve(memory, limits=Limits(max_body=10_000, max_import=10_000))
    large = json.dumps({"text": "x" * 20_000}).encode()

    def pieces() -> Any:
        for start in range(0, len(large), 1_000):
            yield large[start : start + 1_000]

    for content in (large, pieces()):
        answer = client.post("/memory/remember", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 413
        assert answer.json()["type"] == "urn:siltstone:problem:too-large"
    assert client.post("/memory/import", content=large).status_code == 413
    assert client.post("/memory/import", content=pieces()).status_code == 413
    assert client.post("/memory/remember", json={"text": "x" * 5_000}).status_code == 200
    assert memory.stats().records == 1


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity, gzip"])
def test_a_compressed_body_is_refused(client: httpx.Client, encoding: str) -> None:
    """What is small on the way could be anything once it is unpacked."""
    headers = {"content-type": "application/json", "content-encoding": encoding}

    assert client.post("/memory/remember", content=b"{}", headers=headers).status_code == 415


def test_who_asks_too_often_is_told_when_to_come_again(
    serve: Callable[..., httpx.Client], memory: TieredMemory, tmp_path: Path
) -> None:
    """429 with ``Retry-After`` for one caller; another, and whoever asks whether it lives, is answered."""
    file = tmp_path / "tokens.jsonl"
    alice, bob = (make_token(file, name=name, user_id=name) for name in ("alice", "bob"))
    client = serve(memory, tokens=Tokens(file), limits=Limits(rate=0.001, burst=3))

    def ask(token: str) -> httpx.Response:
        return client.get("/memory/revision", headers={"authorization": f"Bearer {token}"})

    assert [ask(alice).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert int(ask(alice).headers["retry-after"]) >= 900
    assert ask(bob).status_code == 200
    assert client.get("/healthz").status_code == 200
    assert [ask("guess").status_code for _ in range(4)] == [401, 401, 401, 429]


def test_a_bucket_fills_with_time() -> None:
    """As many at once as ``burst`` says, then as many a second as ``rate`` says; nobody takes of another's."""
    rates = Rates(Limits(rate=2.0, burst=2))

    assert [rates.wait("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rates.wait("b", 0.0) == 0.0
    assert rates.wait("a", 0.25) == 0.25
    assert rates.wait("a", 0.5) == 0.0
    assert [rates.wait("a", 100.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert [Rates(Limits(rate=None)).wait("a", 0.0) for _ in range(1_000)] == [0.0] * 1_000


class Slow(TieredMemory):
    """A memory whose searches wait until a test lets them go on."""

    gate = threading.Event()
    entered = threading.Semaphore(0)

    def for_user(self, user_id: str) -> Slow:
        """Return another user's view, as slow."""
        return Slow(self._engine, user_id, owner=False)

    async def asearch(self, *args: Any, **options: Any) -> Any:
        """Wait, then search."""
        Slow.entered.release()
        await asyncio.to_thread(Slow.gate.wait, 60)
        return []


def test_more_at_once_than_can_be_done_is_refused(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """Beyond ``concurrency`` it is 429 at once; the others are finished, and whoever watches is answered."""
    Slow.gate.clear()
    client = serve(Slow(memory._engine, "default", owner=False), limits=Limits(concurrency=2))
    found: list[int] = []

    def ask() -> None:
        found.append(httpx.post(f"{client.base_url}/memory/search", json={"query": "x"}, timeout=60).status_code)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
        Slow.entered.acquire(timeout=60)
    refused = client.post("/memory/search", json={"query": "x"})
    alive = [client.get(path).status_code for path in ("/healthz", "/readyz", "/metrics", "/docs")]
    Slow.gate.set()
    for thread in threads:
        thread.join()

    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert alive == [200] * 4
    assert found == [200, 200]


def test_a_body_that_does_not_come_is_given_up(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """A client that stops in the middle of its body is told so, and holds up nobody."""
    client = serve(memory, limits=Limits(patience=0.3, concurrency=1))
    with socket.create_connection(("127.0.0.1", int(client.base_url.port or 0))) as connection:
        connection.sendall(HALF)
        connection.settimeout(60)

        assert status(connection) == 408
    assert client.get("/memory/stats").status_code == 200


def test_who_is_refused_amid_a_body_can_read_why(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """What is still sent after the refusal is no reason to lose it: the connection ends once the sender has read it."""
    client = serve(memory, limits=Limits(max_body=1_000))
    with socket.create_connection(("127.0.0.1", int(client.base_url.port or 0)), timeout=60) as connection:
        connection.sendall(HALF.replace(b"99", b"999999"))
        time.sleep(0.5)
        for _ in range(4):
            connection.sendall(b" " * 50_000)
            time.sleep(0.1)

        assert status(connection) == 413
        assert connection.recv(1) == b""


def test_a_body_that_comes_by_drops_is_given_up(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """A client that sends a byte now and then is told so: it is not waited for longer than one that stops."""
    client = serve(memory, limits=Limits(patience=0.5, concurrency=1))
    with socket.create_connection(("127.0.0.1", int(client.base_url.port or 0))) as connection:
        connection.sendall(HALF)
        connection.settimeout(0.05)
        answer = b""
        for _ in range(95):  # as many as it has said
            with suppress(TimeoutError):
                answer = connection.recv(65_536)
                break
            connection.sendall(b" ")

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert client.get("/memory/stats").status_code == 200


async def test_time_that_a_reader_takes_does_not_count_against_a_body() -> None:
    """What stores a body may be slow: only what the service waits for is held against who sends it."""

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x", "more_body": True}

    intake = Intake(receive, most=100, patience=0.05)
    for _ in range(4):
        assert (await intake())["body"] == b"x"
        await asyncio.sleep(0.03)


def test_strangers_hold_up_nobody_who_has_a_token(
    serve: Callable[..., httpx.Client], memory: TieredMemory, tmp_path: Path
) -> None:
    """However many begin to log in and stop in the middle: who has a token is served, and more strangers are 429."""
    file = tmp_path / "tokens.jsonl"
    alice = {"authorization": f"Bearer {make_token(file, name='alice', user_id='alice')}"}
    client = serve(memory, tokens=Tokens(file), limits=Limits(rate=None, concurrency=8))
    login = HALF.replace(b"/memory/remember", b"/inspector/login").replace(
        b"application/json", b"application/x-www-form-urlencoded"
    )
    with ExitStack() as stack:
        for _ in range(20):
            address = ("127.0.0.1", int(client.base_url.port or 0))
            stack.enter_context(socket.create_connection(address)).sendall(login)
        while client.get("/inspector/login").status_code != 429:
            pass
        assert client.get("/memory/sessions", headers=alice).status_code == 200
    large = client.post(
        "/inspector/login", content=b"x" * 20_000, headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert large.status_code == 413


def test_one_caller_leaves_room_for_others(
    serve: Callable[..., httpx.Client], memory: TieredMemory, tmp_path: Path
) -> None:
    """A token with more requests at once than there are places gets 429 for some; another's is answered."""
    Slow.gate.clear()
    file = tmp_path / "tokens.jsonl"
    alice, bob = ({"authorization": f"Bearer {make_token(file, name=name, user_id=name)}"} for name in ("alice", "bob"))
    slow = Slow(memory._engine, "default", owner=False)
    client = serve(slow, tokens=Tokens(file), limits=Limits(concurrency=8))

    def ask() -> int:
        return client.post("/memory/search", json={"query": "x"}, headers=alice).status_code

    with ThreadPoolExecutor(8) as several:
        asked = [several.submit(ask) for _ in range(8)]
        for _ in range(7):
            assert Slow.entered.acquire(timeout=60)
        others = client.get("/memory/sessions", headers=bob).status_code
        while not any(one.done() for one in asked):
            time.sleep(0.01)
        Slow.gate.set()

    assert others == 200
    assert sorted(one.result() for one in asked) == [200] * 7 + [429]


def test_a_client_that_goes_away_leaves_nothing_behind(
    serve: Callable[..., httpx.Client], memory: TieredMemory
) -> None:
    """Whoever hangs up in the middle of a body has changed nothing, and the next is served."""
    client = serve(memory, limits=Limits(concurrency=1))
    before = memory.revision
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", int(client.base_url.port or 0))) as connection:
            connection.sendall(HALF)

    statuses = {429}
    while statuses == {429}:
        statuses = {client.get("/memory/stats").status_code}
        time.sleep(0.01)
    assert statuses == {200}
    assert memory.revision == before


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: local"], ids=["nothing", "half a head"])
@pytest.mark.parametrize("served", [False, True], ids=["at first", "after a request"])
def test_a_head_that_does_not_come_to_its_end_is_not_waited_for(
    memory: TieredMemory, begun: bytes, served: bool
) -> None:
    """The connection is closed, so that nobody holds thousands of them open by a byte now and then."""
    with (
        Running(create_app(memory), patience=0.5) as running,
        socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2])), timeout=60) as connection,
    ):
        if served:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert status(connection) == 200
        connection.sendall(begun)
        while connection.recv(65_536):
            pass  # the rest of an answer, then the end

        assert httpx.get(f"{running.url}/healthz", timeout=60).status_code == 200


def test_a_request_that_takes_longer_than_its_head_may_is_answered(memory: TieredMemory) -> None:
    """Patience is with heads: a body that comes later, and the next request of the connection, have their own."""
    with (
        Running(create_app(memory), patience=2.0) as running,
        socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2])), timeout=60) as connection,
    ):
        for _ in range(2):
            connection.sendall(
                b"POST /memory/search HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 13\r\n\r\n"
            )
            time.sleep(3.0)
            connection.sendall(b'{"query":"x"}')
            assert status(connection) == 200
