"""A body as it comes: no more of it than is read, and no slower than can be waited for."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.types import Message, Receive

_SLOWEST: Final = 1 << 10
"""Bytes a second: what comes slower uses up the patience, as a pause does."""


class TooLarge(Exception):
    """More of a body came than is read."""


class Stalled(Exception):
    """Nothing more of a body came, or too little."""


class Intake:
    """The ``receive`` of one request; it raises ``TooLarge`` and ``Stalled``.

    ``most``      bytes that are read
    ``patience``  seconds that are waited for the next bytes; and for all of them, a second more for each KiB that came
    """

    def __init__(self, receive: Receive, *, most: int, patience: float) -> None:
        self._receive, self._most, self._patience = receive, most, patience
        self._read, self._waited, self._is_whole = 0, 0.0, False

    async def __call__(self) -> Message:
        """Return the next message. Only waiting counts: a reader may take its time."""
        if self._is_whole:
            return await self._receive()  # for the end of the connection, however long that takes
        clock = asyncio.get_running_loop().time
        begun = clock()
        left = self._patience + self._read / _SLOWEST - self._waited
        try:
            message = await asyncio.wait_for(self._receive(), min(self._patience, left))
        except asyncio.TimeoutError:
            raise Stalled from None
        self._waited += clock() - begun
        self._read += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._read > self._most:
            raise TooLarge
        return message
