"""Links: what an evicted record rested on, kept so that whatever rests on that record still goes with it.

A summary of a week names its sessions' summaries, these name spans' and those name messages. Where one in the middle
is evicted, a record of the hidden kind ``link`` takes its place in that chain, without its text. It says what
``forget`` may mean it by: its session, time, kind and metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from ..protocols import Put, Store, Where
from ..records import HIDDEN_KINDS, LINK_PREFIX, Record, message_id, unique

KIND: Final = "link"


def links_for(store: Store, user_id: str, evicted: Sequence[Record], now: datetime) -> list[Put]:
    """Return the links that have to be written before records are evicted; those that hold nothing are loose then.

    A turn needs one where something of another session rests on it: nothing else tells of which session it was. A
    record that is evicted for the second time, since it was made anew, adds to its link. O(what rests on them).
    """
    turns = {message_id(record.id): record.session_id for record in evicted if record.kind == "turn"}
    resting = [record for record in store.dependents(user_id, list(turns)) if record.kind not in HIDDEN_KINDS]
    held = {id for record in resting for id in record.source_ids if record.session_id != turns.get(id)}
    others = [record for record in evicted if record.kind != "turn" or message_id(record.id) in held]
    ids = [LINK_PREFIX + message_id(record.id) for record in others]
    puts = []
    for id, record, stored in zip(ids, others, store.fetch(user_id, ids), strict=True):
        known = () if stored is None or stored.record is None else stored.record.source_ids
        link = Record(
            id=id, text="", kind=KIND, level=record.level, user_id=user_id, session_id=record.session_id,
            source_ids=unique([*known, *record.source_ids]), created_at=record.created_at,
            occurred_at=record.occurred_at, stored_at=now, version=1 if stored is None else stored.version + 1,
            flags=(record.kind,), made_by=record.made_by, metadata=record.metadata,
        )  # fmt: skip
        if stored is None or link.source_ids != known:
            puts.append(Put(link))
    return puts


def stands_for(link: Record) -> str:
    """Return the kind of the record that was evicted."""
    return link.flags[0]


def links(store: Store, user_id: str) -> dict[str, Record]:
    """Return a user's links by the ids of the records that were evicted. O(links)."""
    found = store.scan(user_id, Where(kinds=(KIND,)))
    return {link.id.removeprefix(LINK_PREFIX): link for link in found}


def across(evicted: Mapping[str, Record], ids: Iterable[str]) -> tuple[str, ...]:
    """Return ids with what the evicted among them rested on, by their links, and so on. O(what is returned)."""
    found = dict.fromkeys(ids)
    following = list(found)
    for id in following:  # it grows meanwhile
        further = [one for one in evicted[id].source_ids if one not in found] if id in evicted else []
        found |= dict.fromkeys(further)
        following += further
    return tuple(found)


def loose_links(store: Store, user_id: str) -> list[Record]:
    """Return the links on which nothing rests any more. O(links and what rests on them)."""
    evicted = links(store, user_id)
    resting = store.dependents(user_id, list(evicted))
    needed = set(across(evicted, (id for record in resting if record.kind != KIND for id in record.source_ids)))
    return [link for id, link in evicted.items() if id not in needed]
