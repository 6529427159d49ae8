"""From a digest to records: a summary of the span, and what its items would be if nothing were known yet. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Final

from ..compress.digest import LISTS
from ..compress.named import quotes
from ..compress.speech import USER, called
from ..records import Digest, DigestItem, Record, unique
from ..text.guard import is_injected
from ..text.sentences import sentences
from ..tiers.policy import Policy
from .signals import corrects, implied
from .spans import Span, hashed, said_at
from .state import SOURCE_TOKENS

SEPARATOR: Final = " · "
"""Stands between subject and attribute in the topic of a record: ``user · home``."""


def topic_of(subject: str | None, attribute: str | None) -> str | None:
    """Return the topic of what is known of a subject, or ``None`` where either is unknown."""
    return f"{subject}{SEPARATOR}{attribute}" if subject and attribute else None


def subject_and_attribute(record: Record) -> tuple[str, str] | None:
    """Return what a record's topic says that it is about, if it says that."""
    subject, found, attribute = (record.topic or "").rpartition(SEPARATOR)
    return (subject, attribute) if found else None


def summary_of(span: Span, digest: Digest, *, user_id: str, now: datetime) -> Record:
    """Return the summary of a span, level 0."""
    return Record(
        id=span.key("summary"),
        text=digest.summary,
        kind="summary",
        topic=digest.topic or None,
        user_id=user_id,
        session_id=span.session_id,
        source_ids=span.ids,
        created_at=span.last_said,
        stored_at=now,
        made_by=digest.made_by,
        flags=digest.flags,
        metadata={SOURCE_TOKENS: span.tokens},
    )


def candidates_of(span: Span, digest: Digest, policy: Policy, *, user_id: str, now: datetime) -> list[Record]:
    """Return a record for each item of a digest."""
    said = {message.id: message for message in span.messages if message.id is not None}
    place = {id: number for number, id in enumerate(said)}
    speakers = unique([USER, *(name for message in span.messages if (name := called(message)) is not None)])
    found: list[Record] = []
    for field in LISTS:
        for item in _known_items(digest, field, said):
            sources = tuple(id for id in item.source_ids if id in said)
            last = max(sources, key=place.__getitem__)
            told = said_at(said[last])
            attribute = (_lasting(item) if field == "events" else None) or item.attribute
            record = Record(
                id=hashed(field, span.session_id, last, item.subject or "", item.attribute or "", item.text),
                text=item.text,
                kind=policy.kind_of(
                    "facts" if attribute in ("work", "family") else field, item.subject, attribute, speakers
                ),
                topic=topic_of(item.subject, attribute),
                user_id=user_id,
                session_id=span.session_id,
                speaker=said[last].name,
                source_ids=sources,
                created_at=told,
                stored_at=now,
                occurred_at=item.occurred_at,
                valid_from=told,
                made_by=digest.made_by,
                flags=_flags(item, digest, [said[id].content for id in sources]),
            )
            found.append(record)
    return found


def in_order(span: Span, candidates: Sequence[Record]) -> list[Record]:
    """Return candidates in the order in which the last of their sources was said."""
    place = {id: number for number, id in enumerate(span.ids)}
    return sorted(candidates, key=lambda record: max(place[id] for id in record.source_ids))


def _known_items(digest: Digest, field: str, said: Collection[str]) -> Iterator[DigestItem]:
    """Yield the items that rest on messages of the span, and are no memory of what siltstone injected."""
    for item in getattr(digest, field):
        if any(id in said for id in item.source_ids) and not is_injected(item.text):
            yield item


def _lasting(item: DigestItem) -> str | None:
    """Return the attribute that a happening changes for good; a wedding that is planned makes nobody married."""
    attribute = implied(item.text)
    return None if attribute == "family" and item.attribute != "event" else attribute


def _flags(item: DigestItem, digest: Digest, said: Sequence[str]) -> tuple[str, ...]:
    """Return the flags of an item: what its digest lacks, and whether the sentence that holds it corrects something."""
    found = [flag for flag in digest.flags if flag == FALLBACK]
    sentence = next((one for text in said for one in sentences(text) if quotes(one, item.text)), item.text)
    return (*found, CORRECTION) if corrects(sentence) else tuple(found)


CORRECTION: Final = "correction"
"""Flag of a statement that says that an earlier one was wrong."""
FALLBACK: Final = "fallback"
"""Flag of what the extractive summarizer made because the language model had failed."""
