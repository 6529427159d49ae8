"""What pages have in common, as HTML: the frame, times, memories as they stand in lists, bars. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Final

from fastapi import Response

from ...quality.page.html import attributes, lang, tag, text
from ...records import Message, Record
from ...text.sentences import MARK
from .view import USER, Look, View
from .words import Words

_PAGES: Final = (
    ("/", "known"),
    ("/inspector/search", "search"),
    ("/inspector/timeline", "timeline"),
    ("/inspector/work", "work"),
    ("/inspector/digests", "digests"),
    ("/docs", "api"),
)
_LOOKS: Final = (
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><link rel="icon" href="/inspector/icon.svg">'
    '<link rel="stylesheet" href="/inspector/page.css"><script type="module" src="/inspector/page.js"></script>'
)
_BAR: Final = 100
_OF_A_MEMORY: Final = 1_000
_OF_A_MESSAGE: Final = 10_000
"""Characters of a memory, and of a message, that stand in a list; their own pages have all."""


def page(
    look: Look,
    title: str,
    *content: str,
    status: int = 200,
    notice: str = "",
    nav: bool = True,
    users: Iterable[str] = (),
) -> Response:
    """Return a whole page; ``notice`` is what has just been done, ``users`` are names to choose from."""
    words = look.words
    head = tag("head", _LOOKS, tag("title", text(f"{title} · siltstone")))
    told = tag("p", text(notice), class_="notice", role="status") if notice else ""
    main = tag("main", tag("h1", text(title)), told, *content, id="content", tabindex="-1")
    body = tag("body", tag("a", text(words.skip), class_="skip", href="#content"), _banner(look, nav, users), main)
    html = f"<!doctype html>\n{tag('html', head, body, lang=words.lang)}\n"
    return Response(html, status, media_type="text/html")


def _banner(look: Look, nav: bool, users: Iterable[str]) -> str:
    words = look.words
    links = [
        tag(
            "li",
            tag(
                "a",
                text(str(getattr(words, name))),
                href=look.url(path),
                aria_current="page" if path == look.path else None,
            ),
        )
        for path, name in _PAGES
    ]
    menu = tag("nav", tag("ul", *links), aria_label=words.pages) if nav else ""
    here = look.path if look.is_read else "/"
    other = look.url(here, **{**(look.query if look.is_read else {}), "lang": words.other_lang})
    switch = tag("a", text(words.other), href=other, lang=words.other_lang, hreflang=words.other_lang)
    who = tag("div", _whose(look, users), switch, class_="who")
    return tag("header", tag("p", text("siltstone"), class_="name"), menu, who)


def _whose(look: Look, users: Iterable[str]) -> str:
    """Return whom the page is about, and, where there are tokens, the way out."""
    words, grant = look.words, look.grant
    if grant is None:
        return ""
    shown = look.user or grant.user_id or look.default
    if grant.admin:
        control = attributes(id="user", name=USER, value=shown, autocomplete="off", size="12", list="users")
        names = tag("datalist", *(tag("option", value=name) for name in users), id="users")
        label = tag("label", text(words.user), for_="user")
        button = tag("button", text(words.show))
        whose = tag("form", label, f"<input{control}>", names, button, method="get", action="/", class_="inline")
    else:
        whose = tag("span", text(f"{words.user}: {shown}"))
    out = look.form("/inspector/logout", tag("button", text(words.log_out))) if look.has_tokens else ""
    return whose + out


def moment(value: datetime) -> str:
    """Return a time, in UTC; the script writes it in the reader's own zone."""
    value = value.astimezone(timezone.utc)
    return tag("time", text(f"{value:%Y-%m-%d %H:%M} UTC"), datetime=value.isoformat(), data_moment=True)


def day(value: datetime) -> str:
    """Return a day, as the calendar has it that it was given in."""
    return tag("time", text(f"{value:%Y-%m-%d}"), datetime=f"{value:%Y-%m-%d}")


def prose(value: str, *, name: str = "p") -> str:
    """Return a text that somebody wrote, in its own direction and language."""
    return tag(name, text(value), class_="text", dir="auto", lang=lang(value))


def record_url(view: View, id: str, **query: str | int | None) -> str:
    """Return the link to a memory or a message."""
    return view.url("/inspector/record", id=id, **query)


def session_url(view: View, id: str) -> str:
    """Return the link to a conversation."""
    return view.url("/inspector/session", id=id)


def kind(words: Words, record: Record) -> str:
    """Return the name of a record's kind."""
    return words.kinds.get(record.kind, record.kind)


