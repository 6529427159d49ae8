"""Reading a question by rule: who and when it asks about, before anything is searched for. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from ..text.anchors import Anchor, anchors
from ..text.dates import Period, periods
from ..text.tokenize import terms
from .weights import LONG

MAX_TERMS: Final = 512
"""Terms of a question that are looked up: of a longer one, those at its beginning and end."""

_WHEN: Final = re.compile(
    r"^\W*(?:since |until |from |and )?when\b(?! (?:i|you|we|he|she|it|they|people|one)\b)"  # "when we go out, what …"
    r"|\bwhen (?:did|do|does|is|was|were|are|will|would|has|have|had)\b"
    r"|\bwhat (?:date|day|month|year|time)\b|\bwhich (?:year|month|day|date)\b|\bhow long ago\b"
    r"|什么时候|何时|哪[天年月]|几[号月]",
    re.IGNORECASE,
)
_WHERE: Final = re.compile(
    r"\bwhere\b|\b(?:what|which) (?:country|city|place|state|town)\b|哪里|哪儿|什么地方|哪个(?:城市|国家|地方)",
    re.IGNORECASE,
)
_PAST: Final = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|before|earlier|originally|back then|in the past|at first|once"
    r"|old (?:address|job|home|house|place|phone|number|name|team|school|car)|ago)\b"
    r"|以前|之前|曾经|曾|过去|原来|原先|当时|从前|先前|那时|旧",
    re.IGNORECASE,
)
_PRESENT: Final = re.compile(
    r"\b(?:now|nowadays|currently|current|these days|at the moment|at present|today|latest|newest|most recent(?:ly)?"
    r"|still)\b|现在|目前|如今|当前|最新|眼下|还在|近况",
    re.IGNORECASE,
)
_ASSISTANT: Final = re.compile(
    r"\byou (?:\w+ )?(?:recommend|suggest|tell|told|say|said|mention|advise|give|gave|propose|explain)\w*|\bdid you\b"
    r"|\byour (?:advice|suggestion|recommendation|tip|answer|explanation)s?\b|\bthe assistant\b"
    r"|你.{0,8}(?:推荐|建议|告诉|说过|提到|介绍|给过|教|讲过|解释)|助手",
    re.IGNORECASE,
)
_TO_ASSISTANT: Final = re.compile(r"我.{0,6}[和跟向给对]你|\bi (?:recommend|suggest|tell|told)", re.IGNORECASE)
_USER: Final = re.compile(r"\b(?:i|my|me|mine|we|our)\b|我", re.IGNORECASE)
_NAMED_WITHIN: Final = 4_000  # characters of a passage in which speakers' names are looked for


@dataclass(frozen=True)
class Question:
    """What a search is for.

    ``terms``      unique search terms, in order; ``counts`` how often each is in the text
    ``passage``    whether it is a passage of conversation rather than a question; then it asks for nothing special
    ``asks_when``, ``asks_where``   whether a time or a place is wanted
    ``asks_past``, ``asks_present`` whether it wants what was, or what is now
    ``role``       whose words are asked about: ``user``, ``assistant`` or ``None``
    ``periods``    times that it names, anchored on the moment of asking
    ``anchors``    times that hang on an event, whose day is still to be found; ``aside`` are terms that stand in
                   such a time only: they say when, not what
    """

    text: str
    terms: tuple[str, ...]
    counts: tuple[int, ...]
    passage: bool
    asks_when: bool
    asks_where: bool
    asks_past: bool
    asks_present: bool
    role: str | None
    periods: tuple[Period, ...]
    anchors: tuple[Anchor, ...] = ()
    aside: frozenset[str] = frozenset()


def read_question(text: str, now: datetime) -> Question:
    """Return what the text asks for. Time grows with its length only."""
    counts = Counter(terms(text))
    if counts.total() >= LONG:
        counts += Counter(terms(text.rstrip().rpartition("\n")[2]))  # the last line is what it is about
    words = tuple(counts)
    if len(words) > MAX_TERMS:
        words = words[: MAX_TERMS // 2] + words[-MAX_TERMS // 2 :]
    counted = tuple(counts[word] for word in words)
    passage = sum(counted) >= LONG
    asked = text if not passage else ""
    hanging, rest = anchors(asked)
    return Question(
        text=text[:_NAMED_WITHIN],
        terms=words,
        counts=counted,
        passage=passage,
        asks_when=_WHEN.search(asked) is not None,
        asks_where=_WHERE.search(asked) is not None,
        asks_past=_PAST.search(asked) is not None,
        asks_present=_PRESENT.search(asked) is not None,
        role=_role(asked),
        periods=tuple(periods(rest, now)),
        anchors=hanging,
        aside=frozenset(words).difference(terms(rest)) if hanging else frozenset(),
    )


def _role(text: str) -> str | None:
    if _ASSISTANT.search(text) and not _TO_ASSISTANT.search(text):
        return "assistant"
    return "user" if _USER.search(text) else None


def named(text: str, speakers: Sequence[str]) -> list[bool]:
    """Return which speakers the text names, by first name or whole name."""
    return [_name_pattern(speaker).search(text) is not None for speaker in speakers]


def name_terms(speakers: Sequence[str]) -> frozenset[str]:
    """Return the terms that names consist of: a name is its own evidence and no search term."""
    return frozenset(term for speaker in speakers for term in _terms_of_name(speaker))


@lru_cache(maxsize=4_096)
def _name_pattern(speaker: str) -> re.Pattern[str]:
    first = (speaker.split() or [speaker])[0]
    names = "|".join(re.escape(name) for name in dict.fromkeys((speaker, first)) if name)
    bound = r"(?<!\w)(?:{})(?!\w)" if first.isascii() else "(?:{})"  # 张三 has no spaces around it
    return re.compile(bound.format(names or "(?!)"), re.IGNORECASE)


@lru_cache(maxsize=4_096)
def _terms_of_name(speaker: str) -> tuple[str, ...]:
    return tuple(terms(speaker))
