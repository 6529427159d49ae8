"""HEAD, wherever GET is: what a GET would answer, without its body."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class _Enough(Exception):
    """The head has been sent, and nobody wants the rest."""


class Heads:
    """Hands a HEAD on as the GET of the same path, and stops it where the body begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def head_alone(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
                return
            await send({"type": "http.response.body", "body": b""})
            raise _Enough

        scope["method"] = "GET"  # in place: what the router notes in the scope is for the log
        try:
            await self._app(scope, receive, head_alone)
        except Exception as exc:
            if not _is_enough(exc):
                raise
        finally:
            scope["method"] = "HEAD"


def _is_enough(exc: BaseException) -> bool:
    """Return whether it is ``_Enough``, or a group of it alone, as a task group makes of what ends a stream."""
    within: tuple[BaseException, ...] = getattr(exc, "exceptions", ())
    return isinstance(exc, _Enough) or (bool(within) and all(map(_is_enough, within)))
