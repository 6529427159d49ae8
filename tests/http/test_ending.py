"""The end of the service: what was asked before it is answered, and the answers arrive."""

from __future__ import annotations

import socket
import threading
import time

import httpx
import pytest

pytest.importorskip("fastapi")

from running import Running, status

from siltstone import TieredMemory
from siltstone.http import create_app
from siltstone.http.serving import listening, server

HEAD = b"POST /memory/import HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_request_that_has_arrived_is_answered(memory: TieredMemory) -> None:
    """Told to end before it has taken a connection on which a request lies, the service answers it, and closes then."""

    async def be_told() -> None:  # amid a turn of the loop, which has seen nothing of the request
        asking.connect(listener.getsockname())
        asking.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        service.should_exit = True

    service = server(create_app(memory), grace=20)
    service.config.callback_notify, service.config.timeout_notify = be_told, 0
    with listening("127.0.0.1", 0) as listener, socket.socket() as asking:
        asking.settimeout(60)
        serving = threading.Thread(target=service.run, args=([listener],))
        serving.start()
        serving.join(60)

        assert status(asking) == 200
        assert asking.recv(1) == b""


def test_who_is_cut_off_amid_a_body_can_read_why(memory: TieredMemory) -> None:
    """Cut off by the end, who is still sending has the time to read the refusal; the service ends once it was read."""
    with Running(create_app(memory), grace=1, linger=300) as running:
        with socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2])), timeout=60) as connection:
            connection.sendall(HEAD)
            while not _is_at_two(running.url):
                time.sleep(0.05)
            running.end()

            assert status(connection) == 503
            assert not running.has_ended(2)
            connection.sendall(b"1\r\n[\r\n")
            connection.sendall(b"1\r\n]\r\n")
        assert running.has_ended(60)


def _is_at_two(url: str) -> bool:
    """Return whether a service works on something beside this question."""
    return "siltstone_http_requests_running 2.0" in httpx.get(f"{url}/metrics", timeout=60).text
