"""What stands in a context whatever is asked: who the user is, and how far the conversations have come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from ..protocols import Store, Where
from ..records import TOPIC_LEVEL, WRONG, Record
from .policy import Policy

RECENTLY: Final = timedelta(days=60)
"""Summaries of other sessions are offered for so long; older ones are found by search, and in those of their month."""
_DAY: Final = timedelta(days=1)


def profile(store: Store, user_id: str, policy: Policy, now: datetime) -> list[Record]:
    """Return what holds now of the user, the most valuable first, and then what is still to come, the nearest first.

    An event leaves when its day has passed. O(records of the profile, events of the last day and to come).
    """
    lasting = [record for record in store.scan(user_id, Where(kinds=("profile",), now=now)) if holds(record, now)]
    events = store.scan(user_id, Where(kinds=("event",), since=now - _DAY, now=now))
    coming = [
        record
        for record in events
        if record.occurred_at is not None and record.occurred_at.date() >= now.date() and holds(record, now)
    ]
    lasting.sort(key=lambda record: policy.merit(record, now), reverse=True)
    return [*lasting, *sorted(coming, key=lambda record: record.time)]


def summaries(store: Store, user_id: str, session_id: str | None, now: datetime) -> list[Record]:
    """Return the summaries of the running session, then those of the others, each time the newest first.

    A summary whose text another one of them holds, as one of its sources, is left out; so is that of a topic, which is
    for searches. Of one that rests on another which a person has marked as wrong, the other parts are given instead.
    """
    recent = store.scan(user_id, Where(kinds=("summary",), since=now - RECENTLY, now=now))
    mine = [] if session_id is None else store.scan(user_id, Where(kinds=("summary",), session_id=session_id, now=now))
    found = {record.id: record for record in (*recent, *mine) if holds(record, now) and record.level < TOPIC_LEVEL}
    tops = _tops(_right(list(found.values())))
    return sorted(tops, key=lambda record: (record.session_id == session_id, record.time), reverse=True)


def _right(records: Sequence[Record]) -> list[Record]:
    """Return the summaries without those that are wrong, or rest on one that is."""
    wrong: set[str] = set()
    for record in sorted(records, key=lambda record: record.level):
        if WRONG in record.flags or not wrong.isdisjoint(record.source_ids):
            wrong.add(record.id)
    return [record for record in records if record.id not in wrong]


def _tops(records: Sequence[Record]) -> list[Record]:
    covered = {id for record in records for id in record.source_ids}
    return [record for record in records if record.id not in covered]


def holds(record: Record, now: datetime) -> bool:
    """Return whether what a record says is not over."""
    return record.valid_until is None or record.valid_until > now
