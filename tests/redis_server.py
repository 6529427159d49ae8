"""Redis servers of the tests' own, each on a free port of this machine or a socket in a folder of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[Server]:
    """A server that runs for the whole session."""
    yield from _running()


@pytest.fixture
def redis_url(shared_redis: Server) -> str:
    """The address of an empty server, which runs for the whole session."""
    shared_redis.client().flushall()
    return shared_redis.url


@pytest.fixture
def own_redis() -> Iterator[Server]:
    """A server of this test's own."""
    yield from _running()


def needed() -> None:
    """Skip by name what cannot run here."""
    pytest.importorskip("redis", reason="needs the extra redis")
    if shutil.which("redis-server") is None:
        pytest.skip("needs the program redis-server")


def _running() -> Iterator[Server]:
    needed()
    with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:
        server = Server(Path(folder))
        try:
            yield server
        finally:
            server.kill()


def free_port() -> int:
    """Return a port of this machine that nobody listens to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Server:
    """A server which can be killed as a power cut would, and started again on what it has on disk."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        self.folder, self.port = folder, port
        self._options = options
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}" if not port else f"redis://127.0.0.1:{port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self, *options: str) -> None:
        """Start it, with no persistence unless ``options`` say so, and wait until it answers."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", str(self.socket)]
        command += ["--dir", str(self.folder), "--save", "", "--appendonly", "no", "--loglevel", "warning"]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen([*command, *self._options, *options], stdout=log, stderr=log)
        self.wait()

    def wait(self) -> None:
        """Wait until it answers."""
        import redis

        with self.client() as client:
            while True:
                assert self._process is None or self._process.poll() is None, (self.folder / "log").read_text()
                with suppress(redis.exceptions.AuthenticationError, redis.exceptions.ConnectionError):
                    client.ping()
                    return
                if "NOAUTH" in _said(client):
                    return
                time.sleep(0.02)

    def kill(self) -> None:
        """Kill it at once, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self, **options: Any) -> Any:
        """Return a client over the socket."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return redis.Redis(unix_socket_path=str(self.socket), retry=Retry(NoBackoff(), 0), **options)

    def words(self) -> str:
        """Return all that it holds, as one text."""
        client = self.client()
        found = []
        for name in client.scan_iter():
            kind = client.type(name)
            value = {b"list": lambda n: client.lrange(n, 0, -1), b"hash": client.hgetall}.get(kind, client.get)(name)
            found.append(f"{name!r}: {value!r}")
        return "\n".join(found)


def _said(client: Any) -> str:
    try:
        client.ping()
    except Exception as exc:
        return f"{type(exc).__name__} NOAUTH" if "Authentication" in f"{type(exc).__name__}{exc}" else str(exc)
    return ""
