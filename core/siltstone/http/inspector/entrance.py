"""Logging in and out: the token goes into a cookie, and out of it."""

from __future__ import annotations

from datetime import datetime, timezone

from fastapi import APIRouter, Request, Response

from ...access import Tokens
from ...errors import AccessDeniedError
from . import failure
from .route import OpenRoute
from .session import TOKEN, cookie, is_page
from .view import Look, fields

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=OpenRoute)


@router.get("/login")
def show(request: Request) -> Response:
    """Show the form."""
    look = Look.of(request)
    return failure.login(look) if look.has_tokens else _on("/")


@router.post("/login")
def log_in(request: Request) -> Response:
    """Take a token that is good, and lead on."""
    form, tokens = fields(request), request.app.state.service.tokens
    wanted = form.get(failure.NEXT, "/")
    response = _on(wanted)
    if isinstance(tokens, Tokens):
        token = form.get("token", "").strip()
        try:
            tokens.grant(token, datetime.now(timezone.utc))
        except AccessDeniedError:
            return failure.login(Look.of(request), status=401, was_refused=True, then=wanted)
        response.headers.append("Set-Cookie", cookie(TOKEN, token, headers=request.headers))
    return response


@router.post("/logout")
def log_out(request: Request) -> Response:
    """Let the browser forget the token."""
    response = _on("/inspector/login")
    response.headers.append("Set-Cookie", cookie(TOKEN, "", headers=request.headers, ends=True))
    return response


def _on(wanted: str) -> Response:
    """Lead on to a page of ours; to the first one, whatever else is asked for."""
    is_ours = is_page(wanted.partition("?")[0]) and wanted.isascii() and wanted.isprintable() and "\\" not in wanted
    return Response(status_code=303, headers={"Location": wanted if is_ours else "/"})
