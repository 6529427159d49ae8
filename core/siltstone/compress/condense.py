"""Statements that say less beside the point, where people state so much that a digest would not be a fifth. Pure.

What goes is what hangs on a statement and is no part of what makes it one: "He's eleven and deeply opposed to travel"
is kept for his age. Names, numbers, days and denials stay, and what is left is still word for word what was said.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from ..records import DigestItem
from .modality import negated
from .when import dated

Items: TypeAlias = Mapping[str, tuple[DigestItem, ...]]

_WHOLE: Final = frozenset({"instruction", "reminder", "relation", "name"})
"""What is kept as it was said."""
_TRAILING: Final = re.compile(
    r"(?:,?\s+(?:anyway|as well|too|though|of course|you know|by the way|i guess|honestly|really|actually"
    r"|to be honest))+$",
    re.IGNORECASE,
)
_CODA: Final = re.compile(
    r"(?P<kept>^\S+(?:\s+\S+)+?)"
    r"(?:,\s+(?!and\b|but\b|or\b)|,?\s+(?:and|but)\s+"
    r"(?=\w+ly\b|never\b|always\b|so\b|very\b)"
    r"|,?\s+(?:because|although|though|which)\s+)(?P<coda>[^,]*)$",
    re.IGNORECASE,
)
_WEIGHTY: Final = re.compile(r"\d|(?-i:(?<!^)\b(?!I\b)[A-Z])|\b(?:years?|months?|weeks?)[ -]old\b", re.IGNORECASE)
_LEAST: Final = 2
"""Words that are left of a statement at least."""


def condensed(items: Items, fits: Callable[[Items], bool]) -> Items:
    """Return the items without what hangs on their ends, the longest piece first, until they fit or nothing is left."""
    while not fits(items):
        pieces = [
            (len(item.text) - len(shorter), field, number, shorter)
            for field, found in items.items()
            for number, item in enumerate(found)
            if (shorter := _shorter(item)) != item.text
        ]
        if not pieces:
            break
        _, field, number, shorter = max(pieces, key=lambda piece: piece[0])
        found = list(items[field])
        found[number] = dataclasses.replace(found[number], text=shorter)
        items = {**items, field: tuple(found)}
    return items


def _shorter(item: DigestItem) -> str:
    """Return the text of an item without what hangs on its end, or as it is."""
    if item.attribute in _WHOLE:
        return item.text
    bare = _TRAILING.sub("", item.text)
    if bare != item.text and len(bare.split()) >= _LEAST:
        return bare
    match = _CODA.match(item.text)
    if match is None or len(match["kept"].split()) < _LEAST:
        return item.text
    coda = match["coda"]
    if _WEIGHTY.search(coda) or dated(coda) or negated(coda):
        return item.text
    return match["kept"]
