"""Paths are matched as they were sent: an id may hold a slash, which is ``%2F`` then, and no end of it."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class RawPaths:
    """Hands on each request with its path still percent-encoded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] == "http" and scope.get("raw_path"):
            scope["path"] = scope["raw_path"].partition(b"?")[0].decode("latin-1")
        await self._app(scope, receive, send)
