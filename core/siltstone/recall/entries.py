"""What stands in a context: records, hits and exchanges as entries, each included whole or not at all. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..records import TURN_PREFIX, Hit, Message, Record
from ..settings import Headings
from ..text.exchanges import groups
from ..text.guard import label, neutral
from ..text.keys import date_words, text_hash

Mark = tuple[str, int]
"""Who said it (empty for records that are not turns) and the hash of the words: equal marks say the same."""


@dataclass(frozen=True, eq=False)
class Entry:
    """Lines of text, how they are recognised, and where they stand.

    ``lines``    as they appear, neutralised
    ``date``     the heading that they stand under, empty for none
    ``place``    order within the section
    ``ids``, ``marks``   the records and words that the entry holds
    ``hit``, ``messages``   what it was made from
    """

    lines: str
    date: str = ""
    place: tuple[float, int] = (0.0, 0)
    ids: frozenset[str] = frozenset()
    marks: frozenset[Mark] = frozenset()
    hit: Hit | None = None
    messages: tuple[Message, ...] = ()

    @property
    def weight(self) -> int:
        """How many it counts for when left out."""
        return max(len(self.messages), 1)

    def repeats(self, ids: Iterable[str], marks: Iterable[Mark]) -> bool:
        """Return whether something of it is among these."""
        return not (self.ids.isdisjoint(ids) and self.marks.isdisjoint(marks))


def listed(record: Record, words: Headings) -> Entry:
    """Return a record of the sections ``profile`` and ``summary``; the summary of a session begins with its day."""
    day = f"{_day(record, words)}: " if record.kind == "summary" and record.session_id else ""
    return Entry(f"- {day}{_text(record, words)}", ids=frozenset([record.id]), marks=frozenset([_mark(record)]))


def recalled(hit: Hit, words: Headings) -> Entry:
    """Return a search result: a turn with its speaker, anything else as an item, under the day that it is about."""
    record = hit.record
    head = f"{_speaker(record.role, record.speaker, words)}: " if record.kind == "turn" else "- "
    return Entry(
        head + _text(record, words),
        date=f"[{_day(record, words)}]",
        place=(record.time.timestamp(), hit.row),
        ids=frozenset([record.id]),
        marks=frozenset([_mark(record)]),
        hit=hit,
    )


def exchanges(messages: Sequence[Message], words: Headings) -> list[Entry]:
    """Return the exchanges of a conversation, each from a user's turn to the next, newest first.

    System messages, and what stands before the first user's turn, cannot open a window and are left out, as are
    calls to tools without their results: a question follows.
    """
    found: list[list[Message]] = []
    for group in groups(messages, pending=False):
        if group[0].role == "user":
            found.append(group)
        elif found and group[0].role != "system":
            found[-1].extend(group)
    return [_exchange(exchange, n, words) for n, exchange in reversed(list(enumerate(found)))]


def _exchange(group: list[Message], n: int, words: Headings) -> Entry:
    said = [message for message in group if message.content.strip()]
    return Entry(
        "\n".join(f"{_speaker(m.role, m.name, words)}: {neutral(m.content)}" for m in said),
        place=(0.0, n),
        ids=frozenset(TURN_PREFIX + m.id for m in group if m.id is not None),
        marks=frozenset((m.name or m.role, text_hash(m.content)) for m in said),
        messages=tuple(group),
    )


def _mark(record: Record) -> Mark:
    said_by = record.speaker or record.role or "" if record.kind == "turn" else ""
    return said_by, text_hash(record.text)


def _text(record: Record, words: Headings) -> str:
    until = record.valid_until
    return neutral(record.text.strip()) + (
        words.until.format(date_words(until, chinese=words.chinese)) if until is not None else ""
    )


def _day(record: Record, words: Headings) -> str:
    return date_words(record.time, chinese=words.chinese)


def _speaker(role: str | None, name: str | None, words: Headings) -> str:
    return neutral(label(name or "") or {"user": words.user, "assistant": words.assistant}.get(role or "", role or ""))
