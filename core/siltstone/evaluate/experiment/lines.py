"""How the baselines write what was said: lines under days, packed into a budget. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from ...protocols import TokenCounter
from ...records import Message
from ...text.keys import date_words
from ...text.language import is_chinese
from ...text.sentences import cut

SPEAKERS: Final = {"user": ("User", "用户"), "assistant": ("Assistant", "助手")}


@dataclass(frozen=True)
class Line:
    """What somebody said: the role, the speaker as shown, the words, and the day in words."""

    role: str
    speaker: str
    text: str
    day: str


@dataclass(frozen=True)
class Entry:
    """Lines that go into a context whole or not at all: their place in time, the day above them, their tokens."""

    place: int
    day: str
    text: str
    tokens: int


def lines_of(messages: Iterable[Message]) -> list[Line]:
    """Return the lines of a conversation."""
    found = []
    for message in messages:
        chinese = is_chinese(message.content)
        shown = message.name or SPEAKERS.get(message.role, (message.role, message.role))[chinese]
        day = day_of(message.created_at, chinese=chinese) if message.created_at is not None else ""
        found.append(Line(message.role, shown, message.content, day))
    return found


def day_of(time: datetime, *, chinese: bool) -> str:
    """Return the heading of a day."""
    return f"[{date_words(time, chinese=chinese)}]"


def spoken(line: Line) -> str:
    """Return a line as it stands in a context."""
    return f"{line.speaker}: {line.text}"


def written(lines: Iterable[Line]) -> str:
    """Return lines under the days on which they were said."""
    return "\n".join(
        "\n".join([*([day] if day else []), *map(spoken, run)])
        for day, run in groupby(lines, key=lambda line: line.day)
    )


def packed(entries: Sequence[Entry], max_tokens: int, counter: TokenCounter, *, gaps: bool = True) -> str:
    """Return a text of at most ``max_tokens`` that holds whole entries, the first given the first to be taken.

    They stand in order of time. Without ``gaps`` the first that has no room ends it. Where nothing fits whole, the
    first is cut at the end of a sentence.
    """
    chosen: list[Entry] = []
    days: dict[str, int] = {"": 0}
    room = max_tokens
    for entry in entries:
        if entry.day not in days and entry.tokens <= room:
            heading = counter.count(entry.day) + 1
        else:
            heading = 0
        if entry.tokens + 1 + heading <= room:
            chosen.append(entry)
            days[entry.day] = heading
            room -= entry.tokens + 1 + heading
        elif not gaps or room < _LEAST:
            break
    while chosen and counter.count(text := _joined(chosen)) > max_tokens:  # joined text may cost more than its parts
        chosen.pop()
    if chosen:
        return text
    return cut(_joined(entries[:1]), max_tokens, counter)


_LEAST: Final = 4


def _joined(entries: Iterable[Entry]) -> str:
    ordered = sorted(entries, key=lambda entry: entry.place)
    parts = []
    for day, run in groupby(ordered, key=lambda entry: entry.day):
        parts += [*([day] if day else []), *(entry.text for entry in run)]
    return "\n".join(parts)
