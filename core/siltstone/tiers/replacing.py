"""What becomes of a session that is sent whole: what is as it was stays as it is, the rest goes or comes. Pure."""

from __future__ import annotations

import dataclasses
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Final

from ..protocols import Put, Stored
from ..records import Message, turn_of
from ..stores.files.codec import canonical
from .long_term import Lookup, Plan, known_of, next_version, place

_STEP: Final = timedelta(microseconds=1)
_EARLIEST: Final = datetime.min.replace(tzinfo=timezone.utc)


def plan_replace(
    session_id: str,
    messages: Sequence[Message],
    stored: Sequence[Stored],
    lookup: Lookup,
    user_id: str,
    now: datetime,
    said_at: datetime,
) -> Plan:
    """Decide how the session comes to hold exactly ``messages``, in their order; ``stored`` is what it holds, in order.

    A message with an id is the stored one of the same supplied id; any other is the stored one that says the same, the
    first with the first and so on. Of what is found again nothing changes but what differs. ``said_at`` stands for the
    time of a message that has none of its own (it is the same object there): it goes between its neighbours' times,
    since a session is read in order of time. O(messages).
    """
    before = _partners(messages, stored)
    times = _times(messages, before, {old.id: at for at, old in enumerate(stored)}, said_at)
    fresh = [message for message, old in zip(messages, before, strict=True) if old is None]
    known = known_of(fresh, lookup)
    puts: dict[str, Put] = {}
    ids: list[str] = []
    expect = {old.id: old.version for old in stored}
    for message, old, time in zip(messages, before, times, strict=True):
        message = dataclasses.replace(message, created_at=time)
        if old is None:
            id, _ = place(message, known)
            placed = dataclasses.replace(message, id=id)
            puts[id] = Put(turn_of(placed, user_id, now), placed, supplied_id=message.id)
            if message.id is not None:
                expect.setdefault(id, 0)
                known[id] = Stored(1, puts[id].record, placed, message.id)
        elif _differs(message, old):
            id = old.id
            puts[id] = next_version(old, message, user_id, now, created_at=time)
        else:
            id = old.id
        ids.append(id)
    kept = set(ids)
    gone = tuple(old.id for old in stored if old.id not in kept)
    return Plan(tuple(puts.values()), expect, tuple(ids), remove=gone, sizes={session_id: len(stored)})


def _partners(messages: Sequence[Message], stored: Sequence[Stored]) -> list[Stored | None]:
    """Return what is stored of each message, or ``None``."""
    named = {old.supplied_id: old for old in stored if old.supplied_id is not None}
    before = [None if message.id is None else named.get(message.id) for message in messages]
    taken = {old.id for old in before if old is not None}
    alike: dict[tuple[object, ...], deque[Stored]] = defaultdict(deque)
    for old in stored:
        if old.id not in taken and old.message is not None:
            alike[_says(old.message)].append(old)
    for at, message in enumerate(messages):
        waiting = alike.get(_says(message))
        if before[at] is None and message.id is None and waiting:
            before[at] = waiting.popleft()
    return before


def _says(message: Message) -> tuple[object, ...]:
    return message.role, message.name, message.content, canonical(message.metadata or {})


def _times(
    messages: Sequence[Message], before: Sequence[Stored | None], order: Mapping[str, int], said_at: datetime
) -> list[datetime]:
    """Return when each message was said, so that they are read in this order; a time that was given stays."""
    times: list[datetime] = []
    last, follows = _EARLIEST, -1
    for message, old, limit in zip(messages, before, _next_times(before), strict=True):
        own, rank = _own(old), -1 if old is None else order[old.id]
        if message.created_at is not None and message.created_at is not said_at:
            time = message.created_at
        elif own is None:  # of equal times the one written later is read later
            time = max(last, said_at if limit is None else min(said_at, limit - _STEP))
        else:
            time = own if own > last or (own == last and rank > follows >= 0) else last + _STEP
        times.append(time)
        last, follows = time, rank if time == own else -1
    return times


def _next_times(before: Sequence[Stored | None]) -> list[datetime | None]:
    """Return the time of the next message behind each that is stored."""
    found: list[datetime | None] = []
    coming: datetime | None = None
    for old in reversed(before):
        found.append(coming)
        coming = _own(old) or coming
    return found[::-1]


def _own(old: Stored | None) -> datetime | None:
    return None if old is None or old.message is None else old.message.created_at


def _differs(message: Message, old: Stored) -> bool:
    assert old.message is not None
    return (*_says(message), message.created_at) != (*_says(old.message), old.message.created_at)
