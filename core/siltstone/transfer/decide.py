"""What becomes of each item of a source, decided from what is stored. Pure: it reads through ``Reads``, writes nothing.

A copy of an item is known again by its id. If the store has a state that the copy has been through, the later ones
are added to it; if both have gone on from there, the one that was changed last stays or comes; if the two were not
written at the same moment, they are two things under one id, and what is there stays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from ..errors import ConflictError, InvalidInputError
from ..importers.reader import Copied, Noted, Said
from ..protocols import Floats, Put, Stored
from ..records import Message, Record, replace
from ..tiers.incoming import check_id, check_kind, check_metadata, check_own_text, check_record_id, read_messages
from ..tiers.long_term import plan_add
from .reads import Reads

Outcome: TypeAlias = Literal["added", "updated", "unchanged", "skipped", "failed"]

FORGOTTEN: Final = "it was forgotten in this store, or rests on something that was"
OUTDATED: Final = "the text that it was made of has changed since: it will be made anew"


@dataclass(frozen=True)
class Decision:
    """What becomes of an item: what to put, why nothing is put, or what it waits for.

    ``lacks`` is the id of a source that is not there (yet); the versions before the one that needs it are put.
    """

    outcome: Outcome
    puts: tuple[Put, ...] = ()
    reason: str | None = None
    lacks: str | None = None


@dataclass(frozen=True)
class Rules:
    """Whose memory it goes into, when, and what its settings allow; ``said_at`` stands for times that are missing."""

    user_id: str
    now: datetime
    said_at: datetime
    max_chars: int


def decide(item: Copied | Said | Noted, reads: Reads, rules: Rules, vector: Floats | None) -> Decision:
    """Decide about one item; ``vector`` is the one that came with it, where it can be used."""
    try:
        if isinstance(item, Copied):
            return _copied(item, reads, rules, vector)
        if isinstance(item, Said):
            return _said(item.message, reads, rules)
        return _noted(item.record, reads, rules, vector)
    except (InvalidInputError, ConflictError) as exc:
        return Decision("failed", reason=str(exc))


# --- copies of items of a siltstone store


def _copied(item: Copied, reads: Reads, rules: Rules, vector: Floats | None) -> Decision:
    versions = [_owned(version, rules.user_id) for version in item.versions]
    newest = versions[-1]
    for version in versions:
        text = version.message.content if version.message is not None else version.record.text if version.record else ""
        if len(text) > rules.max_chars:
            return Decision("failed", reason=f"a text of {len(text):,} characters is over Settings.max_message_chars")
    here = reads.get(newest.id)
    if here is None:
        return _put("added", versions, reads, vector, item.evicted)
    if (here.message is None) != (newest.message is None):
        return Decision("failed", reason="its id belongs to a message here and to another record there, or reversely")
    states = [_state(version) for version in versions]
    if _state(here) in states:
        later = versions[len(states) - states[::-1].index(_state(here)) :]
        return _put("updated", later, reads, vector, item.evicted) if later else Decision("unchanged")
    if _content(here) == _content(newest):
        return Decision("unchanged")
    if _born(here) != _born(newest):
        if _sources(here) and _sources(here) == _sources(newest):
            return Decision("skipped", reason="this store has made its own of the same sources")
        return Decision("failed", reason="its id belongs to something else in this store, which stays as it is")
    return _later(here, newest, item.evicted, reads, rules, vector)


def _later(
    here: Stored, there: Stored, evicted: Collection[str], reads: Reads, rules: Rules, vector: Floats | None
) -> Decision:
    """Decide between two states of one item that do not follow from each other: the one changed last counts."""
    if here.record is None or there.record is None:
        return Decision("skipped", reason="it differs from the one in this store, and nothing says which is later")
    if changed_at(here.record) > changed_at(there.record):
        return Decision("skipped", reason="this store has a later version")
    edited = changed_at(here.record) == changed_at(there.record)  # by hand, in the file
    record = replace(
        there.record,
        version=here.record.version + 1,
        updated_at=rules.now if edited else there.record.updated_at,
    )
    return _put("updated", [dataclasses.replace(there, record=record)], reads, vector, evicted)


def _put(
    outcome: Outcome, versions: Sequence[Stored], reads: Reads, vector: Floats | None, evicted: Collection[str]
) -> Decision:
    """Put the versions in turn, as far as all that they rest on is there, or has been evicted where they come from.

    What rests on something that was forgotten here the store itself refuses.
    """
    puts: list[Put] = []
    lacks = None
    for version in versions:
        rests_on = version.record.source_ids if version.record is not None and version.message is None else ()
        lacks = next((source for source in rests_on if source not in evicted and reads.get(source) is None), None)
        if lacks is not None:
            break
        last = version is versions[-1]
        puts.append(
            Put(
                version.record,
                version.message,
                vector if last and version.record is not None else None,
                supplied_id=version.supplied_id,
                restores=True,
            )
        )
    return Decision(outcome, tuple(puts), lacks=lacks)


def _owned(version: Stored, user_id: str) -> Stored:
    if version.record is None:
        return version
    return dataclasses.replace(version, record=replace(version.record, user_id=user_id))


def _state(item: Stored) -> tuple[Message | None, Record | None]:
    return item.message, item.record


def _content(item: Stored) -> tuple[Message | None, Record | None]:
    """Return an item without the times and counts of its versions."""
    if item.record is None:
        return item.message, None
    same = item.record.created_at
    return item.message, replace(item.record, version=1, updated_at=None, stored_at=same)


def _born(item: Stored) -> tuple[object, ...]:
    """Return what stays through all versions of an item and tells it from another one of the same id."""
    if item.message is not None:
        return item.message.session_id, item.message.created_at
    assert item.record is not None
    return item.record.created_at, item.record.stored_at


def _sources(item: Stored) -> tuple[str, ...]:
    """Return what a derived record was made of: its id may follow from that."""
    return item.record.source_ids if item.record is not None and item.message is None else ()


def changed_at(record: Record) -> datetime:
    """Return when a record got its newest version."""
    return record.updated_at or record.stored_at


# --- items of other programs


def _said(message: Message, reads: Reads, rules: Rules) -> Decision:
    session_id = message.session_id or ""
    (read,) = read_messages([message], session_id=session_id, created_at=rules.said_at, max_chars=rules.max_chars)
    plan = plan_add([read], reads.fetch, rules.user_id, rules.now, "update")
    if not plan.puts:
        return Decision("unchanged")
    (put,) = plan.puts
    return Decision("updated" if reads.version(put.id) else "added", plan.puts)


def _noted(given: Record, reads: Reads, rules: Rules, vector: Floats | None) -> Decision:
    record = replace(
        given,
        id=check_record_id(given.id),
        text=check_own_text(given.text, rules.max_chars),
        kind=check_kind(given.kind),
        session_id=None if given.session_id is None else check_id(given.session_id, "session_id"),
        metadata=check_metadata(given.metadata, "the record"),
        user_id=rules.user_id,
        created_at=rules.said_at,
        stored_at=rules.now,
    )
    here = reads.get(record.id)
    if here is None:
        return Decision("added", (Put(record, vector=vector, restores=True),))
    if here.record is None or here.message is not None or here.record.made_by != record.made_by:
        return Decision("failed", reason="its id belongs to something else in this store, which stays as it is")
    known = here.record
    if _told(known) == _told(record):
        return Decision("unchanged")
    kept = {name: getattr(known, name) for name in ("created_at", "stored_at", "pinned", "importance", "expires_at")}
    version = replace(record, **kept, version=known.version + 1, updated_at=rules.now)
    return Decision("updated", (Put(version, vector=vector, restores=True),))


def _told(record: Record) -> tuple[object, ...]:
    """Return what another program's text says of itself."""
    return record.text, record.kind, record.topic, record.speaker, record.session_id, record.metadata
