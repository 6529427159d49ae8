"""Every request gets an id, a line in the log and a place in the metrics, whatever becomes of it.

Neither holds what was said, by whom, or an id of a memory: a line has the route's pattern, not the path.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from typing import Final

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .limits import retry_after
from .logs import where
from .metrics import Metrics
from .problems import problem_response

logger = logging.getLogger("siltstone.http")

_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


class Observed:
    """Watches each request from before anything is done until the last byte of its answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id = _request_id(scope)
        scope["state"] = {**scope.get("state", {}), "request_id": id}
        begun, status, size = time.perf_counter(), 0, 0

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name.lower() for name, _ in message["headers"]}
                more = {**_HEADERS, "x-request-id": id}
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in more.items() if name.encode() not in there),
                ]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        self._metrics.begin()
        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            status = _NOBODY
        except asyncio.CancelledError:
            if status:
                raise
            await problem_response(503, _ENDING, request_id=id, headers=retry_after(10))(scope, receive, watched)
        except Exception as exc:
            _log_unforeseen(exc, id)
            if status:
                raise  # the answer has begun: the connection is cut, so that nobody takes it for whole
            detail = "the service failed; its log says where, under this request_id"
            await problem_response(500, detail, request_id=id)(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - begun
            route, method = _route(scope), scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.end(method, route, status, seconds)
            caller = getattr(scope["state"].get("grant"), "name", None)
            logger.info(
                "request",
                extra={
                    "request_id": id,
                    "method": method,
                    "route": route,
                    "status": status,
                    "ms": round(seconds * 1_000, 1),
                    "bytes": size,
                    "caller": caller,
                },
            )


_ENDING: Final = (
    "the service is told to end, and this took longer than its grace: what is stored stays, and work that was cut goes "
    "on when it is begun again; send it again once the service is back"
)
_NOBODY: Final = 499
"""The status, in log and metrics, of a request whose client has gone."""
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


def _request_id(scope: Scope) -> str:
    """Return the id that the client gave, if it is one, or a new one."""
    given = Request(scope).headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else secrets.token_hex(8)


def _route(scope: Scope) -> str:
    """Return the pattern of the route that took a request, ``-`` where none did."""
    return str(getattr(scope.get("route"), "path", "-"))


def _log_unforeseen(error: Exception, request_id: str) -> None:
    """Log what was raised and where. Not its words: they may be a user's."""
    logger.error(
        "unforeseen %s",
        type(error).__name__,
        extra={
            "request_id": request_id,
            "where": where(error.__traceback__),
        },
    )
