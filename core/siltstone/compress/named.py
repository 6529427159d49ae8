"""Statements that say whom they are about: "she is six" becomes 小雨六岁了, "my daughter is six". Pure."""

from __future__ import annotations

import re
from typing import Final

from ..text.language import script

_PRONOUN_ZH: Final = re.compile(r"他们|她们|[他她它]|\bta\b", re.IGNORECASE)
_PRONOUN_EN: Final = re.compile(r"\b(?:he|she|they)(?P<short>['’](?:s|re|ve|ll|d))?(?![\w'’])", re.IGNORECASE)
_WRITTEN_OUT: Final = {"re": " are", "ve": " have", "ll": " will"}


def named(text: str, whom: str) -> str:
    """Return a statement with its first pronoun replaced by the words for whom it stands; 五岁 becomes 我女儿五岁."""
    if not whom:
        return text
    if script(text) == "han":
        said, times = _PRONOUN_ZH.subn(whom, text, count=1)
        return said if times or whom in text else whom + text
    match = _PRONOUN_EN.search(text)
    if match is None or (match["short"] or "")[1:].lower() == "d":
        return text
    short = match["short"] or ""
    called = whom[:1].upper() + whom[1:] if match.start() == 0 else re.sub(r"^(?:My|Our)\b", _lower, whom)
    return text[: match.start()] + called + _WRITTEN_OUT.get(short[1:].lower(), short) + text[match.end() :]


def _lower(match: re.Match[str]) -> str:
    return match.group().lower()


def quotes(sentence: str, text: str) -> bool:
    """Return whether a sentence holds a statement, word for word but for whom it names."""
    return any(text[start:] in sentence for start in range(len(text) * 3 // 4 + 1))
