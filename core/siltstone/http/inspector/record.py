"""One memory: its text beside its sources, what is known of it, its history, and the forms to edit and pin it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, Request, Response

from ...errors import InvalidInputError
from ...quality.drawing import messages_of
from ...quality.page.html import lang, marked, tag, text
from ...quality.page.marking import shared
from ...records import HIDDEN_KINDS, TURN_PREFIX, Message, Record, message_id
from . import editing, parts
from .route import PageRoute
from .view import View, fields

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=PageRoute)

_MOST: Final = 100
"""Sources, and memories made from it, on the page."""


@router.get("/record")
def record(request: Request, id: str, done: str = "") -> Response:
    """Show a memory."""
    view = View.of(request)
    words = view.words
    notices = {
        "saved": words.saved, "same": words.unchanged, "pinned": words.pinned_now, "unpinned": words.unpinned_now
    }  # fmt: skip
    return _page(view, of(view, id), notice=notices.get(done, ""))


@router.post("/record")
def edit(request: Request, id: str) -> Response:
    """Save what the form has, unless the memory has changed since it was shown."""
    view, form = View.of(request), fields(request)
    before = of(view, id)
    if not isinstance(before, Record):
        raise InvalidInputError("this message cannot be edited: nothing was changed")
    try:
        changes = editing.changes(before, form, view.now)
        if not changes:
            return view.go("/inspector/record", id=id, done="same")
        if form.get("version") != str(before.version):
            return _page(view, before, typed=form, notice=view.words.changed_meanwhile, status=409)
        view.memory.update(before.id, **changes)
    except InvalidInputError as exc:  # what was typed is not to be typed again
        return _page(view, before, typed=form, notice=str(exc), status=422)
    return view.go("/inspector/record", id=id, done="saved")


@router.post("/pin")
def pin(request: Request, id: str) -> Response:
    """Pin a memory, or take the pin away."""
    view, pinned = View.of(request), fields(request).get("pinned") == "yes"
    view.memory.update(id, pinned=pinned)
    return view.go("/inspector/record", id=id, done="pinned" if pinned else "unpinned")


def of(view: View, id: str) -> Record | Message:
    """Return what an id leads to: of a message its turn, where it has one. Raises ``NotFoundError``."""
    found = view.memory.get(id)
    if isinstance(found, Message):
        (stored,) = view.engine.store.fetch(view.memory.user_id, [TURN_PREFIX + message_id(id)])
        if stored is not None and stored.record is not None:
            return stored.record
    return found


def _page(
    view: View,
    found: Record | Message,
    *,
    typed: Mapping[str, str] | None = None,
    notice: str = "",
    status: int = 200,
) -> Response:
    words = view.words
    if isinstance(found, Message):
        said = tag("ol", parts.message_line(view, found, is_whole=True), class_="talk")
        back = "" if found.session_id is None else _session_link(view, found.session_id)
        return parts.page(view.look, words.memory, said, back, _forget_link(view, found.id or ""))
    beside = tag("div", _itself(view, found), _sources(view, found), class_="beside")
    return parts.page(
        view.look,
        f"{words.memory}: {parts.kind(words, found)}",
        beside,
        parts.section(words.edit, editing.form(view, found, typed), id="edit"),
        parts.section(words.history, _history(view, found), id="history"),
        _dependents(view, found),
        notice=notice,
        status=status,
    )


def _itself(view: View, record: Record) -> str:
    words = view.words
    pin = view.form(
        "/inspector/pin",
        f'<input type="hidden" name="pinned" value="{"no" if record.pinned else "yes"}">',
        tag("button", text(words.unpin if record.pinned else words.pin), class_="second"),
        id=record.id,
    )
    deeds = tag("div", pin, _forget_link(view, record.id), class_="deeds")
    return parts.section(words.text, parts.prose(record.text), _about(view, record), deeds, id="itself")


def _about(view: View, record: Record) -> str:
    """Return what is known of a memory, as a list of terms."""
    names = view.words.facts_of_it
    times = {
        "created": record.created_at,
        "stored": record.stored_at,
        "updated": record.updated_at,
        "occurred": record.occurred_at,
        "valid_from": record.valid_from,
        "valid_until": record.valid_until,
        "expires": record.expires_at,
    }
    values = {
        "topic": record.topic,
        "speaker": record.speaker,
        "importance": editing.number(record.importance) or None,
        "support": str(record.support) if record.support > 1 else None,
        "made_by": record.made_by,
        "flags": ", ".join(record.flags) or None,
        "id": record.id,
        "metadata": json.dumps(dict(record.metadata), ensure_ascii=False, default=str) if record.metadata else None,
    }
    rows = [(names[name], parts.moment(value)) for name, value in times.items() if value is not None]
    rows += [(names[name], text(value)) for name, value in values.items() if value is not None]
    if record.session_id is not None:
        url = parts.session_url(view, record.session_id)
        rows.append((names["session"], parts.link(record.session_id, url)))
    if record.superseded_by is not None:
        url = parts.record_url(view, record.superseded_by)
        rows.append((names["superseded_by"], parts.link(record.superseded_by, url)))
    return tag("dl", *(tag("div", tag("dt", text(name)), tag("dd", value, dir="auto")) for name, value in rows))


def _sources(view: View, record: Record) -> str:
    """Return what a memory rests on, with the words marked that both have."""
    words, ids = view.words, [id for id in record.source_ids if id != message_id(record.id)]
    if not ids:
        return parts.section(words.sources, tag("p", text(words.no_sources), class_="quiet"), id="sources")
    found = messages_of(view.engine.store, view.memory.user_id, ids)
    lines = [
        parts.message_line(view, message, marked(shared(message.content, record.text), "mark"))
        for message in list(found.values())[:_MOST]
    ]
    gone = len(ids) - len(found)
    more = tag("p", text(words.gone_sources.format(n=gone)), class_="quiet") if gone else ""
    return parts.section(words.sources, tag("ol", *lines, class_="talk"), more, id="sources")


def _dependents(view: View, record: Record) -> str:
    ids = [record.id, message_id(record.id)]
    made = [
        one
        for one in view.engine.store.dependents(view.memory.user_id, ids)
        if one.kind not in HIDDEN_KINDS and one.id != record.id
    ]
    if not made:
        return ""
    return parts.section(view.words.rests_on_it, parts.record_list(view, made[:_MOST]), id="made")


def _history(view: View, record: Record) -> str:
    words, versions = view.words, view.memory.history(record.id)
    if not versions:
        return tag("p", text(words.no_history), class_="quiet")
    lines = []
    for one in versions:
        which = words.version.format(n=one.version) if one.id == record.id else words.replaced
        title = text(which) if one.id == record.id else parts.link(which, parts.record_url(view, one.id))
        body = tag("p", text(one.text), class_="text", dir="auto", lang=lang(one.text))
        written = parts.moment(one.updated_at or one.stored_at)
        lines.append(tag("li", tag("p", title, " ", written, class_="quiet"), body))
    return tag("ol", *lines, class_="talk")


def _forget_link(view: View, id: str) -> str:
    return parts.link(view.words.forget, view.url("/inspector/forget", id=id), class_="danger")


def _session_link(view: View, id: str) -> str:
    return tag("p", parts.link(view.words.conversation.format(id=id), parts.session_url(view, id)))
