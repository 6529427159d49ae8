"""Which words of a text another one has, piece by piece, for English and Chinese. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import groupby
from typing import Final

from ...compress.support import content
from ...text.tokenize import terms

_PIECE: Final = re.compile(r"(?P<han>[\u3400-\u4dbf\u4e00-\u9fff]+)|(?P<word>[^\W_]+(?:['’.,:-][^\W_]+)*)|(?:[\W_]+)")


def shared(text: str, with_text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text, each with whether ``with_text`` has its words, too."""
    have = frozenset(terms(with_text))
    for match in _PIECE.finditer(text):
        if match["han"]:
            run = match["han"]
            yield from _grouped(run, [any(pair in have for pair in _pairs(run, place)) for place in range(len(run))])
        else:
            found = terms(match[0]) if match["word"] else []
            yield match[0], any(term in have for term in found)


def unsaid(text: str, said: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of an item, each with whether it claims something that was not said."""
    have = frozenset(terms(said))
    for match in _PIECE.finditer(text):
        if match["han"]:
            run = match["han"]
            new = [one not in have and not _is_known(run, place, have) for place, one in enumerate(run)]
            yield from _grouped(run, new)
        else:
            want = content(match[0]) if match["word"] else []
            yield match[0], bool(want) and not any(term in have for term in want)


def _pairs(run: str, place: int) -> list[str]:
    """Return a character with each of its neighbours, or alone where it has none."""
    return [run[start : start + 2] for start in (place - 1, place) if 0 <= start < max(len(run) - 1, 1)]


def _is_known(run: str, place: int, have: Collection[str]) -> bool:
    """Return whether a character was said with a neighbour, or claims nothing with it."""
    return any(pair in have or not content(pair) for pair in _pairs(run, place))


def _grouped(run: str, marks: list[bool]) -> Iterator[tuple[str, bool]]:
    start = 0
    for mark, group in groupby(marks):
        length = sum(1 for _ in group)
        yield run[start : start + length], mark
        start += length
