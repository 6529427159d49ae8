"""Where a text holds what is nobody else's business: addresses, numbers, keys. Pure.

Found in English and Chinese text alike, whatever stands beside it, and in full-width forms. What only looks like such a
thing is taken for one where nothing tells them apart: too much hidden is a loss, too little a leak.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

Spans: TypeAlias = Iterator[tuple[int, int]]
"""Places in a text, each from one character up to another."""

_NARROW: Final[dict[int, int | str]] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys((0x3000, 0xA0, 0x2009, 0x202F), " "),
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), "-"),
}
"""Full-width forms, wide spaces and other dashes as their plain twins; lengths stay as they are."""


def pattern(regex: re.Pattern[str]) -> Callable[[str], Spans]:
    """Return what finds a pattern: of a group named ``sensitive`` its span, else that of the whole match."""
    group: str | int = "sensitive" if "sensitive" in regex.groupindex else 0

    def find(text: str) -> Spans:
        return (span for found in regex.finditer(text) if (span := found.span(group))[0] < span[1])

    return find


def _plain(*patterns: str) -> Callable[[str], Spans]:
    finders = [pattern(re.compile(one)) for one in patterns]

    def find(text: str) -> Spans:
        narrow = text.translate(_NARROW)
        return (span for find_one in finders for span in find_one(narrow))

    return find


_LOCAL: Final = r"(?:(?<![A-Za-z0-9._%+'-])[A-Za-z0-9._%+'-]+|(?<![^\W\x00-\x7f])[^\W\x00-\x7f]+)"
_LABEL: Final = r"(?:[A-Za-z0-9-]+|[^\W\x00-\x7f]+)"

_DIGITS: Final = re.compile(r"\d+(?:[ -]{1,2}\d+)*")
_GROUP: Final = re.compile(r"\d+")


def _cards(text: str) -> Spans:
    """Yield what has the 13 to 19 digits and the check digit of a card number (ISO/IEC 7812), other digits beside."""
    narrow = text.translate(_NARROW)
    for run in _DIGITS.finditer(narrow):
        groups = [found.span() for found in _GROUP.finditer(narrow, *run.span())]
        for first, (start, _) in enumerate(groups):
            number = ""
            for begin, end in groups[first : first + 19]:
                number += narrow[begin:end]
                if len(number) > 19:
                    break
                if len(number) >= 13 and _luhn(number):
                    yield start, end


def _luhn(number: str) -> bool:
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


READY: Final[Mapping[str, Callable[[str], Spans]]] = {
    "email": _plain(rf"{_LOCAL}@(?:{_LABEL}\.)+{_LABEL}"),
    "phone": _plain(
        r"(?<!\d)(?:(?:\+|00)?86[ -]?)?1[3-9](?:[ -]?\d){9}(?!\d)",  # a mobile of China
        r"(?<![\d+])(?:\+|00)[1-9](?:[ .()/-]{0,2}\d){6,14}(?!\d)",  # any country, with its code
        r"(?<!\d)(?:1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\d)",  # North America
        r"(?<!\d)[2-9]\d{2}[2-9]\d{6}(?!\d)",
        r"(?<!\d)(?:\(0\d{2,4}\)|0\d{2,4})[ -]?\d{3,4}[ -]?\d{3,5}(?!\d)",  # a land line of China, Britain and others
        r"(?<!\d)0\d(?:[ .-]?\d{2}){4}(?!\d)",  # France
    ),
    "card": _cards,
    "chinese_id": _plain(  # GB 11643: region, day of birth, number; without its check digit, as it may be mistyped
        r"(?<![\dA-Za-z])[1-9]\d{5}[ -]?(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[ -]?\d{3}[\dXx]"
        r"(?![\dA-Za-z])",
        r"(?<![\dA-Za-z])[1-9]\d{7}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}(?![\dA-Za-z])",
    ),
    "secret": _plain(
        r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",
        r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|hf_|npm_|xox[abeprs]-|AIza)[A-Za-z0-9_-]{16,}",
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*",  # a JSON web token
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        r"(?i)\bbearer[ ]+(?P<sensitive>[A-Za-z0-9._~+/=-]{8,})",
        r"(?i)\b(?:api[ _-]?keys?|access[ _-]?tokens?|secret(?:[ _-]?keys?)?|tokens?|passw(?:or)?d|passphrase|pwd|pin)"
        r"(?:[\"']?\s*[:=]\s*|\s+(?:is|was)(?:\s+now)?:?\s+)[\"'“‘]?(?P<sensitive>[^\s\"'”’,;，。；]+)",
        r"(?:密码|口令|密钥|令牌|验证码)(?:就是|改成了?|改为|换成了?|是|为|[:=])+\s*[\"'“‘「]?(?P<sensitive>[^\s\"'”’」,;，。；]+)",
    ),
}
"""What finds the ready-made kinds, by name."""
