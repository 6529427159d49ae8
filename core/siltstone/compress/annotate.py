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
from .statement import FACTS
from .statements import items_of

SAME: Final = 0.6
"""The share of the shorter text's terms that two items about the same thing have in common."""


def annotated(digest: Digest, said: Sequence[Utterance]) -> Digest:
    """Return the digest with the subject and attribute of every item that a statement of its sources resembles.

    A fact also moves to the list in which the rules have it: that somebody loves hiking is a preference, even where
    the model thought it a fact.
    """
    known = [
        (field, statement, frozenset(terms(statement.text)))
        for field, statements in items_of(said).items()
        for statement in statements
    ]
    lists: dict[str, list[DigestItem]] = {field: [] for field in LISTS}
    for field in LISTS:
        for item in getattr(digest, field):
            place, statement = _nearest(item, known) or (field, item)
            lists[place if field == FACTS else field].append(
                dataclasses.replace(
                    item,
                    subject=statement.subject,
                    attribute=statement.attribute,
                    occurred_at=item.occurred_at or statement.occurred_at,
                )
            )
    facts, preferences, events = (tuple(lists[field]) for field in LISTS)
    return dataclasses.replace(digest, facts=facts, preferences=preferences, events=events)


def _nearest(
    item: DigestItem, known: Sequence[tuple[str, DigestItem, frozenset[str]]]
) -> tuple[str, DigestItem] | None:
    """Return the statement from the same messages that has most in common with the item, if that is enough."""
    words, sources = frozenset(terms(item.text)), set(item.source_ids)
    near = [
        (len(words & its), field, statement)
        for field, statement, its in known
        if sources.intersection(statement.source_ids) and len(words & its) >= SAME * max(min(len(words), len(its)), 1)
    ]
    if not near:
        return None
    _, field, statement = max(near, key=lambda one: one[0])
    return field, statement
