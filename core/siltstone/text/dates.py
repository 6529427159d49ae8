"""Expressions of time in a question, by rule, in English and Chinese, anchored on the moment of asking. Pure.

"last Friday", "in May", "two weeks ago", "the week before 9 June", "between March and May 2023", 上周五, 三天前,
去年夏天, 国庆节, 5月8日: each becomes one or more periods. What cannot be dated ("before the trip") gives none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from . import chinese_dates, english_dates
from .periods import CALENDAR, OPEN, OPEN_WEIGHT, Period, Rule, date

__all__ = ["Period", "periods"]

_READ: Final = 1_000  # characters: nobody dates a question at greater length
_BLANK: Final = "\0"


@dataclass(frozen=True)
class _Found:
    """An expression between two positions of the text, and what it may mean, the likeliest first."""

    start: int
    end: int
    periods: tuple[Period, ...]


def periods(text: str, now: datetime) -> list[Period]:
    """Return the times that a text names, in the order in which it names them; the likeliest reading first.

    ``now`` is aware; days are those of its time zone. Future times count too. A text without any gives none.
    """
    if now.year not in CALENDAR:
        return []
    text = text[:_READ].lower()
    found = _joined(text, sorted(_find(text, now), key=lambda f: f.start))
    return [period for f in found for period in _modified(text, f, now)]


def _iso(match: re.Match[str], now: datetime) -> list[Period]:
    return date(now, int(match[1]), int(match[2]), int(match[3]))


_ISO: Final = Rule(("19", "20"), re.compile(r"(?<![\d./-])((?:19|20)\d\d)[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)"), _iso)

_HINTS: Final = frozenset(hint for rule in (_ISO, *english_dates.RULES) for hint in rule.hints)  # each of them has some


def _find(text: str, now: datetime) -> Iterator[_Found]:
    """Yield what each rule reads, in order of the rules; text that one has read is blank for the next."""
    hints = {hint for hint in _HINTS if hint in text}
    rules = () if text.isascii() else chinese_dates.RULES
    if hints:
        rules = (_ISO, *rules, *english_dates.RULES)
    for rule in rules:
        if rule.hints and hints.isdisjoint(rule.hints):
            continue
        for match in list(rule.pattern.finditer(text)):
            try:
                read = tuple(rule.reading(match, now))
            except (ValueError, OverflowError):  # the year 0, or beyond the calendar
                read = ()
            if read:
                start = match.end("lead") if match.groupdict().get("lead") else match.start()
                yield _Found(start, match.end(), read)
                text = text[:start] + _BLANK * (match.end() - start) + text[match.end() :]


_FROM: Final = re.compile(r"(?:\b(?:between|from)\s+|从|自)$")
_TO: Final = re.compile(r"\s*(?:and|to|till|until|through|-|–|—|~|到|至|和)\s*(?:the\s+)?")


def _joined(text: str, found: list[_Found]) -> list[_Found]:
    """Join "from X to Y" to one span."""
    joined: list[_Found] = []
    for f in found:
        last = joined[-1] if joined else None
        if last and _TO.fullmatch(text[last.end : f.start]) and _FROM.search(text[: last.start]):
            begin, end = last.periods[0], f.periods[0]
            if begin.start > end.start:  # "from March to May 2023": the first has no year of its own
                begin = next((p for p in last.periods if p.start < end.start), begin)
            if begin.start < end.end:
                joined[-1] = _Found(last.start, f.end, (Period(begin.start, end.end),))
                continue
        joined.append(f)
    return joined


Change = Callable[[Period, "re.Match[str]", datetime], Period]


def _since(period: Period, match: re.Match[str], now: datetime) -> Period:
    return Period(period.start, max(now, period.end), OPEN_WEIGHT)


def _after(period: Period, match: re.Match[str], now: datetime) -> Period:
    return Period(period.end, max(now, period.end + timedelta(days=1)), OPEN_WEIGHT)


def _before(period: Period, match: re.Match[str], now: datetime) -> Period:
    return Period(period.start - OPEN, period.start, OPEN_WEIGHT)


def _shifted(period: Period, match: re.Match[str], now: datetime) -> Period:
    """Read "two weeks before X", "the week after X"."""
    sign = -1 if match["way"] in ("before", "prior to") else 1
    days = {"day": 1, "week": 7, "weekend": 7, "month": 30}[match["unit"]]
    count = match["count"] or "the"
    if count == "the":
        length = timedelta(days=days)
        return Period(period.start - length, period.start) if sign < 0 else Period(period.end, period.end + length)
    number = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4}.get(count) or int(count)
    moved = period.shifted(timedelta(days=sign * days * number))
    loose = timedelta(days=0 if days == 1 else days // 3)
    return replace(moved, start=moved.start - loose, end=moved.end + loose)


def _part(begin: float, end: float) -> Change:
    return lambda period, match, now: period.part(begin, end) if period.days > 3 else period


_PREFIXES: Final[tuple[tuple[re.Pattern[str], Change], ...]] = tuple(
    (re.compile(pattern + r"\s*-?$"), change)
    for pattern, change in (
        (
            r"\b(?P<count>the|a|one|two|three|four|\d{1,2}) (?P<unit>day|weekend|week|month)s? "
            r"(?P<way>before|prior to|after)",
            _shifted,
        ),
        (r"\b(?:since|starting (?:in|on|from))|自从|自", _since),
        (r"\bafter", _after),
        (r"\b(?:before|until|till|by|prior to)", _before),
        (r"\b(?:early(?: in)?|(?:the )?(?:beginning|start) of)", _part(0, 1 / 3)),
        (r"\b(?:mid|(?:the )?middle of)", _part(1 / 3, 2 / 3)),
        (r"\b(?:late(?: in)?|(?:the )?end of)", _part(2 / 3, 1)),
    )
)
_SUFFIXES: Final[tuple[tuple[re.Pattern[str], Change], ...]] = tuple(
    (re.compile(pattern), change)
    for pattern, change in (
        ("的?(?:初|上旬|月初|年初)", _part(0, 1 / 3)),
        ("的?(?:中旬|中)", _part(1 / 3, 2 / 3)),
        ("的?(?:底|末|下旬|月底|年底)", _part(2 / 3, 1)),
        ("(?:以来|起|开始)", _since),
        ("(?:之?前|以前)", _before),
        ("(?:之?后|以后)", _after),
    )
)


def _modified(text: str, found: _Found, now: datetime) -> list[Period]:
    """Apply what stands before or after an expression: since, after, before, early, late, 初, 以来 …"""
    for pattern, change in _PREFIXES:
        if match := pattern.search(text[: found.start]):
            return [change(period, match, now) for period in found.periods]
    for pattern, change in _SUFFIXES:
        if match := pattern.match(text, found.end):
            return [change(period, match, now) for period in found.periods]
    return list(found.periods)
