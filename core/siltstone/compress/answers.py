"""Short answers to questions about a person: "How old is she?" "Nine." Each half alone says nothing."""

from __future__ import annotations

import re
from typing import Final

from .people import People
from .relations import CHINESE, CHINESE_PATTERN, ENGLISH, ENGLISH_PATTERN

_KINDS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (attribute, re.compile(pattern, re.IGNORECASE))
    for attribute, pattern in (
        ("age", r"\bhow old (?:is|are)\b|多大|几岁|多少岁"),
        (
            "name",
            r"\bwhat(?:['’]s| is| are) (?:your|his|her|their|its|the \w+['’]s) names?\b|\bwhat (?:do you|should i) "
            r"call\b|叫什么|怎么称呼|名字是",
        ),
        ("home", r"\bwhere (?:do|does|are|is) [\w ]{1,20}(?:live|living|based)\b|住(?:在)?哪|在哪(?:里|儿)?住"),
        (
            "work",
            r"\bwhat (?:do|does) (?:you|he|she|they) do\b(?: for (?:a living|work))?\s*\?|\bwhat(?:['’]s| is) "
            r"(?:your|his|her) (?:job|profession)|做什么工作|什么工作|(?:做|干)什么的|什么职业",
        ),
        ("origin", r"\bwhere (?:are|is) (?:you|he|she|they) from\b|哪里人|哪儿人|老家(?:在|是)?哪"),
        ("health", r"\ballerg(?:ies|ic) [^?]*\?|对什么过敏"),
    )
)
_YOUR: Final = re.compile(
    rf"\byour\s+(?:\w+\s+)?(?P<en>{ENGLISH_PATTERN})\b|[你您]们?家?的?(?P<zh>{CHINESE_PATTERN})|(?P<child>孩子|宝宝)",
    re.IGNORECASE,
)
_THEY: Final = re.compile(r"\b(?P<en>he|she|they|his|her|their)\b|(?P<zh>他|她)", re.IGNORECASE)
_EMPTY: Final = re.compile(
    r"^(?:(?:yes|no|yeah|yep|nope|not|i do|none|nothing|maybe|sure|why|it|that|this|what|never|ok|oh"
    r"|haha)\b|[有没不是对好嗯哈]|怎么|为什么|随便)",
    re.IGNORECASE,
)
_LONGEST: Final = 40


def kind_asked(question: str) -> str | None:
    """Return the attribute that a question asks for, if it is one that a word or two can answer."""
    return next((attribute for attribute, pattern in _KINDS if pattern.search(question)), None)


def whom_asked(question: str, people: People) -> str | None:
    """Return whom a question is about, if it is not the one who is asked."""
    if match := _YOUR.search(question):
        relation = ENGLISH[match["en"].lower()] if match["en"] else CHINESE[match["zh"] or match["child"]]
        return people.related(relation, None, people.listener or "user")
    if match := _THEY.search(question):
        word = (match["en"] or match["zh"]).lower()
        return people.pronoun({"he": "m", "his": "m", "她": "f", "他": "m", "she": "f", "her": "f"}.get(word, "p"))
    return None


def short_answer(sentence: str) -> str | None:
    """Return a sentence that can stand as an answer by itself, without its end mark; else ``None``."""
    text = sentence.strip().rstrip(".!。！~～")
    if not text or len(text) > _LONGEST or _EMPTY.match(text) or text.endswith(("?", "？")):
        return None
    return text
