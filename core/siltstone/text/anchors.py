"""Times that hang on an event: "two weeks before the trip", 婚礼前一天. The memory has to tell the event's day. Pure.

"Before the move" without a number is read too: everything until then, which says little about any one day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from .chinese_dates import number
from .periods import OPEN, OPEN_WEIGHT, Period, months_from

_READ: Final = 1_000  # characters, as for dates
_BEFORE: Final = ("before", "prior to", "前", "之前", "以前")
_DAYS: Final = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_NUMBERS: Final = {
    "the": 1,
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "couple": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
}
_ENGLISH: Final = re.compile(
    r"\b(?:(?P<count>the|an?|one|two|(?:a )?couple(?: of)?|three|four|five|six|\d{1,3}) "
    r"(?P<unit>day|weekend|week|month|year)s? (?:right |just )?)?(?P<way>before|prior to|after) "
    r"(?P<event>(?:the|my|our|your|his|her|their|that|this|i|we|he|she|they|\w+['’]s)\b[^,;.?!\n]{1,60}?)"
    r"(?=\s*(?:[,;.?!\n]|$|\b(?:what|who|whom|where|which|how|did|do|does|was|were)\b))"
)
_UNITS: Final = {
    "天": "day", "日": "day", "周": "week", "週": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year",
}  # fmt: skip
_EVENTS: Final = (  # 前 and 后 alone part an event from a number only after such words
    "旅行|旅游|出游|婚礼|结婚|订婚|离婚|搬家|考试|高考|出差|面试|生日|手术|住院|出院|比赛|决赛|毕业|开学|入学|入职|上班|离职|辞职"
    "|退休|会议|开会|出国|回国|出发|聚会|聚餐|演出|演讲|展览|葬礼|分娩|出生|怀孕|体检|培训|答辩|马拉松|升职|分手|事故|车祸|活动"
)
_COUNT: Final = r"(?P<count>\d{1,3}|[一二三四五六七八九十两]{1,3})(?:个|個)?(?P<unit>天|日|周|週|星期|礼拜|月|年)"
_CHINESE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<event>[\u4e00-\u9fff]{{0,12}}?(?:{_EVENTS}))的?(?P<way>前|后)的?{_COUNT}",
        rf"(?P<event>[\u4e00-\u9fff]{{2,12}}?)(?P<way>之前|以前|之后|以后)的?{_COUNT}",
        rf"(?P<event>[\u4e00-\u9fff]{{0,12}}?(?:{_EVENTS}))(?P<way>之?前|以前|之?后|以后)(?P<count>)(?P<unit>)",
    )
)
_DATED: Final = re.compile(r"\d|昨|今|前天|明天|上[个周月]|去年|前年|[一二三四五六七八九十两几][天周月年]|星期|周末")


@dataclass(frozen=True)
class Anchor:
    """A time told from an event.

    ``event``   in words; ``before`` or after it, by ``many`` times ``unit``; 0 is any time
    ``exact``   whether it is the very unit beside the event ("the week before"), not one so far away
    """

    event: str
    before: bool
    many: int
    unit: str
    exact: bool

    def period(self, happened: Period) -> Period:
        """Return the time that is meant, given when the event was."""
        if not self.many:
            first, last = (
                (happened.start - OPEN, happened.start) if self.before else (happened.end, happened.end + OPEN)
            )
            return Period(first, last, OPEN_WEIGHT)
        days = timedelta(days=_DAYS[self.unit])
        if self.exact:
            return (
                Period(happened.start - days, happened.start)
                if self.before
                else Period(happened.end, happened.end + days)
            )
        steps = -self.many if self.before else self.many
        if self.unit in ("month", "year"):
            there = months_from(happened.start, steps * (12 if self.unit == "year" else 1))
        else:
            there = happened.start + days * steps
        slack = timedelta(days=_DAYS[self.unit] // 3)
        return Period(there - slack, there + (happened.end - happened.start) + slack)


def anchors(text: str) -> tuple[tuple[Anchor, ...], str]:
    """Return the times of a text that hang on events, and the text without them.

    What hangs on a date is left to ``dates``.
    """
    text = text[:_READ].lower()
    found: list[Anchor] = []
    chinese = () if text.isascii() else _CHINESE
    for pattern in (_ENGLISH, *chinese):
        for match in list(pattern.finditer(text)):
            event = match["event"].strip()
            if event and not _DATED.search(event):
                count, before = match["count"] or "", match["way"] in _BEFORE
                unit = _UNITS.get(match["unit"], match["unit"] or "")
                found.append(Anchor(event, before, _many(count), unit, exact=count in ("the", "一")))
                text = text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]
    return tuple(found), text


def _many(count: str) -> int:
    if not count:
        return 0
    word = count.removeprefix("a ").removesuffix(" of")
    return _NUMBERS[word] if word in _NUMBERS else number(word)
