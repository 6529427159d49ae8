"""What stands before every route: who asks, from where, how much, how often. Refusals cost no reading of the body."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Final
from urllib.parse import urlsplit

from fastapi import Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..access import Grant, Tokens
from ..errors import AccessDeniedError, ConfigurationError
from ..text.hosts import is_loopback
from . import inspector
from .intake import Intake, Stalled, TooLarge
from .limits import Limits, Places, Rates, retry_after
from .metrics import Metrics
from .problems import problem_response

EVERYBODY: Final = Grant("everybody", admin=True)
"""What a request is good for where there are no tokens: the service listens to this machine only."""
_READING: Final = ("GET", "HEAD", "OPTIONS")
_FOR_ADMINS: Final = "/metrics"
_STREAMED: Final = "/memory/import"
_JSON: Final = "application/json"
_ENTRANCE: Final = 8
"""Requests of strangers, who come to log in, that are worked on at once, beside all others."""
_LONGEST_LOGIN: Final = 16 << 10
"""Bytes of a body that is read from a stranger."""


class Guard:
    """Lets through to the application what may pass, and answers the rest."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Tokens | None,
        limits: Limits,
        hosts: tuple[str, ...] | None,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``hosts``: names that the service goes by besides this machine's own; ``None``: it goes by any."""
        self._app, self._tokens, self._limits, self._metrics = app, tokens, limits, metrics
        self._hosts = hosts
        self._rates, self._clock = Rates(limits), clock
        self._places = Places(limits.concurrency, spared=0 if tokens is None else limits.concurrency // 8)
        self._entrance = Places(_ENTRANCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        refusal = self._foreign(scope, headers) or self._caller(scope, headers) or self._unfit(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
        elif _is_for_memory(scope):
            await self._in_turn(scope, receive, send)
        else:
            await self._pass(scope, receive, send)

    # --- from where

    def _foreign(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse what another site makes a browser send: by a name that leads here, or by a form."""
        host = headers.get("host", "")
        if self._hosts is not None and not self._is_ours(host):
            return self._refuse(
                scope, 421, "host", f"this service does not go by the name {host[:100]!r}; --allow-host adds one"
            )
        if scope["method"] in _READING:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if (origin is not None and urlsplit(origin).netloc != host) or site not in ("none", "same-origin"):
            return self._refuse(scope, 403, "origin", "a page of another origin asks: nothing was read or changed")
        return None

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return is_loopback(name) or name in (self._hosts or ())

    # --- who

    def _caller(self, scope: Scope, headers: Headers) -> Response | None:
        """Note in the request what it is good for, or refuse it; each caller may come so often."""
        path, client = scope["path"], (scope.get("client") or ("", 0))[0]
        is_page = inspector.is_page(path)
        asks_for_memory = path == _FOR_ADMINS or _is_for_memory(scope)
        grant: Grant | None = EVERYBODY if self._tokens is None else None
        refusal: Response | None = None
        if self._tokens is not None and is_page:
            grant, refusal = self._at_the_browser(scope, headers, self._tokens)
        elif self._tokens is not None and asks_for_memory:
            grant, refusal = self._granted(scope, headers, self._tokens)
        caller = f"address {client}" if grant is None or grant is EVERYBODY else f"token {grant.name}"
        wait = self._rates.wait(caller, self._clock()) if asks_for_memory else 0.0
        if wait:
            detail = f"more than {self._limits.rate:g} requests a second: try again in {wait:.2f} s"
            return self._refuse(scope, 429, "rate", detail, headers=retry_after(wait))
        if refusal is not None:
            return refusal
        if path == _FOR_ADMINS and grant is not None and not grant.admin:
            return self._refuse(scope, 403, "access", "the metrics are for admins")
        scope["state"]["grant"] = grant
        return None

    def _at_the_browser(self, scope: Scope, headers: Headers, tokens: Tokens) -> tuple[Grant | None, Response | None]:
        """Return what the page's cookie is good for: for nothing, and the page asks for a token."""
        try:
            return _grant(tokens, inspector.token_of(headers)), None
        except AccessDeniedError:
            return None, None
        except ConfigurationError:
            return None, self._unreadable(scope)

    def _granted(self, scope: Scope, headers: Headers, tokens: Tokens) -> tuple[Grant | None, Response | None]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            detail = 'a token is needed: "Authorization: Bearer …"; siltstone token make gives one'
            challenge = {"WWW-Authenticate": 'Bearer realm="siltstone"'}
            return None, self._refuse(scope, 401, "access", detail, headers=challenge)
        try:
            return _grant(tokens, token.strip()), None
        except AccessDeniedError as exc:
            challenge = {"WWW-Authenticate": 'Bearer realm="siltstone", error="invalid_token"'}
            return None, self._refuse(scope, 401, "access", str(exc), headers=challenge)
        except ConfigurationError:
            return None, self._unreadable(scope)

    def _unreadable(self, scope: Scope) -> Response:
        return self._refuse(scope, 503, "access", "the tokens cannot be read", headers=retry_after(10))

    # --- what, and how much

    def _unfit(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse bodies of another kind or size than is read."""
        length = headers.get("content-length", "")
        has_body = "transfer-encoding" in headers or length not in ("", "0")
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if length.isdecimal() and int(length) > self._most(scope):
            return self._too_large(scope)
        if has_body and headers.get("content-encoding", "identity").lower() != "identity":
            return self._refuse(scope, 415, "media", "the body is compressed: send it as it is")
        needed = inspector.FORM if inspector.is_page(scope["path"]) else _JSON
        if has_body and scope["path"] != _STREAMED and media != needed:
            detail = f'the body is {media[:100] or "of no type"}: send it with "Content-Type: {needed}"'
            return self._refuse(scope, 415, "media", detail)
        return None

    def _most(self, scope: Scope) -> int:
        if scope["path"] == _STREAMED:
            return self._limits.max_import
        return self._limits.max_body if scope["state"]["grant"] else min(_LONGEST_LOGIN, self._limits.max_body)

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on where there is a place for it: strangers take none from those who have a token."""
        grant: Grant | None = scope["state"]["grant"]
        places, caller = (self._entrance, "strangers") if grant is None else (self._places, grant.name)
        if not places.enter(caller):
            detail = "as many requests are worked on as can be: try again in a moment"
            await self._refuse(scope, 429, "concurrency", detail, headers=retry_after(1))(scope, receive, send)
            return
        try:
            await self._pass(scope, receive, send)
        finally:
            places.leave(caller)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, and stop where its body turns out to be too large, or does not come."""
        intake = Intake(receive, most=self._most(scope), patience=self._limits.patience)
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, intake, noted)
        except (TooLarge, Stalled) as exc:
            if begun:
                raise
            if isinstance(exc, TooLarge):
                refusal = self._too_large(scope)
            else:
                detail = f"nothing more of the body came for {self._limits.patience:g} s, or it came by drops"
                refusal = self._refuse(scope, 408, "patience", detail, headers={"Connection": "close"})
            await refusal(scope, receive, send)

    def _too_large(self, scope: Scope) -> Response:
        detail = f"the body is over the limit of {self._most(scope):,} bytes: nothing was stored; send it in parts"
        return self._refuse(scope, 413, "size", detail, headers={"Connection": "close"})

    def _refuse(
        self, scope: Scope, status: int, reason: str, detail: str, *, headers: dict[str, str] | None = None
    ) -> Response:
        self._metrics.refuse(reason)
        return problem_response(status, detail, request_id=scope["state"]["request_id"], headers=headers)


def _is_for_memory(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == "/memory" or path.startswith("/memory/") or inspector.is_page(path)


def _grant(tokens: Tokens, token: str) -> Grant:
    return replace(tokens.grant(token, datetime.now(timezone.utc)), sha256="")
