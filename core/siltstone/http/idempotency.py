"""Requests that are sent twice are done once: a client that got no answer may try again with the same key.

Two things see to it. What a request with a key writes has ids that follow from the key, so that done again it is the
same: that survives whatever the store survives, restarts and kills included. And this process keeps its answers for a
day, the last 10,000, so that the second request gets the very answer of the first; after a restart it is made anew.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeAlias

from fastapi import Request, Response

from ..access import Grant
from .limits import retry_after
from .problems import problem_response, request_id

HEADER: Final = "idempotency-key"
KEYED: Final = ("/memory/write", "/memory/messages", "/memory/remember", "/memory/forget", "/memory/consolidate")
"""Routes that take a key: those that change a memory. What was read is not kept, or it would outlive a forgetting."""
REPLAYED: Final = "idempotency-replayed"
_KEY: Final = re.compile(r"[!-~]{1,255}")
_KEPT_FOR: Final = 86_400.0
"""Seconds, a day."""
_MOST: Final = 10_000
_MOST_BYTES: Final = 64 << 20
"""Answers that are kept at once, and bytes of them; the oldest go first."""


def id_for(user_id: str, key: str) -> str:
    """Return the id of what a user's request with this key writes: 80 bits of its hash, as other ids have."""
    data = "\0".join((user_id, key)).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=10, person=b"siltstone-idem").hexdigest()


_Asked: TypeAlias = tuple[Grant, str, str]
"""Who asked, which route, with which key. A token of the same name that is good for another user is another."""


@dataclass
class _Reply:
    """What was answered to a request, once it was; ``body`` is ``None`` until then."""

    fingerprint: bytes
    begun: float
    status: int = 0
    body: bytes | None = None
    media_type: str | None = None


class Replies:
    """The answers to requests with a key. For one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[_Asked, _Reply] = {}
        self._bytes = 0

    async def once(
        self, request: Request, key: str, body: bytes, handle: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Return the answer that a request with this key had, or that ``handle`` gives now.

        409 while the first is worked on; 422 where the key came with another request.
        """
        if not _KEY.fullmatch(key):
            detail = f"{HEADER} is 1 to 255 ASCII characters without a space: nothing was changed"
            return problem_response(422, detail, request_id=request_id(request))
        place = (request.state.grant, request.scope["path"], key)
        fingerprint = blake2b(body).digest()
        known = self._known(place)
        if known is not None and known.fingerprint != fingerprint:
            detail = f"this {HEADER} came with another request: nothing was changed; take a new one"
            return problem_response(422, detail, request_id=request_id(request))
        if known is not None and known.body is None:
            detail = f"the first request with this {HEADER} is still worked on: try again in a moment"
            return problem_response(409, detail, request_id=request_id(request), headers=retry_after(1))
        if known is not None and known.body is not None:
            return Response(known.body, known.status, {REPLAYED: "true"}, known.media_type)
        reply = self._kept[place] = _Reply(fingerprint, self._clock())
        try:
            response = await handle(request)
        except BaseException:
            self._kept.pop(place, None)  # it may be tried again
            raise
        if response.status_code < 400:
            reply.status, reply.body, reply.media_type = response.status_code, bytes(response.body), response.media_type
            self._bytes += len(reply.body)
            self._tidy()
        else:
            self._kept.pop(place, None)
        return response

    def _known(self, place: _Asked) -> _Reply | None:
        reply = self._kept.get(place)
        if reply is not None and reply.body is not None and self._clock() - reply.begun > _KEPT_FOR:
            self._drop(place)
            return None
        return reply

    def _tidy(self) -> None:
        """Drop what is oldest, of what has been answered, where there is too much."""
        for place in list(self._kept):
            if len(self._kept) <= _MOST and self._bytes <= _MOST_BYTES:
                return
            if self._kept[place].body is not None:
                self._drop(place)

    def _drop(self, place: _Asked) -> None:
        self._bytes -= len(self._kept.pop(place).body or b"")
