"""Links: what an evicted record rested on, kept so that whatever rests on that record still goes with it.

A summary of a week names its sessions' summaries, these name spans' and those name messages. Where one in the middle
is evicted, a record of the hidden kind ``link`` takes its place in that chain, without its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from ..protocols import Put, Store, Stored, Where
from ..records import LINK_PREFIX, Record, unique

KIND: Final = "link"


def links_for(store: Store, user_id: str, evicted: Sequence[Record], now: datetime) -> list[Put]:
    """Return the links that have to be written before records are evicted: of those, turns aside, that are sources.

    One that is evicted for the second time, since it was made anew, adds to its link. O(what rests on them).
    """
    others = [record for record in evicted if record.kind != "turn"]
    needed = _rested_on(store, user_id, [record.id for record in others])
    others = [record for record in others if record.id in needed]
    before = store.fetch(user_id, [LINK_PREFIX + record.id for record in others])
    puts = []
    for record, stored in zip(others, before, strict=True):
        known = () if stored is None or stored.record is None else stored.record.source_ids
        link = Record(
            id=LINK_PREFIX + record.id, text="", kind=KIND, level=record.level, user_id=user_id,
            session_id=record.session_id, source_ids=unique([*known, *record.source_ids]),
            created_at=record.created_at, stored_at=now, version=1 if stored is None else stored.version + 1,
        )  # fmt: skip
        if stored is None or link.source_ids != known:
            puts.append(Put(link))
    return puts


def links(store: Store, user_id: str) -> dict[str, Record]:
    """Return a user's links by the ids of the records that were evicted. O(links)."""
    found = store.scan(user_id, Where(kinds=(KIND,)))
    return {link.id.removeprefix(LINK_PREFIX): link for link in found}


def across(linked: Mapping[str, Record], versions: Sequence[Stored]) -> Sequence[Stored]:
    """Return the versions of an item, the newest with all among its sources that its evicted ones rested on."""
    *earlier, newest = versions
    record = newest.record
    if record is None or linked.keys().isdisjoint(record.source_ids):
        return versions
    sources = dict.fromkeys(record.source_ids)
    following = list(sources)
    for id in following:  # it grows meanwhile
        further = [other for other in linked[id].source_ids if other not in sources] if id in linked else []
        sources.update(dict.fromkeys(further))
        following += further
    return [*earlier, replace(newest, record=replace(record, source_ids=tuple(sources)))]


def loose_links(store: Store, user_id: str) -> list[str]:
    """Return the ids of the links that hold nothing any more. O(links and what rests on them)."""
    evicted = links(store, user_id)
    needed = _rested_on(store, user_id, list(evicted))
    return [link.id for id, link in evicted.items() if id not in needed]


def _rested_on(store: Store, user_id: str, ids: Sequence[str]) -> set[str]:
    """Return which of the ids something names as a source."""
    return {id for record in store.dependents(user_id, ids) for id in record.source_ids}.intersection(ids)
