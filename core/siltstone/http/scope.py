"""What a route is given: the memory of the user who is meant, ids out of the path, bodies read strictly."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import unquote

import orjson
from fastapi import Depends, Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import AfterValidator

from ..errors import AccessDeniedError
from ..memory import TieredMemory
from .bodies import UserId
from .idempotency import HEADER, KEYED, Replies


def _decoded(value: str) -> str:
    return unquote(value, errors="strict")


PathId = Annotated[
    str,
    Path(min_length=1, description="Percent-encoded: a slash in it is `%2F`."),
    AfterValidator(_decoded),
]
AskedUser = Annotated[UserId, Query()]


def memory_of(request: Request, user_id: str | None) -> TieredMemory:
    """Return the memory of a user, whom the request's token must be good for; left out: the token's own."""
    grant = request.state.grant
    memory: TieredMemory = request.app.state.service.memory
    wanted = user_id or grant.user_id or memory.user_id
    if not grant.allows(wanted):
        raise AccessDeniedError("the token is good for another user: nothing was read or changed")
    return memory.for_user(wanted)


def _asked(request: Request, user_id: AskedUser = None) -> TieredMemory:
    return memory_of(request, user_id)


AskedMemory = Annotated[TieredMemory, Depends(_asked)]
"""The memory of the user in the query string."""


class _StrictRequest(Request):
    """A request whose JSON is read strictly: no lone surrogates, no nan, no depth that ends the interpreter's stack."""

    async def json(self) -> Any:
        body = await self.body()
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as exc:
            raise json.JSONDecodeError(exc.msg, "", exc.pos) from None


class StrictRoute(APIRoute):
    """A route that reads its body whole and strictly, and answers a write sent again with what it answered before."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, for requests that are read strictly."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            request = _StrictRequest(request.scope, request.receive)
            body = await request.body()  # here, where nothing takes a body that is too large for one that is no JSON
            key = request.headers.get(HEADER)
            if key is None or self.path not in KEYED:
                return await handler(request)
            replies: Replies = request.app.state.service.replies
            return await replies.once(request, key, body, handler)

        return strict
