"""Links: what an evicted record rested on, kept so that whatever rests on that record still goes with it.

A summary of a week names its sessions' summaries, these name spans' and those name messages. Where one in the middle
is evicted, a record of the hidden kind ``link`` takes its place in that chain, without its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ..protocols import Put, Store, Where
from ..records import LINK_PREFIX, Record, unique

KIND: Final = "link"


def links_for(store: Store, user_id: str, evicted: Sequence[Record], now: datetime) -> list[Put]:
    """Return the links that have to be written before records are evicted: of those, turns aside, that are sources.

    One that is evicted for the second time, since it was made anew, adds to its link. O(what rests on them).
    """
    others = [record for record in evicted if record.kind != "turn"]
    resting = store.dependents(user_id, [record.id for record in others])
    needed = {id for record in resting for id in record.source_ids}
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


def loose_links(store: Store, user_id: str) -> list[str]:
    """Return the ids of the links that hold nothing any more. O(links and what rests on them)."""
    evicted = links(store, user_id)
    resting = store.dependents(user_id, list(evicted))
    waiting = [id for record in resting if record.kind != KIND for id in record.source_ids]
    needed: set[str] = set()
    while waiting:
        id = waiting.pop()
        if id in evicted and id not in needed:
            needed.add(id)
            waiting += evicted[id].source_ids
    return [link.id for id, link in evicted.items() if id not in needed]
