"""From an audit to the file that a person reads."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from ...records import Message
from ...text.language import is_chinese
from ..values import Audit, Drawn, Entry, text_mark
from ..verdicts import FORMAT, VERSION
from .assets import SCRIPT, STYLE, policy
from .html import attributes, lang, marked, tag, text
from .marking import shared, unsaid
from .words import CHINESE, ENGLISH, Words

Language: TypeAlias = Literal["en", "zh"]
_WORDS: Final = {"en": ENGLISH, "zh": CHINESE}


def render(audit: Audit, *, language: Language | None = None) -> str:
    """Return the report as one HTML document, in ``language``; by default that of the items."""
    words = _WORDS[language] if language is not None else words_for(audit)
    body = [_digest(words, audit, digest, number) for number, digest in enumerate(audit.digests, 1)]
    save = tag("button", text(words.save), type="button", id="save")
    status = tag("span", id="status", role="status", aria_live="polite", data_text=words.status)
    return (
        "<!doctype html>\n"
        + tag(
            "html",
            _head(words),
            tag(
                "body",
                tag("a", text(words.skip), class_="skip", href="#digests"),
                _header(words, audit),
                tag(
                    "main",
                    *(body or [tag("p", text(words.nothing))]),
                    id="digests",
                    data_format=FORMAT,
                    data_version=str(VERSION),
                    data_user=audit.user_id,
                ),
                tag("div", save, status, class_="bar"),
                tag("noscript", tag("p", text(words.no_script))),
                f"<script>{SCRIPT}</script>",
            ),
            lang=words.lang,
        )
        + "\n"
    )


def words_for(audit: Audit) -> Words:
    """Return the words of the language in which most of the items are written."""
    return CHINESE if is_chinese("\n".join(entry.record.text for entry in audit.entries)) else ENGLISH


def _head(words: Words) -> str:
    meta = (
        '<meta charset="utf-8">',
        f"<meta{attributes(http_equiv='Content-Security-Policy', content=policy())}>",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
    )
    return tag("head", *meta, tag("title", text(words.title)), f"<style>{STYLE}</style>")


def _header(words: Words, audit: Audit) -> str:
    models = ", ".join(one for one in (audit.embedder, audit.judge) if one)
    about = words.about.format(
        user=audit.user_id, location=audit.location, day=f"{audit.made_at:%Y-%m-%d %H:%M %Z}", models=models
    )
    drawn = words.drawn.format(count=len(audit.digests), total=audit.total, waiting=audit.waiting)
    paragraphs = [tag("p", text(one)) for one in (drawn, words.how, words.plain)]
    return tag("header", tag("h1", text(words.title)), tag("p", text(about), class_="quiet"), *paragraphs)


def _digest(words: Words, audit: Audit, digest: Drawn, number: int) -> str:
    why = words.queued if digest.queued else words.sampled
    head = tag("h2", text(words.digest.format(n=number, session=digest.session_id)), id=f"d{number}")
    failed = [tag("p", text(words.failure.format(why=digest.failure)), role="note")] if digest.failure else []
    entries = [
        _entry(words, audit, digest, entry, f"{number}.{place}") for place, entry in enumerate(digest.entries, 1)
    ]
    rest = entries or [tag("p", text(words.no_items))]
    return tag("section", head, tag("p", text(why), class_="quiet"), *failed, *rest, aria_labelledby=f"d{number}")


def _entry(words: Words, audit: Audit, digest: Drawn, entry: Entry, number: str) -> str:
    record = entry.record
    said = "\n".join(f"{message.name or message.role} {message.content}" for message in entry.sources)
    kind = words.kinds.get(record.kind, record.kind)
    title = tag("h3", text(f"{words.item.format(n=number)} · {kind}"), id=f"i{number}")
    shown = tag("p", marked(unsaid(record.text, said), "u"), class_="text", dir="auto", lang=lang(record.text))
    item = tag("div", title, shown, _flags(words, entry), _scores(words, audit, entry))
    return tag(
        "article",
        item,
        _sources(words, entry),
        _verdict(words, digest, entry, number),
        aria_labelledby=f"i{number}",
        class_="flagged" if entry.flags else None,
    )


def _flags(words: Words, entry: Entry) -> str:
    flags = [words.flags[flag] for flag in entry.flags]
    if entry.checked.missing:
        flags.append(words.not_said.format(words=", ".join(entry.checked.missing)))
    return tag("ul", *(tag("li", text(flag)) for flag in flags), class_="flags") if flags else ""


def _scores(words: Words, audit: Audit, entry: Entry) -> str:
    checked = entry.checked
    parts = [words.support.format(score=f"{checked.score:.2f}"), words.words.format(share=f"{checked.words:.2f}")]
    if checked.meaning is not None:
        parts.append(words.meaning.format(share=f"{checked.meaning:.2f}"))
    if entry.record.occurred_at is not None:
        parts.append(words.date.format(day=f"{entry.record.occurred_at:%Y-%m-%d}"))
    if entry.judged is not None:
        verdict = words.agrees if entry.judged.supported else words.disagrees
        parts.append(f"{words.judge.format(model=audit.judge)} {verdict} {entry.judged.why}".strip())
    return tag("p", text(" · ".join(parts)), class_="quiet")


def _sources(words: Words, entry: Entry) -> str:
    title = tag("h3", text(words.sources))
    if not entry.sources:
        return tag("div", title, tag("p", text(words.no_sources)))
    said = [tag("li", *_message(message, entry.record.text)) for message in entry.sources]
    return tag("div", title, tag("ol", *said, class_="sources", tabindex="0", aria_label=words.sources))


def _message(message: Message, item: str) -> tuple[str, str]:
    when = f"{message.created_at:%Y-%m-%d %H:%M}" if message.created_at is not None else ""
    who = tag("span", text(f"{message.name or message.role} {when}".strip()), class_="quiet")
    content = marked(shared(message.content, item), "mark")
    return who, tag("p", content, class_="text", dir="auto", lang=lang(message.content))


def _verdict(words: Words, digest: Drawn, entry: Entry, number: str) -> str:
    choices = [
        tag(
            "label",
            f"<input{attributes(type='radio', name=f'v{number}', value=value, checked=entry.verdict == value)}> ",
            text(label),
        )
        for value, label in words.verdicts.items()
    ]
    return tag(
        "fieldset",
        tag("legend", text(words.verdict.format(n=number))),
        *choices,
        data_digest=digest.id,
        data_item=entry.record.id,
        data_mark=text_mark(entry.record.text),
    )
