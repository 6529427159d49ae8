"""A connection of HTTP/1.1: closed where a head does not come to its end, and not before a refusal has arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE: Final = 30.0
"""Seconds in which the head of a request has to come, from the opening of the connection or its first byte."""
LINGER: Final = 5.0
"""Seconds in which what is left of a body that was refused is taken, and thrown away."""


class Lingering:
    """A transport that tells the other side of its end, and goes when that goes, if there is still something to come.

    Closed at once, it would answer what comes with a reset, which takes away the refusal that the other side has not
    read yet (RFC 9112, 9.6).
    """

    def __init__(self, transport: asyncio.Transport, is_whole: Callable[[], bool], linger: float) -> None:
        """``is_whole``: whether all of the request has come; ``linger``: seconds for which the other side is waited."""
        self._transport, self._is_whole, self._linger = transport, is_whole, linger
        self.is_lingering = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Return whether nothing more is to be said on it."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close it, at once or when the other side has."""
        if self.is_lingering or self._transport.is_closing() or self._is_whole() or not self._transport.can_write_eof():
            self._transport.close()
            return
        self.is_lingering = True
        self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(self._linger, self._transport.close)


class Connection(H11Protocol):
    """Uvicorn bounds the time between requests; this bounds that of a head which comes by drops, or not at all."""

    def __init__(self, *args: Any, patience: float = PATIENCE, linger: float = LINGER, **options: Any) -> None:
        super().__init__(*args, **options)
        self._patience, self._linger = patience, linger
        self._waiting: asyncio.TimerHandle | None = None
        self._ending: Lingering | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        self._ending = Lingering(transport, lambda: self.conn.their_state is not h11.SEND_BODY, self._linger)
        super().connection_made(self._ending)  # type: ignore[arg-type]
        self._waiting = self.loop.call_later(self._patience, self._give_up)

    @property
    def is_lingering(self) -> bool:
        """Whether all has been said, and the other side has yet to read it."""
        return self._ending is not None and self._ending.is_lingering

    def data_received(self, data: bytes) -> None:
        """Take bytes; where a head has begun and is not whole, wait for its rest, from its first byte on."""
        if self.is_lingering:
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self._patience, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Let it end as the service does: after the answer under way, or once that was read."""
        if not self.is_lingering:
            super().shutdown()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
