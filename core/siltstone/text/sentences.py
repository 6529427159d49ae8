"""Sentences of English and Chinese text, and cutting a text at the end of one."""

from __future__ import annotations

import re
from typing import Final

from ..protocols import TokenCounter

_ABBREVIATIONS: Final = r"(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bMrs)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)"
_END: Final = re.compile(
    rf"(?:{_ABBREVIATIONS}(?<![.!?])[.!?]+[\"'”’)\]]*(?=\s|$)|[。！？!?…]+[”’」』）\"']*(?!\s)|\n+)\s*"
)
_WORD: Final = re.compile(  # a Chinese character, or up to 16 others; white space alone, where nothing follows
    r"\s*(?:[\u2e80-\uffef]|[^\s\u2e80-\uffef]{1,16})|\s+"
)
MARK: Final = " […]"
"""Stands where a text has been cut."""
CHARACTERS_PER_TOKEN: Final = 64
"""No tokenizer in use makes longer tokens of prose: longer texts cannot fit and need not be counted."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, stripped, without empty ones."""
    return [part for piece in _pieces(text) if (part := piece.strip())]


def cut(text: str, max_tokens: int, counter: TokenCounter) -> str:
    """Return the longest beginning of ``text`` that ends with a sentence and fits with ``MARK``.

    Where not even the first sentence fits, its words (or characters) are cut. A text that fits is returned as it
    is; where nothing fits, the result is empty.
    """
    if counter.count(text) <= max_tokens:
        return text
    text = text[: max(max_tokens, 1) * CHARACTERS_PER_TOKEN]  # what cannot fit need not be counted
    pieces = _pieces(text)
    kept = _longest(pieces, max_tokens, counter)
    if kept:
        return kept
    return _longest(_WORD.findall(pieces[0]) if pieces else [], max_tokens, counter)


def _pieces(text: str) -> list[str]:
    pieces, start = [], 0
    for match in _END.finditer(text):
        pieces.append(text[start : match.end()])
        start = match.end()
    if start < len(text):
        pieces.append(text[start:])
    return pieces


def _longest(pieces: list[str], max_tokens: int, counter: TokenCounter) -> str:
    """Return the most pieces from the front that fit with the mark, by bisection over counts."""
    low, high = 0, len(pieces)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count("".join(pieces[:middle]).rstrip() + MARK) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return "".join(pieces[:low]).rstrip() + MARK if low else ""
