"""Records and conversations by day, the newest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from datetime import datetime, time, timezone
from itertools import groupby
from typing import Final, TypeAlias

from fastapi import APIRouter, Request, Response

from ...errors import InvalidInputError
from ...quality.page.html import attributes, tag, text
from ...records import KINDS, Record, SessionInfo
from . import parts
from .route import PageRoute
from .view import View

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=PageRoute)

Entry: TypeAlias = Record | SessionInfo
_PAGE: Final = 50
_TURNS: Final = "all"
"""The choice of everything, turns too."""


@router.get("/timeline")
def timeline(request: Request, kind: str = "", since: str = "", until: str = "", page: int = 1) -> Response:
    """Show what was said and remembered, and when."""
    view = View.of(request)
    words = view.words
    number = min(max(page, 1), 1_000_000)
    start, end = day_of(since), day_of(until)
    entries = list(_newest(_entries(view, kind, start, end), number * _PAGE + 1))[(number - 1) * _PAGE :]
    chosen: dict[str, str | None] = {"kind": kind or None, "since": since or None, "until": until or None}
    return parts.page(
        view.look,
        words.timeline,
        _form(view, kind, since, until),
        *_days(view, entries[:_PAGE]),
        "" if entries else tag("p", text(words.none)),
        parts.pages(view, "/inspector/timeline", number, has_more=len(entries) > _PAGE, **chosen),
    )


def day_of(written: str) -> datetime | None:
    """Return the beginning of a day, in UTC; ``None`` for nothing. Raises ``InvalidInputError``."""
    if not written:
        return None
    try:
        return datetime.strptime(written, "%Y-%m-%d").replace(tzinfo=timezone.utc)
    except ValueError:
        raise InvalidInputError(f"{written[:50]!r} is not a day such as 2026-05-08") from None


def when(entry: Entry) -> datetime:
    """Return where an entry stands: a conversation at its last message."""
    return (entry.time if isinstance(entry, Record) else entry.ended_at).astimezone(timezone.utc)


def _entries(view: View, kind: str, since: datetime | None, until: datetime | None) -> Iterator[Entry]:
    """Yield what is chosen: without a kind everything but turns, for which the conversations stand."""
    end = None if until is None else datetime.combine(until, time.max, timezone.utc)
    kinds = [one for one in KINDS if one != "turn"] if not kind else None if kind == _TURNS else [kind]
    yield from view.memory.records(kinds=kinds, since=since, until=end)
    if kind in ("", _TURNS):
        for info in view.memory.sessions():
            if (since is None or info.ended_at >= since) and (end is None or info.ended_at <= end):
                yield info


def _newest(entries: Iterable[Entry], most: int) -> list[Entry]:
    return heapq.nlargest(most, entries, key=when)


def _days(view: View, entries: Iterable[Entry]) -> Iterator[str]:
    for day, of_day in groupby(entries, key=lambda entry: when(entry).date()):
        lines = [
            parts.record_line(view, entry) if isinstance(entry, Record) else _session(view, entry) for entry in of_day
        ]
        yield parts.section(f"{day:%Y-%m-%d}", tag("ul", *lines, class_="cards"), id=f"day-{day:%Y-%m-%d}")


def _session(view: View, info: SessionInfo) -> str:
    words = view.words
    title = parts.link(words.conversation.format(id=info.session_id), parts.session_url(view, info.session_id))
    about = f"{text(words.messages.format(n=info.messages))} {parts.moment(info.ended_at)}"
    return tag("li", tag("p", title, class_="text"), tag("p", about, class_="quiet"), class_="conversation")


def _form(view: View, kind: str, since: str, until: str) -> str:
    words = view.words
    choices = [("", words.all_kinds), (_TURNS, words.with_turns), *((one, words.kinds[one]) for one in KINDS)]
    days = [
        parts.field(label, f"<input{attributes(type='date', id=name, name=name, value=value)}>", of=name)
        for name, label, value in (("since", words.since, since), ("until", words.until, until))
    ]
    return parts.query_form(
        view,
        "/inspector/timeline",
        parts.field(words.kind, tag("select", parts.options(choices, kind), id="kind", name_="kind"), of="kind"),
        *days,
        tag("button", text(words.show)),
    )
