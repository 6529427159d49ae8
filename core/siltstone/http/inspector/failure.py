"""What a page says that cannot be shown, or not yet, and the form to log in."""

from __future__ import annotations

from typing import Final

from fastapi import Response

from ...quality.page.html import attributes, tag, text
from . import parts
from .view import Look

AGAIN: Final = "again"
"""The parameter of a page that is asked for again from here."""
NEXT: Final = "next"
"""The field that holds where a login leads on to."""


def page(look: Look, status: int, detail: str) -> Response:
    """Return a page that says what went wrong."""
    words = look.words
    title = words.failures.get(status, words.failures[500])
    told = tag("p", text(detail), class_="text") if detail else ""
    return parts.page(look, title, told, tag("p", parts.link(words.back, look.url("/"))), status=status)


def login(look: Look, *, status: int = 200, was_refused: bool = False, then: str | None = None) -> Response:
    """Return the form that takes a token and leads on to ``then``; ``was_refused``: the one that came was not good.

    Where it stands in the place of a page, it leads on to that page.
    """
    words = look.words
    then = then or (look.url(look.path, **look.query) if look.is_read and status == 401 else "/")
    told = tag("p", text(words.refused), class_="wrong", role="alert") if was_refused else ""
    control = attributes(
        type="password", id="token", name="token", required=True, autocomplete="current-password",
        aria_describedby="token-hint", autofocus=True,
    )  # fmt: skip
    form = look.form(
        "/inspector/login",
        parts.field(words.token, f"<input{control}>", of="token", hint=words.token_hint),
        f"<input{attributes(type='hidden', name=NEXT, value=then)}>",
        tag("button", text(words.log_in)),
    )
    response = parts.page(look, words.log_in, told, form, status=status, nav=False)
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="siltstone"'
    return response


def arrival(look: Look) -> Response:
    """Return what leads on to the same page from here: coming from another site, a browser has left its cookies out."""
    here = look.url(look.path, **{**look.query, AGAIN: "1"})
    response = parts.page(look, "siltstone", tag("p", parts.link(look.words.go_on, here)), nav=False)
    response.headers["Refresh"] = f"0; url={here}"
    return response
