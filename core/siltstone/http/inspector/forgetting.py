"""Forgetting: first what would go along, then the going."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from ...errors import InvalidInputError
from ...quality.page.html import tag, text
from ...records import ForgetReport, Message, Record, message_id
from . import parts
from .route import PageRoute
from .view import View, fields

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=PageRoute)

_MOST: Final = 200
"""Memories on the page, of each kind of going."""


@router.get("/forget")
def preview(request: Request, id: str | None = None, session: str | None = None) -> Response:
    """Show what would go, and ask."""
    return _page(View.of(request), id, session)


@router.post("/forget")
def forget(request: Request, id: str | None = None, session: str | None = None) -> Response:
    """Forget what was shown; what would go by now otherwise, is shown again."""
    view, what = View.of(request), _what(id, session)
    if fields(request).get("shown") != mark(view.memory.forget(**what, dry_run=True)):
        return _page(view, id, session, status=409)
    gone = view.memory.forget(**what)
    return view.go("/", forgotten=len(_items(gone.messages, gone.records)))


def mark(report: ForgetReport) -> str:
    """Return what tells whether a report is the one that was shown."""
    going = "\0".join(sorted({*report.messages, *report.records, *report.partial}))
    return blake2b(going.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _what(id: str | None, session: str | None) -> dict[str, Any]:
    if (id is None) == (session is None):
        raise InvalidInputError("it must be said what to forget: a memory, or a conversation; nothing was changed")
    return {"ids": [id]} if id is not None else {"session_id": session}


def _page(view: View, id: str | None, session: str | None, *, status: int = 200) -> Response:
    words = view.words
    report = view.memory.forget(**_what(id, session), dry_run=True)
    going = _items(report.messages, report.records)
    if not going:
        return parts.page(view.look, words.will_go, tag("p", text(words.nothing_to_forget)), status=404)
    derived = [one for one in going if one in set(report.derived)]
    itself = [one for one in going if one not in set(report.derived)]
    back = view.url("/inspector/record", id=id) if id is not None else view.url("/inspector/session", id=session)
    confirm = view.form(
        "/inspector/forget",
        f'<input type="hidden" name="shown" value="{mark(report)}">',
        tag("button", text(words.forget_now), class_="danger"),
        " ",
        parts.link(words.keep, back),
        id=id,
        session=session,
    )
    return parts.page(
        view.look,
        words.will_go,
        _group(view, words.goes_itself, itself, "itself"),
        _group(view, words.goes_along, derived, "along"),
        _group(view, words.is_remade, list(report.partial), "remade"),
        tag("p", text(words.for_good)),
        confirm,
        notice=words.other_now if status == 409 else "",
        status=status,
    )


def _items(messages: tuple[str, ...], records: tuple[str, ...]) -> list[str]:
    """Return the ids of what goes, a message and its turn once."""
    return list(dict.fromkeys(message_id(id) for id in (*messages, *records)))


def _group(view: View, title: str, ids: list[str], id: str) -> str:
    if not ids:
        return ""
    found = view.engine.store.fetch(view.memory.user_id, ids[:_MOST])
    lines = [_line(view, stored.record or stored.message) for stored in found if stored is not None]
    return parts.section(f"{title} ({len(ids)})", tag("ul", *lines, class_="cards"), id=id)


def _line(view: View, found: Record | Message | None) -> str:
    if isinstance(found, Record):
        return parts.record_line(view, found)
    return "" if found is None else parts.message_line(view, found)
