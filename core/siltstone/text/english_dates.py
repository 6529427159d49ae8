"""How English says when: one pattern and one reading for each way. Used by ``dates``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from .holidays import ENGLISH, holiday
from .periods import (
    SEASONS,
    Period,
    Reading,
    Rule,
    ago,
    date,
    day,
    month,
    months_from,
    season,
    span,
    week,
    weekday,
    weekend,
    within,
    year,
    yearly,
)
from .words import MONTH_ABBREVIATIONS, MONTHS

_MONTH: Final = "(?P<month>" + "|".join([*MONTHS, *MONTH_ABBREVIATIONS]) + r")\b\.?"
_CLEAR: Final = "(?P<month>" + "|".join({*MONTHS, *MONTH_ABBREVIATIONS} - {"may", "march", "mar"}) + r")\b\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)\b"
_WHICH: Final = r"(?P<which>last|this|next|this past|this coming)"
_SEASON: Final = "(?P<season>spring|summer|autumn|fall|winter)"
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY: Final = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?"
_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "couple of": 2, "three": 3, "four": 4,
    "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_FEW: Final = ("a few", "few", "several", "some")
_COUNT: Final = r"(?P<count>\d{1,3}|" + "|".join(sorted([*_NUMBERS, *_FEW], key=len, reverse=True)) + ")"
_UNIT: Final = r"(?P<unit>day|week|month|year)s?"
_STEP: Final = {"last": -1, "this past": -1, "this": 0, "next": 1, "this coming": 1}
_LEAD: Final = (
    r"(?P<lead>(?:in|of|on|during|since|until|till|by|early|late|mid|before|after|around|between|from|to|and)[ -])"
)


def _month_number(match: re.Match[str]) -> int:
    name = match["month"]
    return MONTHS.index(MONTH_ABBREVIATIONS.get(name, name)) + 1


def _year_of(match: re.Match[str]) -> int | None:
    return int(match["year"]) if match["year"] else None


def _full_date(match: re.Match[str], now: datetime) -> list[Period]:
    return date(now, _year_of(match), _month_number(match), int(match["day"]))


def _month_of(match: re.Match[str], now: datetime) -> list[Period]:
    number = _month_number(match)
    groups = match.groupdict()  # not every pattern has all groups
    if which := (groups.get("which") or ""):
        return [_turn(which, now, lambda y: month(now, y, number))]
    return yearly(now, _year_of(match) if groups.get("year") else None, lambda y: month(now, y, number))


def _season(match: re.Match[str], now: datetime) -> list[Period]:
    name = match["season"].replace("fall", "autumn")
    groups = match.groupdict()
    if which := groups.get("which"):
        return [_turn(which, now, lambda y: season(now, y, name))]
    return yearly(now, _year_of(match) if groups.get("year") else None, lambda y: season(now, y, name))


def _holiday(name: str) -> Reading:
    def read(match: re.Match[str], now: datetime) -> list[Period]:
        if match["which"]:
            known = [p for y in range(now.year - 2, now.year + 3) if (p := holiday(now, name, y))]
            return [_nth(match["which"], now, known)] if known else []
        return yearly(now, _year_of(match), lambda y: holiday(now, name, y))

    return read


def _turn(which: str, now: datetime, make: Callable[[int], Period]) -> Period:
    return _nth(which, now, [make(y) for y in range(now.year - 2, now.year + 3)])


def _nth(which: str, now: datetime, known: list[Period]) -> Period:
    """Choose from yearly periods in order: the last that is over, the next to begin, or this year's."""
    if _STEP[which] < 0:
        return next((p for p in reversed(known) if p.end <= now), known[0])
    if _STEP[which] > 0:
        return next((p for p in known if p.start > now), known[-1])
    return next((p for p in known if p.start.year == now.year), known[0])


def _unit(match: re.Match[str], now: datetime) -> list[Period]:
    step, unit = _STEP[match["which"]], match["unit"]
    if unit == "week":
        return [week(now + timedelta(weeks=step))]
    if unit == "weekend":
        return [weekend(now + timedelta(weeks=step))]
    if unit == "month":
        there = months_from(now, step)
        return [month(now, there.year, there.month)]
    if unit == "year":
        return [year(now, now.year + step)]
    return [day(now + timedelta(days=step if unit == "night" and step < 0 else 0))]


def _weekday(match: re.Match[str], now: datetime) -> list[Period]:
    number = _WEEKDAYS.index(match["weekday"][:3])
    which = match["which"] or ""
    if not which:
        return weekday(now, number, None)
    if _STEP[which] < 0:
        return [day(now - timedelta(days=(now.weekday() - number - 1) % 7 + 1))]
    return weekday(now, number, _STEP[which])


def _count(match: re.Match[str]) -> int | None:
    """Return how many; ``None`` for a few."""
    text = match["count"] or "one"
    return None if text in _FEW else int(text) if text.isdigit() else _NUMBERS[text]


def _ago(match: re.Match[str], now: datetime) -> list[Period]:
    count, unit = _count(match), match["unit"]
    return [ago(now, count, unit)] if count else _few(now, unit)


def _from_now(match: re.Match[str], now: datetime) -> list[Period]:
    return [ago(now, -(_count(match) or 3), match["unit"])]


