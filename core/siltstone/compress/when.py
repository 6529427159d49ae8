"""When something happened or will, by the words of a clause and the moment it was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Final

from ..text.dates import Period, periods
from ..text.periods import CALENDAR, day, month, months_from, span, week, year

_DEADLINE: Final = re.compile(
    r"\b(?<!day )(?<!week )(?<!month )(?:before|until|till|by|from|after|since|starting(?: on| in| "
    r"from)?)\s+(?!(?:yesterday|tomorrow)\b(?<=day ))",
    re.IGNORECASE,
)
_NIGHT: Final = re.compile(r"\btonight\b|\bthis (?:morning|afternoon|evening)\b", re.IGNORECASE)
_DAY_ONLY: Final = re.compile(
    r"\b(?:on|for|by|until|till|from|before|the)\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?:time"
    r"|floor|year|grade|century|birthday|street|avenue|anniversary|place))",
    re.IGNORECASE,
)
_DAY_ONLY_ZH: Final = re.compile(
    r"(?<![月\d年一二三四五六七八九十])(\d{1,2}|[一二三四五六七八九十]{1,3})[号號](?![线楼院门])"
)
_IN: Final = re.compile(
    r"\bin (?:about )?(an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}|a few|a couple of) "
    r"(day|week|month|year)s?\b"
    r"(?!['’])|\b(a|one|two|three|four|\d{1,3}) (day|week|month|year)s? from now\b",
    re.IGNORECASE,
)
_NUMBERS: Final = {
    word: value
    for value, words in enumerate(
        ("", "a an one", "two|a couple of", "three|a few", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
    for word in (words.split("|") if "|" in words else words.split())
}
_DIGITS_ZH: Final = {char: value for value, char in enumerate("零一二三四五六七八九十")} | {"两": 2}
_LONGEST: Final = timedelta(days=370)
_RECURRING: Final = re.compile(
    r"\b(?:every|each|most)\s+\w+|\bthese days\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun|week)(?:day|end)s\b|每(?:个"
    r"|逢)?(?:周|星期|月)?\w?",
    re.IGNORECASE,
)
_DOUBLY: Final = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?=(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?\b(?!:))"
    r"|(?<=[号日號])(?:的|，)?(?:这个)?(?:周|星期)[一二三四五六日天]",
    re.IGNORECASE,
)
_DEADLINE_ZH: Final = re.compile(
    r"((?:[\d一二三四五六七八九十]{1,3}(?:[号日號]|月份?)|[今明后]天|下个?[月周]|[年月]底|周末"
    r"|周[一二三四五六日天]))(?:之前|以前|前|开始|起)(?![天年])"
)
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_RANGE: Final = re.compile(
    rf"\b(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s*(?:to|until|till|-|–|and)\s*(?:the )?\d{{1,2}}(?:st"
    rf"|nd|rd|th)?(?: of)? (?P<month>{_MONTH})",
    re.IGNORECASE,
)
_MORE: Final[tuple[tuple[re.Pattern[str], Callable[[datetime], Period]], ...]] = (
    (re.compile(r"\bweek after next\b", re.IGNORECASE), lambda at: week(at + timedelta(weeks=2))),
    (
        re.compile(
            r"(?<![\d一二三四五六七八九十上下去前明后个])月底|\b(?:at |by )?the end of (?:the|this) month\b",
            re.IGNORECASE,
        ),
        lambda at: month(at, at.year, at.month).part(2 / 3, 1),
    ),
    (
        re.compile(r"(?<![明去前后])年底|\bthe end of (?:the|this) year\b", re.IGNORECASE),
        lambda at: month(at, at.year, 12),
    ),
)
"""What ``text.dates`` leaves to tense: ends of the present month and year, the week after next."""
_SHORT_YEAR: Final = re.compile(r"(?<![\d.了有过做干整住])(\d{2})年(?!前|后|级|来|多|以|之|了|时间|经验|的?工)")
_ONGOING: Final = re.compile(r"\bsince\b|自从|以来|到现在|至今", re.IGNORECASE)
_WEEKDAY_ONE: Final = re.compile(r"((?:周|星期|礼拜)[一二三四五六])(?=一)")
"""周六一直 is Saturday, and no Children's Day (六一)."""
_ANY: Final = datetime(2024, 6, 12, tzinfo=timezone.utc)


def dated(clause: str, *, days: int = 370) -> bool:
    """Return whether the clause names a time of at most so many days that an event can have, whenever it was said."""
    return any(one.end - one.start <= timedelta(days=days) for one in readings(clause, _ANY))


def resolve(clause: str, said_at: datetime | None, *, future: bool, days: int = 370) -> datetime | None:
    """Return the beginning of the time that a clause names, as ``named`` reads it."""
    meant = named(clause, said_at, future=future, days=days)
    return None if meant is None else meant.start


