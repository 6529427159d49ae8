"""What is refused, or fails, on the way to a page: in a browser it is a page too, and not the problem document."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..problems import MEDIA_TYPE
from . import failure
from .route import under_policy
from .session import is_page
from .view import Look


class Refused:
    """Shows problem documents as pages, where a page was asked for; their headers stay."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http" or not is_page(scope["path"]):
            await self._app(scope, receive, send)
            return
        begun: Message | None = None
        body = b""

        async def shown(message: Message) -> None:
            nonlocal begun, body
            if message["type"] == "http.response.start" and _is_problem(message):
                begun = message
            elif begun is None or message["type"] != "http.response.body":
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await _send_page(begun, orjson.loads(body), scope, receive, send)

        await self._app(scope, receive, shown)


def _is_problem(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type") == MEDIA_TYPE


async def _send_page(start: Message, details: dict[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
    page = under_policy(failure.page(Look.of(Request(scope)), start["status"], str(details["detail"])))
    have = set(page.headers)
    page.raw_headers += [
        (name, value) for name, value in start["headers"] if name.decode("latin-1").lower() not in have
    ]
    await page(scope, receive, send)