def _few(now: datetime, unit: str) -> list[Period]:
    return [Period(ago(now, 5, unit).start, ago(now, 2, unit).end, 0.7)]


def _half(match: re.Match[str], now: datetime) -> list[Period]:
    if match["unit"] == "year":
        return [span(months_from(now, -6) - timedelta(days=30), 61)]
    return [span(now - timedelta(days=18), 8)]


def _weekdays_ago(match: re.Match[str], now: datetime) -> list[Period]:
    back = (now.weekday() - _WEEKDAYS.index(match["weekday"][:3]) - 1) % 7 + 1
    return [day(now - timedelta(days=back + 7 * ((_count(match) or 3) - 1)))]


def _before_last(match: re.Match[str], now: datetime) -> list[Period]:
    unit = match["unit"]
    if unit == "month":
        there = months_from(now, -2)
        return [month(now, there.year, there.month)]
    if unit == "year":
        return [year(now, now.year - 2)]
    return [(week if unit == "week" else weekend)(now - timedelta(weeks=2))]


def _weekend_past(match: re.Match[str], now: datetime) -> list[Period]:
    return [weekend(now - timedelta(days=5)), weekend(now)]


def _within(match: re.Match[str], now: datetime) -> list[Period]:
    return [within(now, _count(match) or 3, match["unit"])]


def _days(first: int, days: int, weight: float = 1.0) -> Reading:
    return lambda match, now: [span(now + timedelta(days=first), days, weight)]


def _slashes(match: re.Match[str], now: datetime) -> list[Period]:
    a, b, y = int(match[1]), int(match[2]), int(match[3])
    return date(now, y, a, b) or date(now, y, b, a)


def _rule(hints: Sequence[str], pattern: str, reading: Reading) -> Rule:
    return Rule(tuple(hints), re.compile(rf"(?<![\w-])(?:{pattern})(?!\w)"), reading)


_MONTHS: Final = tuple(name[:3] for name in MONTHS)
_TURNS: Final = ("last", "this", "next")
_SEASONS: Final = (*SEASONS, "fall")
_UNITS: Final = ("day", "week", "month", "year")


RULES: Final = (
    _rule("/", r"(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)", _slashes),
    _rule(_MONTHS, rf"(?:the )?{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?", _full_date),
    _rule(_MONTHS, rf"{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR})?", _full_date),
    _rule(_MONTHS, rf"{_MONTH},? (?:of )?{_YEAR}", _month_of),
    _rule(_MONTHS, rf"{_WHICH} {_MONTH}", _month_of),
    _rule(_MONTHS, rf"{_LEAD}{_MONTH}", _month_of),
    _rule(_MONTHS, _CLEAR, _month_of),
    _rule(_SEASONS, rf"(?:the )?{_SEASON},? (?:of )?{_YEAR}", _season),
    _rule(_SEASONS, rf"(?:{_WHICH}|(?P<lead>in|during|over|since|before|after)) (?:the )?{_SEASON}", _season),
    _rule(["ago"], rf"{_COUNT} {_WEEKDAY} ago", _weekdays_ago),
    _rule(["day"], rf"(?:{_WHICH} )?{_WEEKDAY}", _weekday),
    _rule(["before last"], r"(?:the )?(?P<unit>weekend|week|month|year) before last", _before_last),
    _rule(_TURNS, rf"{_WHICH} (?P<unit>weekend|week|month|year|night|morning|afternoon|evening)", _unit),
    _rule(["ago"], r"half an? (?P<unit>year|month) ago", _half),
    _rule(["fortnight"], r"a fortnight ago", lambda match, now: [ago(now, 2, "week")]),
    _rule(["ago"], rf"(?:about |around |over )?{_COUNT} {_UNIT} ago", _ago),
    _rule(["from now"], rf"{_COUNT} {_UNIT} from now", _from_now),
    _rule(_UNITS, rf"in {_COUNT} {_UNIT}", _from_now),
    _rule(["last", "past"], rf"(?:the |these )?(?:last|past) (?:{_COUNT} )?{_UNIT}", _within),
    _rule(["before yesterday"], r"(?:the )?day before yesterday", _days(-2, 1)),
    _rule(["yesterday"], r"yesterday", _days(-1, 1)),
    _rule(["today", "tonight"], r"today|tonight", _days(0, 1)),
    _rule(["after tomorrow"], r"(?:the )?day after tomorrow", _days(2, 1)),
    _rule(["tomorrow"], r"tomorrow", _days(1, 1)),
    _rule(["the other day"], r"the other day", _days(-10, 10, 0.5)),
    _rule(["the weekend"], r"(?:over|on|at|during) the weekend", _weekend_past),
    _rule(["recently", "lately", "these days"], r"recently|lately|these days", _days(-30, 31, 0.5)),
    *(
        _rule(hints, rf"(?:{_WHICH} )?(?:{words})(?:,? (?:of |in )?{_YEAR})?", _holiday(name))
        for words, (name, *hints) in ENGLISH.items()
    ),
    _rule(["19", "20"], rf"(?:in |of |year )?{_YEAR}", lambda match, now: [year(now, int(match["year"]))]),
)