def named(clause: str, said_at: datetime | None, *, future: bool, days: int = 370) -> Period | None:
    """Return the time that a clause names: the reading that agrees with its tense, else the likeliest.

    ``None`` where the clause names no time of at most so many ``days``, or nobody knows when it was said: the year 1
    is what some write who do not. Days are those of ``said_at``'s zone.
    """
    if said_at is None or said_at.year not in CALENDAR:
        return None
    future = future and not _ONGOING.search(clause)
    found = [one for one in readings(clause, said_at) if one.end - one.start <= timedelta(days=days)]
    today = day(said_at).start
    fitting = [one for one in found if (one.end > today if future else one.start <= said_at)]
    return next(iter(fitting or found), None)


def readings(clause: str, said_at: datetime) -> Iterator[Period]:
    """Yield the times of at most a year that a clause may name, given when it was said."""
    clause = _WEEKDAY_ONE.sub(r"\1 ", clause)
    text = _RANGE.sub(r"\g<day> \g<month>", clause)
    text = _DOUBLY.sub("", _RECURRING.sub("", _NIGHT.sub("today", text)))  # "Monday the 15th" is the 15th
    text = _END_OF_YEAR.sub(
        lambda match: _december(match, said_at), _AGO.sub(lambda match: _back(match, said_at), text)
    )
    # "before Friday" is dated Friday here: a deadline is remembered by its day, not as the ten years before it.
    text = _DEADLINE_ZH.sub(r"\1", _DEADLINE.sub("on ", text))
    yield from (one for one in periods(text, said_at) if one.end - one.start <= _LONGEST)
    yield from (reading for pattern, reader in _MORE if pattern.search(text) for reading in [reader(said_at)])
    for match in _SHORT_YEAR.finditer(text):
        number = int(match[1])
        yield year(said_at, (1900 if number > said_at.year % 100 + 10 else 2000) + number)
    for match in _IN.finditer(text):
        count, unit = (match[1] or match[3]).lower(), (match[2] or match[4]).lower()
        yield _ahead(said_at, _count(count), unit)
    for match in _DAY_ONLY.finditer(text):
        if not re.match(r"\s*(?:of\s+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", text[match.end() :], re.I):
            yield from _this_month(said_at, int(match[1]))
    for match in _DAY_ONLY_ZH.finditer(text):
        if not re.search(r"月(?:份的?)?$", text[: match.start()]):
            yield from _this_month(said_at, _number(match[1]))


_COUNT: Final = r"an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,3}|a couple of"
_AGO: Final = re.compile(
    rf"\b(?:about |around |over |almost )?(?P<en>{_COUNT}) (?P<unit>week|month)s? ago\b|\b(?P<half>half an?) year ago\b"
    r"|(?P<zh>\d{1,3}|[一二三四五六七八九十两]{1,3})(?:个)?(?P<zh_unit>月|周|星期|礼拜)(?:之?前|以前)"
    r"|(?P<half_zh>半)年(?:之?前|以前)",
    re.IGNORECASE,
)
"""What a question means loosely, and a statement as nearly as it says: three months ago is that day, not that month."""
_END_OF_YEAR: Final = re.compile(
    r"\b(?:the )?end of (?P<which>last year|next year|(?:19|20)\d\d)\b"
    r"|(?P<zh>大前年|前年|去年|明年|后年|(?:19|20)\d\d年)的?(?:年底|底|年末|末)",
    re.IGNORECASE,
)
_YEARS: Final = {"last year": -1, "next year": 1, "大前年": -3, "前年": -2, "去年": -1, "明年": 1, "后年": 2}


def _back(match: re.Match[str], said_at: datetime) -> str:
    """Return the day that so many weeks or months before lies, for the rules of dates to read."""
    if match["half"] or match["half_zh"]:
        return f" {months_from(said_at, -6):%Y-%m-%d} "
    count = _count(match["en"].lower()) if match["en"] else _number(match["zh"])
    month = (match["unit"] or match["zh_unit"]).lower() in ("month", "月")
    return f" {months_from(said_at, -count) if month else said_at - timedelta(weeks=count):%Y-%m-%d} "


def _december(match: re.Match[str], said_at: datetime) -> str:
    which = (match["which"] or match["zh"]).lower()
    number = said_at.year + _YEARS[which] if which in _YEARS else int(which[:4])
    return f" december {number} "


def _count(word: str) -> int:
    return int(word) if word.isdigit() else {"eleven": 11, "twelve": 12}.get(word) or _NUMBERS[word]


def _ahead(said_at: datetime, count: int, unit: str) -> Period:
    if unit == "month":
        return day(months_from(said_at, count))
    if unit == "year":
        return day(months_from(said_at, 12 * count))
    return span(said_at + timedelta(days=count * (7 if unit == "week" else 1)), 1)


def _this_month(said_at: datetime, number: int) -> Iterator[Period]:
    """Yield the day of that number in this month, then in the next and the last one."""
    for months in (0, 1, -1):
        there = months_from(said_at.replace(day=1), months)
        try:
            yield day(there.replace(day=number))
        except ValueError:  # no 31st in this month
            continue


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if "十" in text:
        tens, ones = text.split("十", 1)
        return (_DIGITS_ZH[tens] if tens else 1) * 10 + (_DIGITS_ZH[ones] if ones else 0)
    return _DIGITS_ZH[text[-1]]
