"""Subject and attribute for what a model wrote, where the rules find them in the same messages.

A model's items say what is so; to know that one replaces another, whom and what they are about must be known too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from ..records import Digest, DigestItem
from ..text.tokenize import terms
from .digest import LISTS
from .speech import Utterance
from .statements import items_of

SAME: Final = 0.6
"""The share of the shorter text's terms that two items about the same thing have in common."""


def annotated(digest: Digest, said: Sequence[Utterance]) -> Digest:
    """Return the digest with the subject and attribute of every item that a statement of its sources resembles."""
    stated = [item for items in items_of(said).values() for item in items]
    known = [(item, frozenset(terms(item.text))) for item in stated]
    facts, preferences, events = (tuple(_annotated(item, known) for item in getattr(digest, name)) for name in LISTS)
    return dataclasses.replace(digest, facts=facts, preferences=preferences, events=events)


def _annotated(item: DigestItem, known: Sequence[tuple[DigestItem, frozenset[str]]]) -> DigestItem:
    words, sources = frozenset(terms(item.text)), set(item.source_ids)
    near = [
        (len(words & its), statement)
        for statement, its in known
        if sources.intersection(statement.source_ids) and len(words & its) >= SAME * max(min(len(words), len(its)), 1)
    ]
    if not near:
        return item
    _, nearest = max(near, key=lambda pair: pair[0])
    return dataclasses.replace(item, subject=nearest.subject, attribute=nearest.attribute)
