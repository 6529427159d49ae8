"""Which digests a person is shown, and what belongs to each."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..lifecycle.jobs import KIND, jobs
from ..lifecycle.reviews import review_id
from ..lifecycle.spans import hashed
from ..lifecycle.work import REVISED
from ..protocols import Store, Where
from ..records import Message, Record, is_derived


@dataclass(frozen=True)
class Known:
    """A digest that the store has: the id of its review, the messages that it covers, and its summary, if any."""

    id: str
    session_id: str
    source_ids: tuple[str, ...]
    summary: Record | None = None


def digests(store: Store, user_id: str) -> dict[str, Known]:
    """Return a user's digests of spans by the ids of their reviews, in order of writing. O(summaries and jobs)."""
    found: dict[str, Known] = {}
    for record in store.scan(user_id, Where(kinds=("summary",))):
        if record.level == 0 and record.session_id is not None and is_derived(record):
            id = review_id(record.session_id, record.source_ids)
            found[id] = Known(id, record.session_id, record.source_ids, record)
    for job in jobs(store, user_id):
        if (
            job.covers
            and job.source_ids
            and job.id == hashed(KIND, job.session_id, job.source_ids[0], job.source_ids[-1])
        ):
            id = review_id(job.session_id, job.source_ids)
            found.setdefault(id, Known(id, job.session_id, job.source_ids))
    return found


def items_of(store: Store, user_id: str, digest: Known) -> list[Record]:
    """Return what a digest has left: its summary, and the statements that rest on its messages."""
    told = [
        record
        for record in store.dependents(user_id, digest.source_ids)
        if record.kind in REVISED and is_derived(record)
    ]
    told.sort(key=lambda record: (record.created_at, record.id))
    return [*([digest.summary] if digest.summary is not None else []), *told]


def draw(ids: Sequence[str], waiting: Sequence[str], done: Collection[str], *, sample: float, seed: int) -> list[str]:
    """Return the digests to look at, the share ``sample`` of all of them, rounded up.

    Those that wait come first, in their order; then others by chance, those that nobody has looked at before those that
    are done. The same ``seed`` draws the same of the same.
    """
    dice = random.Random(seed)
    queue = [id for id in waiting if id in set(ids)]
    fresh = sorted(id for id in ids if id not in done and id not in queue)
    seen = sorted(id for id in ids if id in done)
    dice.shuffle(fresh)
    dice.shuffle(seen)
    return [*queue, *fresh, *seen][: math.ceil(sample * len(ids))]


def messages_of(store: Store, user_id: str, ids: Sequence[str]) -> dict[str, Message]:
    """Return the messages of the ids that are there, in their order; a record that is a source speaks for itself."""
    found: dict[str, Message] = {}
    for id, stored in zip(ids, store.fetch(user_id, ids), strict=True):
        if stored is not None and stored.message is not None:
            found[id] = stored.message
        elif stored is not None and stored.record is not None:
            record = stored.record
            found[id] = Message("user", record.text, name=record.speaker, id=id, created_at=record.created_at)
    return found
