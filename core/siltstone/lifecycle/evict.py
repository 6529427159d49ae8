"""Capacity: the least valuable of a user's records make room, as ``Settings`` grants only so many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeGuard

from ..protocols import Compacts, StoreStats, Where
from ..records import TOPIC_LEVEL, TURN_PREFIX, Message, Record, SessionInfo, message_id
from .coverage import Coverage, covers
from .jobs import KIND as JOB
from .links import links_for, loose_links
from .work import Work

ROOM: Final = 0.9
"""Eviction goes on down to this share of the capacity, so that it need not begin again with the next record."""


def evict(work: Work) -> None:
    """Take out the least valuable records while the user has more than ``Settings`` grants; never a pinned one.

    The value is ``Policy.value``. A summary that another one holds is worth what a turn of its time is; a turn that
    nothing has been made of yet, and one of the newest of a running conversation, what a fact is. What was replaced
    goes before what has replaced it, which stays with a pinned one. A message without a record, such as a tool's
    result, goes with the turn before it. What was made of something evicted stays: it is what is left of it, and goes
    when that is forgotten. O(records) where there are too many, which they are again after a tenth of the capacity.
    """
    while True:  # how many bytes a record takes shows when it has gone
        stats = _present(work)
        surplus = _surplus(work, stats.records, sum(stats.bytes.values()))
        if surplus < 1:
            return
        records = {record.id: record for record in work.store.scan(work.user_id, Where())}
        sessions = {
            info: work.store.messages(work.user_id, info.session_id) for info in work.store.sessions(work.user_id)
        }
        chosen = dict(islice(_least(work, records, _counted_as(work, records, sessions)), surplus))
        along = _along(work, records, sessions)
        silent = {id: along.get(id, []) for id in ("", *chosen)}
        if not work.dry_run:
            _take_out(work, [records[id] for id in chosen], [id for ids in silent.values() for id in ids])
        for id, value in chosen.items():
            why = f"worth {value:.2f}, the least of {stats.records} records"
            work.note("evict", [id, *silent[id]], records[id].text, why)
        if silent[""]:
            work.note("evict", silent[""], "", "no turn of their conversation is left")
        if work.dry_run or not (chosen or silent[""]):
            return


def _present(work: Work) -> StoreStats:
    """Return what the user has; where that is too much, without what is dead on disk: nothing need go for it."""
    store, most = work.store, work.policy.settings.capacity_bytes
    stats = store.stats(work.user_id)
    if most is None or sum(stats.bytes.values()) <= most or work.dry_run or not isinstance(store, Compacts):
        return stats
    store.compact(work.user_id)
    return store.stats(work.user_id)


def _surplus(work: Work, records: int, size: int) -> int:
    """Return how many records are to go."""
    settings = work.policy.settings
    surplus = 0
    if settings.capacity_records is not None and records > settings.capacity_records:
        surplus = records - int(settings.capacity_records * ROOM)
    if settings.capacity_bytes is not None and size > settings.capacity_bytes:
        surplus = max(surplus, int(records * (1 - ROOM * settings.capacity_bytes / size)) + 1)
    return surplus


def _least(work: Work, records: Mapping[str, Record], alike: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield the ids of records with their values, the least valuable first.

    What was replaced goes before what has replaced it, and a summary before the one that holds it, which would lack it.
    """
    stay = {id for id, record in records.items() if record.pinned}
    waiting = list(stay)
    while waiting:
        after = records[waiting.pop()].superseded_by
        if after is not None and after in records and after not in stay:
            stay.add(after)
            waiting.append(after)
    values = {
        id: work.policy.value(record, work.now, like=alike.get(id)) for id, record in records.items() if id not in stay
    }
    first: dict[str, list[str]] = {}
    for id in values:
        record = records[id]
        if record.superseded_by is not None:
            first.setdefault(record.superseded_by, []).append(id)
        if _is_summary(record) and record.level < TOPIC_LEVEL:
            first.setdefault(id, []).extend(one for one in record.source_ids if _is_summary(records.get(one)))
    for least in sorted(values, key=values.__getitem__):
        waiting = [least]
        while waiting:
            if earlier := first.pop(waiting[-1], None):
                waiting += earlier
            elif (id := waiting.pop()) in values:
                yield id, values.pop(id)


def _is_summary(record: Record | None) -> TypeGuard[Record]:
    return record is not None and record.kind == "summary"


def _counted_as(
    work: Work, records: Mapping[str, Record], sessions: Mapping[SessionInfo, Sequence[Message]]
) -> dict[str, str]:
    """Return the kinds as which some records count, by id."""
    held = {
        id
        for record in records.values()
        if _is_summary(record) and record.level < TOPIC_LEVEL
        for id in record.source_ids
    }
    alike = {id: "turn" for id, record in records.items() if _is_summary(record) and id in held}
    coverage = Coverage(work.store, work.user_id)
    for info, messages in sessions.items():
        covered = coverage.of(info.session_id, messages)
        needed = [message.id for message in messages if message.id not in covered]
        if not work.policy.over(info.ended_at, work.now):
            needed += [message.id for message in messages[-work.policy.settings.span_turns :]]
        alike |= {TURN_PREFIX + id: "fact" for id in needed if id is not None}
    return alike


def _along(
    work: Work, records: Mapping[str, Record], sessions: Mapping[SessionInfo, Sequence[Message]]
) -> dict[str, list[str]]:
    """Return the ids of the messages without a record that go with each turn: those behind it, or before the first.

    Under ``""`` stand those of sessions that are over, of which no turn is left.
    """
    along: dict[str, list[str]] = {"": []}
    for info, messages in sessions.items():
        beside: list[str] = []
        begun = False
        for id in [message.id for message in messages if message.id is not None]:
            if TURN_PREFIX + id in records:
                beside = along[TURN_PREFIX + id] = [] if begun else beside
                begun = True
            else:
                beside.append(id)
        if not begun and work.policy.over(info.ended_at, work.now):
            along[""] += beside
    return along


def _take_out(work: Work, evicted: Sequence[Record], silent: Sequence[str]) -> None:
    """Remove records, and messages without one, once what rests on them is linked; then what holds nothing."""
    store, user_id = work.store, work.user_id
    puts = links_for(store, user_id, evicted, work.now)
    if puts:
        store.commit(user_id, puts)
    going = [*(message_id(record.id) for record in evicted), *silent]
    marks = [record for record in store.dependents(user_id, going) if record.kind == JOB and covers(record)]
    store.remove(user_id, going)
    marks += loose_links(store, user_id)
    covered = {id for mark in marks if covers(mark) for id in mark.source_ids}
    left = zip(covered, store.fetch(user_id, list(covered)), strict=True)
    there = {id for id, stored in left if stored is not None}  # they would be due again
    stale = [mark.id for mark in marks if not (covers(mark) and there.intersection(mark.source_ids))]
    if stale:
        store.remove(user_id, stale)
