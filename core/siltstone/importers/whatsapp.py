"""Reads WhatsApp's chats, ``.txt`` files in whatever way the phone writes dates.

A chat is the session ``whatsapp:<its name>``, which is the file's without what WhatsApp puts around it. Messages have
no ids: one is known by its time as written and its place in that second or minute, so that an export that begins later
is still the same chat. Times have no zone, and are taken for this machine's. Whoever the chat is named after is the
assistant, everyone else the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from ..errors import InvalidInputError
from ..records import Message
from .parts import PartReader
from .reader import Found, Items, Part, PassedOver, Said
from .source import Source
from .text_file import lines, text_of
from .values import EMPTY, NO_WORDS, NOTICE, said
from .whatsapp_lines import NAMES, Order, Start, author_and_text, bare, order_of, start_of
from .whatsapp_words import CHAT_FILES, DELETED, EDITED, LEFT_OUT

_LOOKED_AT: Final = 20
_COPY: Final = re.compile(r"\s*\(\d+\)$")


class WhatsApp(PartReader):
    """The reader of WhatsApp's chats."""

    format = "whatsapp"

    def recognises(self, source: Source) -> bool:
        """Return whether one of the first lines begins with a date, a time and an author."""
        if source.head[:1] == b"{" or source.folder:
            return False
        for line in text_of(source).splitlines()[:_LOOKED_AT]:
            if (start := start_of(line)) is not None and author_and_text(line[start.end :])[0]:
                return True
        return False

    def parts(self, source: Source, notes: list[str]) -> Iterator[Part | Found]:
        """Yield each message, with the lines that it goes on with."""
        order = _order(source)
        chat = chat_name(source)
        about = {"chat": chat, "order": order}
        text: list[str] = []
        where, same, number = "", "", 0
        for at, line in lines(source, notes):
            start = start_of(line)
            if start is None:
                if text:
                    text.append(line)
                elif line.strip():
                    yield Found(f"line {at}", PassedOver("it stands before the first message"))
                continue
            if text:
                yield Part(self.format, where, {**about, "number": number}, "\n".join(text))
            now = _stamp(start, order)
            same, number = now, number + 1 if now == same else 1
            text, where = [line], f"line {at}"
        if text:
            yield Part(self.format, where, {**about, "number": number}, "\n".join(text))
        zone = datetime.now().astimezone().tzname()
        notes.append(
            f"{source.name}: dates were read as {NAMES[order]}, and times, which have no zone there, as {zone} of this "
            "machine (TZ=… siltstone import … for another)"
        )

    def items(self, part: Part) -> Items:
        """Yield a message."""
        text = part.value if isinstance(part.value, str) else part.text or ""
        order: Order = part.about["order"]
        start = start_of(text)
        time = None if start is None else start.time(order)
        if start is None or time is None:
            raise InvalidInputError(f"its date is none, read as {NAMES[order]}")
        author, words = author_and_text(text[start.end :])
        stripped = bare(words)
        chat = part.about["chat"]
        if author is None:
            yield Found(part.where, PassedOver(NOTICE))
        elif not stripped or DELETED.fullmatch(stripped):
            yield Found(part.where, PassedOver(EMPTY))
        elif LEFT_OUT.fullmatch(words):
            yield Found(part.where, PassedOver(NO_WORDS))
        elif words.startswith("\u200e"):
            yield Found(part.where, PassedOver(NOTICE))
        else:
            content = EDITED.sub("", words)
            known = Message(
                "assistant" if author == chat else "user",
                content.strip("\n"),
                name=author,
                created_at=time.astimezone(),
                id=f"whatsapp:{chat}/{_stamp(start, order)}#{part.about['number']}",
                metadata=said(title=chat),
                session_id=f"whatsapp:{chat}",
            )
            yield Found(part.where, Said(known))


def chat_name(source: Source) -> str:
    """Return the name of a chat from that of its file; ``_chat`` in an archive is named like the archive."""
    stem = source.within if source.within and source.stem.startswith("_chat") else source.stem
    stem = _COPY.sub("", stem).strip()
    for around in CHAT_FILES:
        if match := around.fullmatch(stem):
            return match["name"].strip()
    return stem


def _order(source: Source) -> Order:
    """Return the order of the dates, from the whole file where it can be read twice."""
    if source.is_read_once:
        return order_of(_starts(text_of(source).splitlines()))
    return order_of(_starts(line for _, line in lines(source, [])))


def _starts(found: Iterator[str] | list[str]) -> Iterator[Start]:
    return (start for line in found if (start := start_of(line)) is not None)


def _stamp(start: Start, order: Order) -> str:
    time = start.time(order)
    if time is None:
        return "-".join(map(str, start.fields))
    return time.strftime("%Y-%m-%dT%H:%M:%S" if start.seconds else "%Y-%m-%dT%H:%M")
