"""What a text is like, as a few bits that ranking can use without reading the text again."""

from __future__ import annotations

import re
from typing import Final

from .tokenize import is_question

ASKS: Final = 1
"""It asks something."""
ASKS_LAST: Final = 2
"""It ends with a question: what follows is probably the answer."""
SPEAKS_OF_TIME: Final = 4
"""It says when: yesterday, last week, in May, 上周, 三天前 …"""
NAMES: Final = 8
"""It holds a proper name, a title or a quotation."""

_READ: Final = 20_000  # characters: traits are those of ordinary messages, not of books
_DAY: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TIME: Final = re.compile(  # of lower-cased text: three times as fast as a pattern that ignores case
    r"\b(?:yesterday|today|tonight|tomorrow|recently|since|weekend|(?:19|20)\d\d"
    rf"|(?:last|this|next) (?:night|week|month|year|summer|winter|spring|fall|autumn|morning|{_DAY})|{_DAY}"
    r"|(?:an?|one|two|three|four|five|six|\d+|few|couple of) (?:day|week|month|year)s? ago"
    r"|january|february|march|april|june|july|august|september|october|november|december)"
)
_TIME_IN_CHINESE: Final = re.compile(
    r"[昨前今明后]天|[上下这]周|[上下这]个?(?:星期|月)|[去今明前]年|\d[月号日]|周末|星期"
    r"|[一二三四五六两几\d](?:天|周|个月|年)前|最近"
)
_NAME: Final = re.compile(r"[A-Z](?<=[a-z,;:] [A-Z])[a-z]+|[\"“”《「]")  # what can be skipped to stands first
_ENDS_ASKING: Final = re.compile(r"(?:[?？][\s\"”’')）]*|(?:吗|嗎|呢)\s*)(?:\[[^\]]*\])?$")  # a caption may follow


def traits(text: str) -> int:
    """Return the bits of a text: ``ASKS``, ``ASKS_LAST``, ``SPEAKS_OF_TIME``, ``NAMES``."""
    text = text[:_READ]
    bits = ASKS if is_question(text) else 0
    if _ENDS_ASKING.search(text[-400:].rstrip()):
        bits |= ASKS_LAST
    if _TIME.search(text.lower()) or (not text.isascii() and _TIME_IN_CHINESE.search(text)):
        bits |= SPEAKS_OF_TIME
    if _NAME.search(text):
        bits |= NAMES
    return bits
