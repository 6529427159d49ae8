"""When a text that was forgotten is sent again: what may differ and does not make it another text. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from .exchanges import CALLS

_QUOTES: Final = str.maketrans(dict.fromkeys("\"'`´“”„‟‘’‚‛«»‹›「」『』", ""))
_SIGNS: Final = frozenset("#%&@/\\§†‡‰-")
"""Punctuation that belongs to the word it stands at: ``C#``, ``50%``, ``@alice``."""


_PASSING: Final = frozenset({"id", "content_key", "response_metadata", "usage_metadata"})
"""What a framework notes on a message beside what it says: new, or gone, each time that a front end sends it."""


def parts_as_sent(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return by what a message without text is known when it is sent again: its calls to tools, else its other parts.

    Where nothing is left of them, it is known by all of its metadata.
    """
    if calls := {key: metadata[key] for key in CALLS if metadata.get(key)}:
        return calls
    parts = {key: _lasting(value) for key, value in metadata.items()}
    return {key: value for key, value in parts.items() if value not in ({}, [])} or metadata


def folded(text: str) -> str:
    """Return the text without what copying and front ends change.

    That is case, width, spaces, quotes, characters that cannot be seen, and punctuation at both ends. A text that is
    nothing else is only ``spaced``.
    """
    normal = unicodedata.normalize("NFKC", text)
    signs = () if normal.isascii() else set(normal)
    unseen = {ord(sign): "" for sign in signs if unicodedata.category(sign) == "Cf"}
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


def _lasting(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: item for key, item in value.items() if key not in _PASSING}


def _is_mark(sign: str) -> bool:
    return sign == " " or (unicodedata.category(sign)[0] == "P" and sign not in _SIGNS)
