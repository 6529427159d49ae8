"""The beginnings of WhatsApp's lines, which each phone writes in its own way: date, time, author. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

Order: TypeAlias = Literal["ymd", "dmy", "mdy"]
NAMES: Final[dict[str, str]] = {"ymd": "year, month, day", "dmy": "day, month, year", "mdy": "month, day, year"}

_MARKS: Final = "\u200e\u200f\u202a\u202b\u202c\u2068\u2069\ufeff"
"""Marks of the writing direction, which stand before system texts, attachments and phone numbers."""
_BEFORE_NOON: Final = ("am", "上午", "凌晨", "清晨", "早上", "午前", "오전", "ص", "पूर्वाह्न")
_AFTER_NOON: Final = ("pm", "下午", "中午", "傍晚", "晚上", "午後", "오후", "م", "अपराह्न")
_HALF: Final = (
    r"[AaPp]\.?[\s\u00a0\u202f]?[Mm]\.?|" + "|".join(half for half in (*_BEFORE_NOON, *_AFTER_NOON) if len(half) > 2)
    + "|上午|凌晨|清晨|早上|午前|오전|下午|中午|傍晚|晚上|午後|오후|[صم]"
)  # fmt: skip
_SPACE: Final = r"[\s\u00a0\u202f]"
_START: Final = re.compile(
    rf"[{_MARKS}]*(?P<open>\[)?(?P<a>\d{{1,4}})(?P<sep>[./-]){_SPACE}?(?P<b>\d{{1,2}})[./-]{_SPACE}?(?P<c>\d{{1,4}})\.?"
    rf"[,،]?{_SPACE}+(?:(?:um|à|às|kl\.?|klo){_SPACE}+)?(?P<before>{_HALF})?{_SPACE}?"
    rf"(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?"
    rf"(?:{_SPACE}?(?P<after>{_HALF}))?(?(open)\]{_SPACE}?|{_SPACE}[-–]{_SPACE})"
)
_AUTHOR: Final = re.compile(r"(?P<author>[^:\n]{1,100}?):(?:\s|$)")


@dataclass(frozen=True)
class Start:
    """The beginning of a line: the fields of its date as written, its time of day, and where the rest begins."""

    fields: tuple[int, int, int]
    clock: tuple[int, int, int]
    year_first: bool
    dotted: bool
    twelve_hours: bool
    seconds: bool
    end: int

    def time(self, order: Order) -> datetime | None:
        """Return the time, without a zone; ``None`` for a day that there is not."""
        a, b, c = self.fields
        year, month, day = (a, b, c) if self.year_first else (c, a, b) if order == "mdy" else (c, b, a)
        try:
            return datetime(year + 2000 if year < 100 else year, month, day, *self.clock)
        except ValueError:
            return None


def start_of(line: str) -> Start | None:
    """Return the beginning of a line; ``None`` where the line goes on with the message before."""
    match = _START.match(line)
    if match is None:
        return None
    first, last = match["a"], match["c"]
    half = match["before"] or match["after"]
    return Start(
        (int(first), int(match["b"]), int(last)),
        (_hour(int(match["hour"]), half), int(match["minute"]), int(match["second"] or 0)),
        len(first) == 4,
        match["sep"] == ".",
        half is not None,
        match["second"] is not None,
        match.end(),
    )


def order_of(starts: Iterable[Start]) -> Order:
    """Return in which order days and months stand.

    A number over 12 decides; else dots do (day first), then in which of the two the dates do not go back; else a
    clock of twelve hours means month first, as in America. Reads as far as it must.
    """
    seen: set[tuple[int, int, int]] = set()
    days: list[Start] = []
    for start in starts:
        if start.year_first:
            return "ymd"
        if start.fields[0] > 12 or start.dotted:
            return "dmy"
        if start.fields[1] > 12:
            return "mdy"
        if start.fields not in seen:
            seen.add(start.fields)
            days.append(start)
    if not days:
        return "dmy"
    falls = {order: _falls([start.time(order) for start in days]) for order in ("dmy", "mdy")}
    if falls["dmy"] != falls["mdy"]:
        return "dmy" if falls["dmy"] < falls["mdy"] else "mdy"
    return "mdy" if days[0].twelve_hours else "dmy"


def author_and_text(rest: str) -> tuple[str | None, str]:
    """Return who said it and what; ``None`` for a notice."""
    match = _AUTHOR.match(rest)
    if match is None:
        return None, rest.strip(_MARKS)
    author = match["author"].strip(_MARKS + " \u00a0\u202f~").strip()
    return (author or None), rest[match.end() :]


def bare(text: str) -> str:
    """Return a text without marks of the writing direction around it."""
    return text.strip(_MARKS + " ")


def _falls(times: list[datetime | None]) -> int:
    known = [time for time in times if time is not None]
    return sum(later < earlier for earlier, later in itertools.pairwise(known)) + times.count(None)


def _hour(hour: int, half: str | None) -> int:
    if half is None or hour > 12:
        return min(hour, 23)
    word = re.sub(r"[.\s\u00a0\u202f]", "", half).lower()
    if word in ("凌晨", "清晨", "早上") or word in _BEFORE_NOON:
        return hour % 12
    if word == "中午":
        return hour if hour in (10, 11, 12) else hour % 12 + 12
    return hour % 12 + 12
