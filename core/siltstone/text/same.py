"""When a text that was forgotten is sent again: what may differ and does not make it another text. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final

_QUOTES: Final = str.maketrans(dict.fromkeys("\"'`´“”„‟‘’‚‛«»‹›「」『』", ""))
_SIGNS: Final = frozenset("#%&@/\\§†‡‰-")
"""Punctuation that belongs to the word it stands at: ``C#``, ``50%``, ``@alice``."""


def folded(text: str) -> str:
    """Return the text without what copying and front ends change.

    That is case, width, spaces, quotes, characters that cannot be seen, and punctuation at both ends. A text that is
    nothing else is only ``spaced``.
    """
    normal = unicodedata.normalize("NFKC", text)
    unseen = {ord(sign): "" for sign in set(normal) if unicodedata.category(sign) == "Cf"}
    words = spaced(normal.translate(_QUOTES | unseen))
    start, end = 0, len(words)
    while start < end and _is_mark(words[start]):
        start += 1
    while start < end and _is_mark(words[end - 1]):
        end -= 1
    return words[start:end] or spaced(text)


def spaced(text: str) -> str:
    """Return the text without differences of case, width and spaces, by which stores knew a text up to now."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _is_mark(sign: str) -> bool:
    return sign == " " or (unicodedata.category(sign)[0] == "P" and sign not in _SIGNS)
