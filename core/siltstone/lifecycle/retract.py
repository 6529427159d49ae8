"""What people take back, or put right, in a sentence that states nothing by itself: "the trip is off", 不对，是上海."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from ..compress.modality import asks, asserted
from ..compress.named import quotes
from ..compress.speech import USER, called, utterances
from ..records import Record, replace
from ..text.language import script
from ..text.sentences import sentences
from .candidates import CORRECTION, subject_and_attribute, topic_of
from .deaths import DEATH, dies
from .likeness import content
from .signals import cancels, contact, repair
from .spans import Span, hashed, said_at

CANCELLED: Final = "former plan"
"""Attribute of a statement that takes a plan back."""
REPAIRED: Final = "repair"
"""Attribute of a statement that puts an earlier one right, until it is known which."""
REACHED: Final = "contact"
"""Attribute of a statement that puts a number or an address in the place of another: "use 555-0100 instead"."""
_SHORTLY: Final = timedelta(minutes=30)
"""What a correction means was said at most so long before, where it does not name what was wrong."""


def retractions(span: Span, found: Sequence[Record], *, made_by: str, user_id: str, now: datetime) -> Iterator[Record]:
    """Yield a candidate for each sentence that takes something back, unless an item of the digest holds it already."""
    for said in utterances(span.messages):
        if not said.person or said.message.id is None:
            continue
        held = [record.text for record in found if said.message.id in record.source_ids]
        for sentence in sentences(said.told):
            if asks(sentence) or not asserted(sentence) or any(quotes(sentence, text) for text in held):
                continue
            attribute = _taken_back(sentence)
            if attribute is None:
                continue
            subject = called(said.message) or USER
            yield Record(
                id=hashed(attribute, span.session_id, said.message.id, sentence),
                text=sentence,
                kind="fact",
                topic=topic_of(subject, attribute),
                user_id=user_id,
                session_id=span.session_id,
                speaker=said.message.name,
                source_ids=(said.message.id,),
                created_at=said_at(said.message),
                stored_at=now,
                valid_from=said_at(said.message),
                made_by=made_by,
                flags=(CORRECTION,) if attribute == REPAIRED else (),
            )


def _taken_back(sentence: str) -> str | None:
    """Return what kind of thing a sentence takes back, if any."""
    if cancels(sentence):
        return CANCELLED
    if repair(sentence):
        return REPAIRED
    if contact(sentence):
        return REACHED
    return DEATH if dies(sentence) else None


def reached(new: Record, known: Sequence[Record]) -> tuple[Record, Record] | None:
    """Return the statement that "use 555-0100 instead" amounts to, and the one that it replaces, if there is one."""
    kind = contact(new.text)
    subject = (subject_and_attribute(new) or ("", ""))[0]
    meant = [
        old
        for old in known
        if kind and old.topic == topic_of(subject, kind) and (kind == "email" or _digits(old.text) == _digits(new.text))
    ]
    if not meant:
        return None
    old = max(meant, key=lambda one: one.created_at)
    return replace(new, topic=old.topic, kind=old.kind), old


def _digits(text: str) -> int:
    """Return how many digits a number has: another one of as many is of its kind."""
    return sum(character.isdigit() for character in text)


def repaired(new: Record, known: Sequence[Record]) -> tuple[Record, Record] | None:
    """Return what a correction amounts to and the statement that it puts right, or ``None`` where there is none.

    ``known`` are the statements that hold, in order of writing. The corrected statement is the wrong one with the
    right words in it, and rests on the messages of both.
    """
    fix = repair(new.text)
    subject = (subject_and_attribute(new) or ("", ""))[0]
    if fix is None:
        return None
    mine = [
        old for old in known if (subject_and_attribute(old) or ("",))[0] == subject and old.created_at <= new.created_at
    ]
    if fix.wrong is not None:
        meant = [old for old in mine if fix.wrong.casefold() in old.text.casefold()]
    else:
        meant = [
            old for old in mine if new.created_at - old.created_at <= _SHORTLY and old.session_id == new.session_id
        ]
    if not meant:
        return None
    old = max(meant, key=lambda one: one.created_at)
    wrong = fix.wrong or _only_name(old.text, fix.right)
    text = _exchanged(old.text, wrong, fix.right) if wrong else f"{old.text} ({new.text})"
    sources = (*old.source_ids, *(id for id in new.source_ids if id not in old.source_ids))
    return replace(new, text=text, topic=old.topic, kind=old.kind, source_ids=sources, occurred_at=old.occurred_at), old


def _exchanged(text: str, wrong: str, right: str) -> str:
    at = text.casefold().find(wrong.casefold())
    return text[:at] + right + text[at + len(wrong) :] if at >= 0 else f"{text} ({right})"


def _only_name(text: str, right: str) -> str | None:
    """Return the one name of a statement that a correction can mean by "it was Porto"."""
    if script(text) == "han":
        return None
    names = [
        word for word in text.split()[1:] if word[:1].isupper() and content(word) and word.strip(".,!?'’\"") != "I"
    ]
    cleaned = [name.strip(".,!?'’\"") for name in names if name.strip(".,!?").casefold() != right.casefold()]
    return cleaned[0] if cleaned else None
