"""What people tell about themselves and others in a conversation: facts, preferences and events, by rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ..records import DigestItem, unique
from ..text.language import script
from ..text.sentences import sentences
from .answers import kind_asked, short_answer, whom_asked
from .chinese import statements as chinese
from .chinese.characters import as_written, simplified
from .english import statements as english
from .labelled import labelled
from .modality import asks
from .named import named as spelled_out
from .people import People
from .pointing import points
from .speech import USER, Utterance
from .statement import EVENTS, FACTS, PREFERENCES, Statement

_DECORATION: Final = re.compile(
    r"^[^\w\s\"'“‘「『《(（\[@#$€£¥+`.\-]+\s*(?=\w)(?!(?:is|are|was|were|has)\b|是|对我)", re.IGNORECASE
)
"""Emoji and bullets before a sentence, unless they are what it is about: "🎉 I moved", "🍕 is my favourite"."""
_LONGEST: Final = 400
"""Characters of a sentence: what is longer is a document that somebody pasted."""


def items_of(said: Sequence[Utterance], *, named: bool = True) -> dict[str, tuple[DigestItem, ...]]:
    """Return the statements as items by field; what is said twice is one item with both sources.

    With ``named``, a pronoun gives way to the words of its message for the one whom it means, if that is sure.
    """
    people = People(USER)
    found: dict[tuple[str, str, str, str], DigestItem] = {}
    statements = list(find_statements(said, people))
    written = "\n".join(utterance.text for utterance in said)
    plain = simplified(written)
    for sources, one in statements:
        subject = people.names.get(one.subject, one.subject)  # the name may have come later
        subject = as_written(subject, plain, written)
        key = (one.field, subject, one.attribute, re.sub(r"\W+", "", one.text).casefold())
        before = found.get(key)
        ids = unique([*(before.source_ids if before else ()), *(id for source in sources for id in source.source_ids)])
        text = spelled_out(one.text, as_written(one.whom, plain, written)) if named else one.text
        found[key] = DigestItem(text, ids, one.when, subject, one.attribute)
    return {
        field: tuple(item for key, item in found.items() if key[0] == field) for field in (FACTS, PREFERENCES, EVENTS)
    }


def find_statements(said: Sequence[Utterance], people: People) -> Iterator[tuple[tuple[Utterance, ...], Statement]]:
    """Yield the statements of people, in order, with the utterances that make each.

    Assistants state nothing about people, but whom they mention counts for the pronouns that follow, and what they
    ask for short answers. ``people`` learns whom the conversation mentions.
    """
    speakers = list(dict.fromkeys(one.speaker for one in said if one.person))
    for name in speakers:
        people.genders.setdefault(name, "n")
    machine = any(not one.person for one in said) or len(speakers) < 2
    question: tuple[Utterance, str] | None = None
    for utterance in said:
        others = [name for name in speakers if name != utterance.speaker]
        people.begin_message()
        people.speaker = utterance.speaker
        people.listener = others[0] if len(others) == 1 else None
        asked_before = question if question and question[0].speaker != utterance.speaker else None
        question = None
        if utterance.person and (form := labelled(utterance.told)):
            yield from (((utterance,), Statement(FACTS, line, utterance.speaker, kind)) for line, kind in form.items())
            continue
        for position, decorated in enumerate(sentences(utterance.told)):
            sentence = _DECORATION.sub("", decorated)
            language = chinese if script(sentence) == "han" else english
            people.asked = None
            if asks(sentence):
                question = (utterance, sentence)
            if len(sentence) > _LONGEST or not utterance.person:
                language.note_mentions(sentence, people)
                continue
            before = asked_before if position == 0 else None
            about = None
            if before:
                people.speaker, people.listener = before[0].speaker, utterance.speaker
                about = whom_asked(before[1], people)
                people.speaker, people.listener = utterance.speaker, others[0] if len(others) == 1 else None
                people.asked = about
            found = list(language.find(sentence, people, utterance.message.created_at, to_machine=machine))
            yield from (((utterance,), one) for one in found if not points(one.attribute, one.text))
            if before and not found and (answer := _answer(before[1], sentence, about or utterance.speaker)):
                yield (before[0], utterance), answer


def _answer(question: str, sentence: str, subject: str) -> Statement | None:
    attribute, answer = kind_asked(question), short_answer(sentence)
    if attribute is None or answer is None:
        return None
    return Statement(FACTS, f"{question} {answer}", subject, attribute)
