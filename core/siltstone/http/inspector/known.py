"""The first page: who the user is, what is coming up, and what is known, by topic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from fastapi import APIRouter, Request, Response

from ...quality.page.html import tag, text
from ...records import Record
from ...tiers import standing
from ...tiers.policy import Policy
from . import parts
from .route import PageRoute
from .searching import search_form
from .view import View

router = APIRouter(include_in_schema=False, route_class=PageRoute)

_MOST: Final = 300
"""Facts on the page, the newest; the timeline has all."""
_USERS: Final = 200
"""Users whom an admin is offered; any other is written by name."""


@router.get("/")
def known(request: Request, forgotten: int | None = None) -> Response:
    """Show what the memory knows now."""
    view = View.of(request)
    words = view.words
    standing_now = standing.profile(view.engine.store, view.memory.user_id, Policy(view.engine.settings), view.now)
    profile = [record for record in standing_now if record.kind == "profile"]
    coming = [record for record in standing_now if record.kind == "event"]
    facts = holding(view.memory.records(kinds=("fact", "insight")), view.now)
    notice = "" if forgotten is None else words.forgotten.format(n=forgotten)
    is_empty = not (profile or coming or facts or view.memory.sessions())
    return parts.page(
        view.look,
        words.known,
        search_form(view),
        tag("p", text(words.empty)) if is_empty else "",
        parts.section(words.profile, _list(view, profile, words.no_profile), id="profile"),
        parts.section(words.coming, _list(view, coming, words.nothing_coming), id="coming"),
        parts.section(words.facts, _topics(view, facts), id="facts"),
        notice=notice,
        users=sorted(islice(view.engine.store.users(), _USERS)) if request.state.grant.admin else (),
    )


def holding(records: Iterable[Record], now: datetime) -> list[Record]:
    """Return the records that hold now, the newest first."""
    found = [one for one in records if one.superseded_by is None and standing.holds(one, now)]
    return sorted(found, key=lambda one: one.time, reverse=True)


def by_topic(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return records by what they are about; the topic of the newest first, those of none at the end."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.topic or "", []).append(record)
    rest = found.pop("", None)
    return found if rest is None else {**found, "": rest}


def _list(view: View, records: Sequence[Record], otherwise: str) -> str:
    return parts.record_list(view, records) if records else tag("p", text(otherwise), class_="quiet")


def _topics(view: View, facts: Sequence[Record]) -> str:
    words = view.words
    if not facts:
        return tag("p", text(words.no_facts), class_="quiet")
    groups = [
        tag("h3", text(topic or words.no_topic), dir="auto") + parts.record_list(view, records)
        for topic, records in by_topic(facts[:_MOST]).items()
    ]
    left = len(facts) - _MOST
    more = parts.link(words.more.format(n=left), view.url("/inspector/timeline", kind="fact")) if left > 0 else ""
    return "".join(groups) + more
