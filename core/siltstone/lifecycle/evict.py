"""Capacity: the least valuable of a user's records make room, as ``Settings`` grants only so many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ..protocols import Where
from ..records import TOPIC_LEVEL, Record, message_id
from .coverage import Coverage, covers
from .jobs import KIND
from .links import links_for, loose_links
from .work import Work

ROOM: Final = 0.9
"""Eviction goes on down to this share of the capacity, so that it need not begin again with the next record."""


def evict(work: Work) -> None:
    """Take out the least valuable records while the user has more than ``Settings`` grants; never a pinned one.

    The value is ``Policy.value``. A summary that another one holds is worth what a turn of its time is; a turn that
    nothing has been made of yet, and one of the newest of a running conversation, what a fact is. What was made of
    something evicted stays: it is what is left of it, and goes when that is forgotten. O(records) where there are too
    many, which they are again after a tenth of the capacity.
    """
    stats = work.store.stats(work.user_id)
    surplus = _surplus(work, stats.records, sum(stats.bytes.values()))
    if surplus < 1:
        return
    records = {record.id: record for record in work.store.scan(work.user_id, Where())}
    chosen = dict(_least(work, records, surplus))
    if chosen and not work.dry_run:
        _take_out(work, [records[id] for id in chosen])
    for id, value in chosen.items():
        work.note("evict", [id], records[id].text, f"worth {value:.2f}, the least of {stats.records} records")


def _surplus(work: Work, records: int, size: int) -> int:
    """Return how many records are to go."""
    settings = work.policy.settings
    surplus = 0
    if settings.capacity_records is not None and records > settings.capacity_records:
        surplus = records - int(settings.capacity_records * ROOM)
    if settings.capacity_bytes is not None and size > settings.capacity_bytes:
        surplus = max(surplus, int(records * (1 - ROOM * settings.capacity_bytes / size)) + 1)
    return surplus


def _least(work: Work, records: Mapping[str, Record], number: int) -> Iterator[tuple[str, float]]:
    """Yield the ids of the least valuable records that are not pinned, with their values."""
    alike = _counted_as(work, records)
    values = {
        id: work.policy.value(record, work.now, like=alike.get(id))
        for id, record in records.items()
        if not record.pinned
    }
    for id in sorted(values, key=values.__getitem__)[:number]:
        yield id, values[id]


def _counted_as(work: Work, records: Mapping[str, Record]) -> dict[str, str]:
    """Return the kinds as which some records count, by id."""
    held = {
        id
        for record in records.values()
        if record.kind == "summary" and record.level < TOPIC_LEVEL
        for id in record.source_ids
    }
    alike = {id: "turn" for id, record in records.items() if record.kind == "summary" and id in held}
    turns = {message_id(id): id for id, record in records.items() if record.kind == "turn"}
    coverage = Coverage(work.store, work.user_id)
    for info in work.store.sessions(work.user_id):
        messages = work.store.messages(work.user_id, info.session_id)
        covered = coverage.of(info.session_id, messages)
        needed = [message.id for message in messages if message.id not in covered]
        if not work.policy.over(info.ended_at, work.now):
            needed += [message.id for message in messages[-work.policy.settings.span_turns :]]
        alike |= {turns[id]: "fact" for id in needed if id in turns}
    return alike


def _take_out(work: Work, evicted: Sequence[Record]) -> None:
    """Remove records, after what holds together what rests on them; then what held something that has gone."""
    store, user_id = work.store, work.user_id
    puts = links_for(store, user_id, evicted, work.now)
    if puts:
        store.commit(user_id, puts)
    turns = [message_id(record.id) for record in evicted if record.kind == "turn"]
    marks = [record for record in store.dependents(user_id, turns) if record.kind == KIND and covers(record)]
    store.remove(user_id, [message_id(record.id) for record in evicted])
    left = store.fetch(user_id, [id for mark in marks for id in mark.source_ids])
    there = {stored.id for stored in left if stored is not None}
    stale = [mark.id for mark in marks if there.isdisjoint(mark.source_ids)]
    stale += loose_links(store, user_id)
    if stale:
        store.remove(user_id, stale)