def record_line(view: View, record: Record, *more: str) -> str:
    """Return a memory as it stands in a list: its text, or the beginning of it, leads to its page."""
    words = view.words
    shown = tag(
        "a",
        text(_beginning(record.text.strip(), _OF_A_MEMORY) or record.id),
        href=record_url(view, record.id),
        dir="auto",
    )
    about = [tag("span", text(kind(words, record)), class_=f"kind {record.kind}")]
    if record.pinned:
        about.append(tag("span", text(words.pinned), class_="kind pinned"))
    about.append(day(record.time) if record.occurred_at is not None else moment(record.time))
    if record.speaker or record.role:
        about.append(tag("span", text(record.speaker or words.roles.get(record.role or "", ""))))
    line = tag("p", shown, class_="text", lang=lang(record.text))
    return tag("li", line, tag("p", " ".join(about), class_="quiet"), *more)


def record_list(view: View, records: Iterable[Record]) -> str:
    """Return a list of memories, or that there is none."""
    lines = [record_line(view, record) for record in records]
    return tag("ul", *lines, class_="cards") if lines else tag("p", text(view.words.none), class_="quiet")


def message_line(view: View, message: Message, content: str | None = None, *, is_whole: bool = False) -> str:
    """Return a message as it stands in a list; ``content`` is its text as HTML, where something is marked in it.

    A long one leads to its page, which has the whole of it.
    """
    words = view.words
    who = message.name or words.roles.get(message.role, message.role)
    name = text(who) if message.id is None else tag("a", text(who), href=record_url(view, message.id))
    when = "" if message.created_at is None else moment(message.created_at)
    most = None if is_whole or message.id is None else _OF_A_MESSAGE
    said = text(_beginning(message.content, most)) if content is None else content
    if content is None and most is not None and len(message.content) > most:
        said += " " + link(words.read_all, record_url(view, message.id or ""))
    body = tag("p", said, class_="text", dir="auto", lang=lang(message.content))
    return tag("li", tag("p", name, " ", when, class_="quiet"), body, class_=f"said {message.role}")


def _beginning(value: str, most: int | None) -> str:
    return value if most is None or len(value) <= most else value[:most] + MARK


def section(title: str, *content: str, id: str) -> str:
    """Return a part of a page, under its heading."""
    heading = f"{id}-title"
    return tag("section", tag("h2", text(title), id=heading), *content, aria_labelledby=heading, id=id)


def bar(value: float, most: float) -> str:
    """Return a bar as long as a number's share of the greatest; below zero it is another colour. Drawn, so silent."""
    width = 0.0 if most <= 0 else min(abs(value) / most, 1.0) * _BAR
    return (
        f'<svg class="bar" viewBox="0 0 {_BAR} 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="rail" width="{_BAR}" height="8"/>'
        f'<rect class="{"minus" if value < 0 else "plus"}" width="{width:.1f}" height="8"/></svg>'
    )


def bars(caption: str, head: tuple[str, str], rows: Sequence[tuple[str, float, str]]) -> str:
    """Return a table of names, numbers as they are written, and bars of them."""
    most = max((abs(value) for _, value, _ in rows), default=0.0)
    lines = [
        tag(
            "tr",
            tag("th", text(name), scope="row"),
            tag("td", text(shown), class_="number"),
            tag("td", bar(value, most)),
        )
        for name, value, shown in rows
    ]
    titles = tag("tr", *(tag("th", text(one), scope="col") for one in head), "<td></td>")
    return tag(
        "table",
        tag("caption", text(caption)),
        tag("thead", titles, class_="unseen"),
        tag("tbody", *lines),
        class_="bars",
    )


def field(label: str, control: str, *, of: str, hint: str = "") -> str:
    """Return a control under its label; ``of`` is its id, ``hint`` what may be put there."""
    told = tag("span", text(hint), class_="quiet", id=f"{of}-hint") if hint else ""
    return tag("div", tag("label", text(label), for_=of), control, told, class_="field")


def query_form(view: View, path: str, *content: str, role: str | None = None) -> str:
    """Return a form that asks for a page, about the same user."""
    user = view.look.user
    same = "" if user is None else f"<input{attributes(type='hidden', name=USER, value=user)}>"
    return tag("form", same, *content, method="get", action=path, role=role, class_="search")


def options(choices: Iterable[tuple[str, str]], chosen: str) -> str:
    """Return the options of a select: values with their names."""
    return "".join(tag("option", text(name), value=value, selected=value == chosen) for value, name in choices)


def link(label: str, href: str, *, class_: str | None = None) -> str:
    """Return a link."""
    return tag("a", text(label), href=href, class_=class_)


def pages(view: View, path: str, number: int, *, has_more: bool, **query: str | None) -> str:
    """Return links to the pages before and after one of a list."""
    found = []
    if number > 1:
        found.append(link(view.words.newer, view.url(path, **query, page=number - 1)))
    if has_more:
        found.append(link(view.words.older, view.url(path, **query, page=number + 1)))
    return tag("nav", *found, aria_label=view.words.page, class_="pages") if found else ""
