"""A real HTTP server on loopback that answers as a test tells it to, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request: its path, its headers (lower case), its body as JSON, where it is that, and as bytes."""

    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes = b""


@dataclass(frozen=True)
class Answer:
    """One response: a body as JSON, or as it is where it is a string; after ``delay`` seconds."""

    body: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


class ScriptedServer:
    """Gives its answers in order, the last one again and again; a function makes one from the request.

    Use it as a context manager; ``url`` is its address and ``asked`` the requests so far.
    """

    def __init__(self, answers: Iterable[Answer] | Callable[[Asked], Answer]) -> None:
        self.asked: list[Asked] = []
        self._answers = answers if callable(answers) else list(answers)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ScriptedServer:
        """Start to answer."""
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the door."""
        self._server.shutdown()
        self._server.server_close()

    def _next(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        if callable(self._answers):
            return self._answers(asked)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                raw = self._chunks() if "transfer-encoding" in headers else self.rfile.read(length)
                answer = script._next(Asked(self.path, headers, _json(raw), raw))
                time.sleep(answer.delay)
                body = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(body.encode())))
                    self.end_headers()
                    self.wfile.write(body.encode())
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client has given up, as a test may want

            do_GET = do_PATCH = do_POST

            def _chunks(self) -> bytes:
                found = []
                while size := int(self.rfile.readline(), 16):
                    found.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(found)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw or "null")
    except ValueError:
        return None
