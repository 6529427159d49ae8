"""Whole numbers that a text names, in digits, in English words and in Chinese, in one form. Pure."""

from __future__ import annotations

import re
from typing import Final

_DIGITS: Final = re.compile(r"\d+(?:,\d{3})+|\d+")
_NAMES: Final = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()  # noqa: SIM905  as in ``words``
_TEN_NAMES: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_ONES: Final = {word: value for value, word in enumerate(_NAMES)}
_TENS: Final = {word: value for value, word in zip(range(20, 100, 10), _TEN_NAMES, strict=True)}
_WORDS: Final = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<unit>{'|'.join(_NAMES[1:10])}))?|(?P<ones>{'|'.join(_ONES)}))\b",
    re.IGNORECASE,
)
_HAN: Final = re.compile(r"[零〇一二三四五六七八九十百千万两]+")
_HAN_DIGITS: Final = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
_LONGEST: Final = 18  # digits: longer ones are identifiers, and are compared as they are written


def numbers(text: str) -> set[str]:
    """Return the whole numbers of a text as decimal digits: ``112,000``, "seventy-three", 三十二.

    A lone "one" or 一 is none: it is an article as often as a number.
    """
    found = {_plain(match) for match in _DIGITS.findall(text)}
    for match in _WORDS.finditer(text):
        value: int = _TENS.get((match["tens"] or "").lower(), 0)
        value += _ONES[(match["unit"] or match["ones"] or "zero").lower()]
        if value != 1:
            found.add(str(value))
    return found | {str(written) for run in _HAN.findall(text) if (written := _chinese(run)) is not None}


def without_numbers(text: str) -> str:
    """Return a text with a space in place of its numbers, "one" and 一 among them."""
    for pattern in (_DIGITS, _WORDS, _HAN):
        text = pattern.sub(" ", text)
    return text


def _plain(digits: str) -> str:
    digits = digits.replace(",", "")
    return digits if len(digits) > _LONGEST else str(int(digits))


def _chinese(run: str) -> int | None:
    """Return the number that a run of Chinese numerals writes, or ``None`` where it is none."""
    if run == "一" or len(run) > _LONGEST:
        return None
    if len(run) > 1 and all(character in _HAN_DIGITS for character in run):  # 二〇二四
        return int("".join(str(_HAN_DIGITS[character]) for character in run))
    total = section = digit = 0
    for character in run:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_UNITS:
            section += (digit or 1) * _HAN_UNITS[character]
            digit = 0
        else:  # 万
            total += (section + digit) * 10_000
            section = digit = 0
    return total + section + digit
