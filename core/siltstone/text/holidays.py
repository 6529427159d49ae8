"""Days that people name instead of numbering, in the Gregorian and the Chinese calendar."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from .periods import Period, span

# Chinese New Year, Dragon Boat, Qixi and Mid-Autumn as (month, day), from 2015 on: they follow the moon.
_FIRST_YEAR: Final = 2015
_SPRING: Final = (
    "0219 0208 0128 0216 0205 0125 0212 0201 0122 0210 0129 0217 0206 0126 0213 0203 0123 0211 0131 0219 0208"
)
_DRAGON: Final = (
    "0620 0609 0530 0618 0607 0625 0614 0603 0622 0610 0531 0619 0609 0528 0616 0605 0624 0612 0601 0620 0610"
)
_QIXI: Final = (
    "0820 0809 0828 0817 0807 0825 0814 0804 0822 0810 0829 0819 0808 0826 0816 0805 0824 0812 0801 0820 0810"
)
_AUTUMN: Final = (
    "0927 0915 1004 0924 0913 1001 0921 0910 0929 0917 1006 0925 0915 1003 0922 0912 1001 0919 0908 0927 0916"
)

# name -> (month, day, number of days); holidays are kept as long as their usual leave
_FIXED: Final = {
    "new year": (12, 31, 2),
    "valentine": (2, 14, 1),
    "women": (3, 8, 1),
    "qingming": (4, 4, 3),
    "labour": (5, 1, 5),
    "children": (6, 1, 1),
    "independence": (7, 4, 1),
    "teachers": (9, 10, 1),
    "national": (10, 1, 7),
    "halloween": (10, 31, 1),
    "singles": (11, 11, 1),
    "christmas": (12, 24, 3),
}
_LUNAR: Final = {
    "spring festival": (_SPRING, -1, 8),
    "lantern": (_SPRING, 14, 1),
    "dragon boat": (_DRAGON, 0, 3),
    "qixi": (_QIXI, 0, 1),
    "mid-autumn": (_AUTUMN, 0, 3),
}
_NTH: Final = {  # name -> (month, weekday from Monday, which of the month, number of days)
    "mothers": (5, 6, 2, 1),
    "fathers": (6, 6, 3, 1),
    "thanksgiving": (11, 3, 4, 4),
}
# what people call them -> (holiday, a piece of each of these names)
ENGLISH: Final = {
    r"(?:chinese|lunar) new year|spring festival": ("spring festival", "new year", "spring festival"),
    r"new year(?:['’]?s)?(?: eve| day)?": ("new year", "new year"),
    r"valentine(?:['’]?s)?(?: day)?": ("valentine", "valentine"),
    r"labou?r day|may day": ("labour", "r day", "may day"),
    r"independence day|(?:the )?(?:4th|fourth) of july": ("independence", "independence", "of july"),
    r"halloween": ("halloween", "halloween"),
    r"thanksgiving": ("thanksgiving", "thanksgiving"),
    r"christmas(?: eve| day)?|xmas": ("christmas", "mas"),
    r"easter": ("easter", "easter"),
    r"lantern festival": ("lantern", "lantern"),
    r"dragon boat festival": ("dragon boat", "dragon boat"),
    r"mid-?autumn festival|moon festival": ("mid-autumn", "festival"),
    r"national day": ("national", "national day"),
    r"mother['’]?s['’]? day": ("mothers", "mother"),
    r"father['’]?s['’]? day": ("fathers", "father"),
}
CHINESE: Final = {
    "元旦": "new year",
    "情人节": "valentine",
    "妇女节|三八节": "women",
    "清明节?": "qingming",
    "劳动节|五一(?:假期|黄金周|节)?": "labour",
    "儿童节|六一": "children",
    "教师节": "teachers",
    "国庆节?|十一(?:假期|长假|黄金周)": "national",
    "母亲节": "mothers",
    "父亲节": "fathers",
    "万圣节": "halloween",
    "感恩节": "thanksgiving",
    "双十一|光棍节": "singles",
    "圣诞节?|平安夜": "christmas",
    "复活节": "easter",
    "春节|过年|大年初一|除夕": "spring festival",
    "元宵节?": "lantern",
    "端午节?": "dragon boat",
    "七夕节?": "qixi",
    "中秋节?": "mid-autumn",
}


def holiday(now: datetime, name: str, year: int) -> Period | None:
    """Return the days of a holiday in a year, in the time zone of ``now``; ``None`` where they are not known."""
    if name in _FIXED:
        month, number, days = _FIXED[name]
        start = now.replace(year=year - 1 if name == "new year" else year, month=month, day=number)
        return span(start, days)
    if name in _LUNAR:
        table, shift, days = _LUNAR[name]
        known = table.split()
        if not 0 <= year - _FIRST_YEAR < len(known):
            return None
        text = known[year - _FIRST_YEAR]
        start = now.replace(year=year, month=int(text[:2]), day=int(text[2:]))
        return span(start + timedelta(days=shift), days)
    if name in _NTH:
        month, weekday, place, days = _NTH[name]
        first = now.replace(year=year, month=month, day=1)
        return span(first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (place - 1)), days)
    if name == "easter":
        return span(_easter(now, year) - timedelta(days=2), 4)
    return None


def _easter(now: datetime, year: int) -> datetime:
    """Return Easter Sunday by the anonymous Gregorian algorithm (Nature, 1876)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return now.replace(year=year, month=month, day=day + 1)
