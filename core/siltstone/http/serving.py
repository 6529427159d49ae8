"""Running the service: Uvicorn, an address that is safe to listen on, and an end that finishes what was begun."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
from functools import partial
from types import FrameType
from typing import Final

import uvicorn
from fastapi import FastAPI

from ..access import Tokens
from ..errors import ConfigurationError
from ..text.hosts import is_loopback
from .connection import LINGER, PATIENCE, Connection

logger = logging.getLogger("siltstone.http")

_LONGEST_HEAD: Final = 256 << 10
"""Bytes: the longest id of four-byte characters, percent-encoded in a path, and headers."""
_AFTERWARDS: Final = 10
"""Seconds after the grace in which the memory is closed; the process ends then, whatever still holds it."""
_LOOK: Final = 0.05
"""Seconds between two looks at what has arrived."""


def check_address(host: str, tokens: Tokens | None) -> None:
    """Raise ``ConfigurationError`` for an address that others can reach, where no token is asked for."""
    if tokens is None and not is_loopback(host):
        raise ConfigurationError(
            f"{host} can be reached from other machines, and everybody there could read and write every memory: "
            "nothing was started. Make tokens (siltstone token make) and pass the file with --tokens, or listen to "
            "127.0.0.1"
        )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; ``ConfigurationError`` where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=2_048)
    except OSError as exc:
        raise ConfigurationError(f"{host} port {port} cannot be listened to: {exc}; --port N takes another") from exc


class _Server(uvicorn.Server):
    """A server whose end loses no answer: to what had arrived when it was told to end, or to what it cuts off."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is under way, or cut it off; close the memory, and wait for who has yet to read an answer."""
        await asyncio.sleep(_LOOK)  # or what waits to be accepted or read would be closed unanswered
        await super().shutdown(sockets)
        while not self.force_exit and (self.server_state.tasks or self._lingers()):
            await asyncio.sleep(_LOOK)

    def _lingers(self) -> bool:
        return any(isinstance(one, Connection) and one.is_lingering for one in self.server_state.connections)


class _Process(_Server):
    """A server that is all that its process does: told to end, the process ends in time."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take the signal, and see to it that work that cannot be stopped, as in a model's code, is not waited for."""
        if not self.should_exit:
            last = threading.Timer((self.config.timeout_graceful_shutdown or 0) + _AFTERWARDS, _cut_off)
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)


def _cut_off() -> None:
    """End as a kill would, which loses nothing that was acknowledged."""
    logger.warning("ended amid work: what was acknowledged is stored; what was cut off goes on when it is begun again")
    logging.shutdown()
    os._exit(0)


def server(
    app: FastAPI,
    *,
    grace: int,
    patience: float = PATIENCE,
    linger: float = LINGER,
    of: type[uvicorn.Server] = _Server,
) -> uvicorn.Server:
    """Return what serves an application: it logs no paths, tells nobody what it is, and trusts no header of a proxy.

    ``grace``: seconds for which requests under way are waited for at the end; ``patience``: seconds in which the head
    of a request has to come; ``linger``: seconds for which who is refused amid a body may go on sending; ``of``: the
    class that serves.
    """
    config = uvicorn.Config(
        app,
        http=partial(Connection, patience=patience, linger=linger),  # type: ignore[arg-type]  # called as the class is
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=grace,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        proxy_headers=False,
    )
    logging.getLogger("uvicorn.access").disabled = True  # its lines hold paths, and so ids
    return of(config)


def serve(app: FastAPI, listener: socket.socket, *, grace: int) -> None:
    """Serve until the process is told to end by SIGINT or SIGTERM.

    No new requests are taken then; those under way are finished, for at most ``grace`` seconds; a
    consolidation or an import that takes longer is cut between two jobs, and goes on when it is begun again.
    """
    before = signal.signal(signal.SIGTERM, _end)
    try:
        host, port = listener.getsockname()[:2]
        logger.info("listening", extra={"url": f"http://{f'[{host}]' if ':' in host else host}:{port}"})
        server(app, grace=grace, of=_Process).run([listener])
    except KeyboardInterrupt:
        pass  # how a service at a terminal is stopped
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> None:
    """End in order: Uvicorn passes the signal on when all is done."""
    raise SystemExit(0)
