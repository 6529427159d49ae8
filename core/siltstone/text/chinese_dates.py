"""How Chinese says when: one pattern and one reading for each way. Used by ``dates``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from .holidays import CHINESE, holiday
from .periods import (
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
)  # fmt: skip

_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九十")} | {"〇": 0, "两": 2, "兩": 2}
_NUMBER: Final = r"\d{1,4}|[一二三四五六七八九十两兩]{1,3}"
_FEW: Final = "几|幾|数"
_YEARS: Final = {"大前年": -3, "前年": -2, "去年": -1, "上一年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_WHICH_YEAR: Final = (
    r"(?:(?P<year>(?:19|20)\d\d|[一二][零〇一二三四五六七八九]{3})年"
    rf"|(?P<which>{'|'.join(sorted(_YEARS, key=len, reverse=True))}))"
)
_DAYS: Final = {
    "大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "今天": 0, "今日": 0, "今早": 0,
    "今晚": 0, "明天": 1, "明日": 1, "明早": 1, "明晚": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_STEPS: Final = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1, "下下": 2}
_MONTH: Final = r"(?P<month>\d{1,2}|十[一二]|[一二三四五六七八九十])月"
_DAY: Final = r"(?P<day>\d{1,2}|[一二三四五六七八九十]{1,3})(?:日|号|號)"
_STEP: Final = "(?P<step>上上|上|这|這|本|下下|下)(?:个|個|一个|一)?"
_WEEK: Final = "(?:周|週|星期|礼拜|禮拜)"
_WEEKDAYS: Final = "一二三四五六日"
_SEASONS: Final = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_UNITS: Final = {
    "天": "day",
    "日": "day",
    "周": "week",
    "週": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
_UNIT: Final = "(?:个|個)?(?P<unit>天|日|周|週|星期|礼拜|月|年)"


def number(text: str) -> int:
    """Return a number of up to four digits, written in either way: 12, 十二, 二十, 二〇二三."""
    if text.isdigit() and text.isascii():
        return int(text)
    if "十" in text:
        tens, ones = text.split("十", 1)
        return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)
    return int("".join(str(_DIGITS[c]) for c in text))


def _year_number(match: re.Match[str], now: datetime) -> int | None:
    if match["which"]:
        return now.year + _YEARS[match["which"]]
    return number(match["year"]) if match["year"] else None


def _date(match: re.Match[str], now: datetime) -> list[Period]:
    return date(now, _year_number(match, now), number(match["month"]), number(match["day"]))


def _month(match: re.Match[str], now: datetime) -> list[Period]:
    value = number(match["month"])
    return yearly(now, _year_number(match, now), lambda y: month(now, y, value)) if 1 <= value <= 12 else []


def _day_of_month(match: re.Match[str], now: datetime) -> list[Period]:
    there = months_from(now, _STEPS[match["step"]])
    return date(now, there.year, there.month, number(match["day"]))


def _season(match: re.Match[str], now: datetime) -> list[Period]:
    return yearly(now, _year_number(match, now), lambda y: season(now, y, _SEASONS[match["season"]]))


def _school_holiday(match: re.Match[str], now: datetime) -> list[Period]:
    def make(y: int) -> Period:
        if match["holiday"] == "暑假":
            return Period(month(now, y, 7).start, month(now, y, 8).end)
        return span(month(now, y, 1).start + timedelta(days=9), 45)

    return yearly(now, _year_number(match, now), make)


def _half(match: re.Match[str], now: datetime) -> list[Period]:
    first = match["half"] == "上"
    return yearly(
        now,
        _year_number(match, now),
        lambda y: Period(month(now, y, 1 if first else 7).start, month(now, y, 6 if first else 12).end),
    )


def _holiday(name: str) -> Reading:
    return lambda match, now: yearly(now, _year_number(match, now), lambda y: holiday(now, name, y))


def _year(match: re.Match[str], now: datetime) -> list[Period]:
    return [year(now, value)] if (value := _year_number(match, now)) else []


def _week(match: re.Match[str], now: datetime) -> list[Period]:
    return [week(now + timedelta(weeks=_STEPS[match["step"]]))]


def _weekend(match: re.Match[str], now: datetime) -> list[Period]:
    if match["step"]:
        return [weekend(now + timedelta(weeks=_STEPS[match["step"]]))]
    return [weekend(now - timedelta(days=5)), weekend(now)]


def _weekday(match: re.Match[str], now: datetime) -> list[Period]:
    which = _WEEKDAYS.index(match["weekday"].replace("天", "日"))
    return weekday(now, which, _STEPS[match["step"]] if match["step"] else None)


def _whole_month(match: re.Match[str], now: datetime) -> list[Period]:
    there = months_from(now, _STEPS[match["step"]])
    return [month(now, there.year, there.month)]


def _ago(match: re.Match[str], now: datetime) -> list[Period]:
    unit = _UNITS[match["unit"]]
    if match["half"]:
        return [
            span(months_from(now, -6) - timedelta(days=30), 61) if unit == "year" else span(now - timedelta(days=18), 8)
        ]
    if match["few"]:
        return [Period(ago(now, 5, unit).start, ago(now, 2, unit).end, 0.7)]
    return [ago(now, number(match["count"]), unit)]


def _from_now(match: re.Match[str], now: datetime) -> list[Period]:
    if match["half"]:
        ahead = months_from(now, 6) if _UNITS[match["unit"]] == "year" else now + timedelta(days=15)
        return [span(ahead - timedelta(days=4), 9)]
    return [ago(now, -(3 if match["few"] else number(match["count"])), _UNITS[match["unit"]])]


def _within(match: re.Match[str], now: datetime) -> list[Period]:
    if match["half"]:
        return [within(now, 6, "month")]
    return [within(now, 3 if match["few"] else number(match["count"]), _UNITS[match["unit"]])]


def _near_day(match: re.Match[str], now: datetime) -> list[Period]:
    return [day(now + timedelta(days=_DAYS[match["name"]]))]


def _days(first: int, days: int, weight: float) -> Reading:
    return lambda match, now: [span(now + timedelta(days=first), days, weight)]


def _rule(pattern: str, reading: Reading) -> Rule:
    return Rule((), re.compile(pattern), reading)


_NUM: Final = rf"(?:(?P<count>{_NUMBER})|(?P<few>{_FEW})|(?P<half>半))"
RULES: Final = (
    _rule(rf"(?:{_WHICH_YEAR}的?)?(?<!\d){_MONTH}(?:份的?)?{_DAY}", _date),
    _rule(rf"{_STEP}月的?{_DAY}", _day_of_month),
    _rule(rf"(?:{_WHICH_YEAR}的?)?(?<![\d个個]){_MONTH}份?(?![\d天])", _month),
    _rule(rf"(?:{_WHICH_YEAR}的?)?(?P<season>[春夏秋冬])(?:天|季|日|(?=[，。？！\s]|$))", _season),
    _rule(rf"(?:{_WHICH_YEAR}的?)?(?P<holiday>暑假|寒假)", _school_holiday),
    *(_rule(rf"(?:{_WHICH_YEAR}的?)?(?:{words})", _holiday(name)) for words, name in CHINESE.items()),
    _rule(rf"{_WHICH_YEAR}的?(?P<half>[上下])半年", _half),
    _rule(rf"{_STEP}{_WEEK}(?P<weekday>[一二三四五六日天])(?!个|個)", _weekday),
    _rule(rf"{_STEP}(?:周|週|个?星期)末", _weekend),
    _rule(r"(?P<step>)周末", _weekend),
    _rule(rf"{_STEP}{_WEEK}", _week),
    _rule(rf"(?P<step>){_WEEK}(?P<weekday>[一二三四五六日天])(?!个|個|天)", _weekday),
    _rule(rf"{_STEP}月", _whole_month),
    _rule(rf"(?:大约|差不多|大概)?{_NUM}{_UNIT}(?:之?前|以前)", _ago),
    _rule(rf"{_NUM}{_UNIT}(?:之?后|以后|之?後)", _from_now),
    _rule(rf"(?:最近|过去|過去|近|这|前)(?:的)?{_NUM}{_UNIT}(?:里|内|以来|来)?", _within),
    _rule("(?P<name>" + "|".join(sorted(_DAYS, key=len, reverse=True)) + ")", _near_day),
    _rule(r"(?:^|(?<=[\s，。、！？,.!?在到从自是]))年(?=初)", lambda match, now: [year(now, now.year)]),
    _rule(_WHICH_YEAR, _year),
    _rule("最近|近来|近日|前阵子|前段时间|这阵子|这段时间", _days(-30, 31, 0.5)),
)
