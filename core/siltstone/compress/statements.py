"""What people tell about themselves and others in a conversation: facts, preferences and events, by rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ..records import DigestItem, unique
from ..text.language import script
from ..text.sentences import sentences
from . import statements_en, statements_zh
from .people import People
from .speech import Utterance
from .statement import Statement

_LONGEST: Final = 400
"""Characters of a sentence: what is longer is a document that somebody pasted."""


def find_statements(said: Sequence[Utterance], people: People | None = None) -> Iterator[tuple[Utterance, Statement]]:
    """Yield the statements of people, in order, with the utterance that makes each.

    Assistants state nothing about people, but whom they mention counts for the pronouns that follow.
    """
    people = people or People("user")
    speakers = {one.speaker for one in said if one.person}
    machine = any(not one.person for one in said) or len(speakers) < 2
    for name in speakers - {"user"}:
        people.genders[name] = "n"
    for utterance in said:
        people.speaker = utterance.speaker
        for sentence in sentences(utterance.text):
            language = statements_zh if script(sentence) == "han" else statements_en
            if len(sentence) > _LONGEST or not utterance.person:
                language.note_mentions(sentence, people)
                continue
            when = utterance.message.created_at
            for statement in language.find(sentence, people, when, to_machine=machine):
                yield utterance, statement


def items_of(said: Sequence[Utterance]) -> dict[str, tuple[DigestItem, ...]]:
    """Return the statements as items by field; what is said twice is one item with both sources."""
    people = People("user")
    found: dict[tuple[str, str, str, str], DigestItem] = {}
    for utterance, one in list(find_statements(said, people)):
        subject = people.names.get(one.subject, one.subject)  # the name may have come later
        key = (one.field, subject, one.attribute, re.sub(r"\W+", "", one.text).casefold())
        before = found.get(key)
        sources = (*before.source_ids, *utterance.source_ids) if before else utterance.source_ids
        found[key] = DigestItem(one.text, unique(sources), one.when, subject, one.attribute)
    return {
        field: tuple(item for key, item in found.items() if key[0] == field)
        for field in ("facts", "preferences", "events")
    }
