"""Digests that a person is to look at: each item beside its sources, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fastapi import APIRouter, Request, Response

from ...errors import ReadOnlyError
from ...lifecycle.reviews import VERDICTS
from ...quality.drawing import digests as known_digests
from ...quality.page.html import attributes, lang, marked, tag, text
from ...quality.page.marking import shared, unsaid
from ...quality.page.words import CHINESE, ENGLISH
from ...quality.page.words import Words as AuditWords
from ...quality.run import audit
from ...quality.values import Drawn, Entry, text_mark
from ...quality.verdicts import Given, Verdicts, note_verdicts
from . import parts
from .route import PageRoute
from .view import View, fields

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=PageRoute)

_SHOWN: Final = 5
_AUDIT: Final = {"en": ENGLISH, "zh": CHINESE}


@router.get("/digests")
def digests(request: Request, right: int | None = None, wrong: int = 0, unsure: int = 0) -> Response:
    """Show a few digests, those that wait for a person first."""
    view = View.of(request)
    words = view.words
    audit_words = _AUDIT[words.lang]
    total = len(known_digests(view.engine.store, view.memory.user_id))
    drawn = audit(view.memory, sample=min(1.0, _SHOWN / total)).digests if total else ()
    waiting = view.memory.stats().reviews
    fieldsets = [_digest(view, audit_words, digest, n) for n, digest in enumerate(drawn, 1)]
    retract = tag("label", '<input type="checkbox" name="retract" value="yes"> ', text(words.retract))
    form = view.form("/inspector/digests", *fieldsets, tag("p", retract), tag("button", text(audit_words.save)))
    return parts.page(
        view.look,
        words.digests,
        tag("p", text(words.waiting.format(n=waiting, all=total)), "<br>", text(words.digests_hint)),
        form if drawn else tag("p", text(audit_words.nothing)),
        notice="" if right is None else words.noted.format(right=right, wrong=wrong, unsure=unsure),
    )


@router.post("/digests")
def note(request: Request) -> Response:
    """Note the verdicts that were ticked; forget what is wrong, where that is asked for."""
    view, form = View.of(request), fields(request)
    if view.engine.read_only:
        raise ReadOnlyError("this memory is open for reading only: nothing was noted")
    given = tuple(_given(form))
    user_id = view.memory.user_id
    report = note_verdicts(view.engine.store, user_id, Verdicts(user_id, given), now=view.now)
    if form.get("retract") == "yes" and report.wrong:
        view.memory.forget(ids=report.wrong)
    return view.go("/inspector/digests", right=len(report.right), wrong=len(report.wrong), unsure=len(report.unsure))


def _given(form: dict[str, str]) -> Iterator[Given]:
    """Yield the verdicts of a form: ``verdict-N`` beside ``digest-N``, ``item-N`` and ``mark-N``."""
    for name, verdict in form.items():
        word, _, number = name.partition("-")
        about = [form.get(f"{one}-{number}") for one in ("digest", "item", "mark")]
        if word == "verdict" and verdict in VERDICTS and all(about):
            digest, item, mark = (one or "" for one in about)
            yield Given(digest, item, mark, verdict)


def _digest(view: View, words: AuditWords, digest: Drawn, number: int) -> str:
    why = words.queued if digest.queued else words.sampled
    entries = [_entry(view, words, digest, entry, f"{number}.{n}") for n, entry in enumerate(digest.entries, 1)]
    title = words.digest.format(n=number, session=digest.session_id)
    return parts.section(title, tag("p", text(why), class_="quiet"), *entries, id=f"digest-{number}")


def _entry(view: View, words: AuditWords, digest: Drawn, entry: Entry, number: str) -> str:
    record = entry.record
    said = "\n".join(f"{message.name or message.role} {message.content}" for message in entry.sources)
    kind = words.kinds.get(record.kind, record.kind)
    title = tag("h3", parts.link(f"{words.item.format(n=number)} · {kind}", parts.record_url(view, record.id)))
    shown = tag("p", marked(unsaid(record.text, said), "u"), class_="text", dir="auto", lang=lang(record.text))
    flags = [words.flags[flag] for flag in entry.flags]
    if entry.checked.missing:
        flags.append(words.not_said.format(words=", ".join(entry.checked.missing)))
    marks = tag("ul", *(tag("li", text(flag)) for flag in flags), class_="flags") if flags else ""
    sources = [
        parts.message_line(view, message, marked(shared(message.content, record.text), "mark"))
        for message in entry.sources
    ]
    beside = tag("ol", *sources, class_="talk") if sources else tag("p", text(words.no_sources), class_="quiet")
    return tag(
        "article",
        tag(
            "div", tag("div", title, shown, marks), tag("div", tag("h3", text(words.sources)), beside), class_="beside"
        ),
        _verdict(words, digest, entry, number),
    )


def _verdict(words: AuditWords, digest: Drawn, entry: Entry, number: str) -> str:
    hidden = {"digest": digest.id, "item": entry.record.id, "mark": text_mark(entry.record.text)}
    about = [f"<input{attributes(type='hidden', name=f'{one}-{number}', value=its)}>" for one, its in hidden.items()]
    choices = []
    for value, label in words.verdicts.items():
        given = attributes(type="radio", name=f"verdict-{number}", value=value, checked=entry.verdict == value)
        choices.append(tag("label", f"<input{given}> ", text(label)))
    return tag("fieldset", tag("legend", text(words.verdict.format(n=number))), *about, *choices)
