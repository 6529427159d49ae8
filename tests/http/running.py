"""A real server on loopback, on a port of its own, in a thread of this process."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from typing import Any


class Running:
    """Serves an ASGI application while it is entered; ``url`` is its address, ``port`` where, if not anywhere."""

    def __init__(self, app: Any, *, port: int = 0, grace: int = 20, **options: Any) -> None:
        from siltstone.http.serving import server

        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", port))
        self._socket.listen(128)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = server(app, grace=grace, **options)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> Running:
        """Start, and wait until it listens."""
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        """Let it finish what it is at."""
        self.end()
        self._thread.join(30)
        self._socket.close()

    def end(self) -> None:
        """Tell it to end."""
        self._server.should_exit = True

    def has_ended(self, within: float) -> bool:
        """Return whether it ends within so many seconds."""
        self._thread.join(within)
        return not self._thread.is_alive()


def status(connection: socket.socket) -> int:
    """Read the next answer of a connection, in however many pieces it comes, to its end, and return its status."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status
