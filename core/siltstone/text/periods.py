"""Spans of the calendar: days, weeks, months, seasons, years, and what "last" and "ago" make of them. Pure."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

_DAY: Final = timedelta(days=1)
OTHER_YEAR: Final = 0.8
"""Weight of a date without a year in other years than the nearest."""
OPEN: Final = timedelta(days=10 * 365)
OPEN_WEIGHT: Final = 0.3
"""How far "before 2019" reaches, and what it weighs: it says little about any one day."""
_YEARS_BACK: Final = 4
CALENDAR: Final = range(1000, 9000)
"""Years of which something can be said to be long ago, or far ahead: a clock outside them tells no time."""
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


@dataclass(frozen=True)
class Period:
    """A span of time, ``start`` included, ``end`` not, both aware; ``weight`` (0 to 1) says how surely it is meant."""

    start: datetime
    end: datetime
    weight: float = 1.0

    @property
    def days(self) -> float:
        """Its length in days."""
        return (self.end - self.start) / _DAY

    def shifted(self, delta: timedelta) -> Period:
        """Return the period moved by ``delta``."""
        return replace(self, start=self.start + delta, end=self.end + delta)

    def part(self, begin: float, end: float) -> Period:
        """Return the part of it between two shares of its length, on whole days."""
        first = round(self.days * begin)
        return replace(
            self, start=self.start + first * _DAY, end=self.start + max(round(self.days * end), first + 1) * _DAY
        )


def past_times(periods: Sequence[Period], now: datetime) -> list[Period]:
    """Return the likeliest of the times that words may mean, if all of these are over; else none."""
    surest = max((period.weight for period in periods), default=0.0)
    likeliest = [period for period in periods if period.weight == surest]
    return likeliest if all(period.end <= now for period in likeliest) else []


Reading = Callable[["re.Match[str]", datetime], list[Period]]
"""What a match means at a moment: periods, the likeliest first; none where it means no time after all."""


@dataclass(frozen=True)
class Rule:
    """One way of saying when; ``hints`` are bits of text of which one must be there for the pattern to match."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    reading: Reading


def day(date: datetime, weight: float = 1.0) -> Period:
    """Return the day that holds ``date``."""
    start = date.replace(hour=0, minute=0, second=0, microsecond=0)
    return Period(start, start + _DAY, weight)


def span(first: datetime, days: int, weight: float = 1.0) -> Period:
    """Return ``days`` days from the day ``first`` on."""
    start = day(first).start
    return Period(start, start + days * _DAY, weight)


def week(date: datetime) -> Period:
    """Return the week, from Monday on, that holds ``date``."""
    return span(date - date.weekday() * _DAY, 7)


def weekend(date: datetime) -> Period:
    """Return Saturday and Sunday of the week that holds ``date``."""
    return span(date + (5 - date.weekday()) * _DAY, 2)


def month(date: datetime, year: int, number: int) -> Period:
    """Return a month of a year; ``date`` gives the time zone."""
    start = day(date).start.replace(year=year, month=number, day=1)
    return Period(start, start + calendar.monthrange(year, number)[1] * _DAY)


def season(date: datetime, year: int, name: str) -> Period:
    """Return a season of the northern year; winter is the one that begins in that year."""
    first = month(date, year, SEASONS[name])
    last = month(date, year + 1, 2) if name == "winter" else month(date, year, SEASONS[name] + 2)
    return Period(first.start, last.end)


def year(date: datetime, number: int) -> Period:
    """Return a calendar year."""
    return Period(month(date, number, 1).start, month(date, number, 12).end)


def months_from(date: datetime, months: int) -> datetime:
    """Return the same day of the month some months on (or back), or that month's last day."""
    index = date.year * 12 + date.month - 1 + months
    number, position = divmod(index, 12)
    return date.replace(
        year=number, month=position + 1, day=min(date.day, calendar.monthrange(number, position + 1)[1])
    )


def ago(now: datetime, count: int, unit: str) -> Period:
    """Return when ``count`` days, weeks, months or years ago was, as loosely as one says it; negative: from now."""
    if unit == "day":
        return day(now - count * _DAY)
    if unit == "week":
        return span(now - (7 * count + 3) * _DAY, 7)
    if unit == "month":
        return span(months_from(now, -count) - 15 * _DAY, 31)
    return year(now, now.year - count)


def within(now: datetime, count: int, unit: str) -> Period:
    """Return the last ``count`` days, weeks, months or years, today included."""
    if unit in ("month", "year"):
        start = months_from(now, -count * (12 if unit == "year" else 1))
    else:
        start = now - count * (7 if unit == "week" else 1) * _DAY
    return Period(day(start).start, day(now).end)


def weekday(now: datetime, number: int, weeks: int | None) -> list[Period]:
    """Return a weekday (Monday is 0) ``weeks`` weeks away; ``None``: the nearest past one, less surely the next."""
    if weeks is not None:
        return [day(now + (number - now.weekday() + 7 * weeks) * _DAY)]
    back = (now.weekday() - number) % 7
    return [day(now - back * _DAY), day(now + (7 - back) * _DAY, 0.5)]


def yearly(now: datetime, number: int | None, make: Callable[[int], Period | None]) -> list[Period]:
    """Return ``make(year)`` for a given year, or for the nearest past one first, then less surely for others."""
    if number is not None:
        made = make(number)
        return [made] if made else []
    years = range(now.year + 1, now.year - _YEARS_BACK - 2, -1)
    known = [period for y in years if 1 < y < 9999 and (period := make(y)) is not None]
    past = [period for period in known if period.start <= now]
    future = [replace(period, weight=0.5) for period in reversed(known) if period.start > now][:1]
    return [*past[:1], *(replace(period, weight=OTHER_YEAR) for period in past[1 : 1 + _YEARS_BACK]), *future]


def date(now: datetime, number: int | None, month_number: int, day_number: int) -> list[Period]:
    """Return a calendar day, in a given year or as ``yearly`` does; none where there is no such day."""

    def make(y: int) -> Period | None:
        if not 1 <= month_number <= 12 or not 1 <= day_number <= calendar.monthrange(y, month_number)[1]:
            return None
        return day(now.replace(year=y, month=month_number, day=day_number))

    return yearly(now, number, make)
