"""What leaves the store by itself: what has expired, finished jobs, and the least valuable beyond a user's capacity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..protocols import Where
from ..records import Record, message_id
from .forget import forget
from .jobs import jobs
from .work import Work

ROOM: Final = 0.9
"""Eviction goes on down to this share of the capacity, so that it need not begin again with the next record."""
SWEPT: Final = 64
"""Finished jobs are taken out when there are so many: each removal is noted, synced and audited."""


def purge_expired(work: Work) -> None:
    """Take out what has expired, with what rests on it; it has not been read since."""
    expired = list(work.store.scan(work.user_id, Where(expired_by=work.now)))
    if expired and not work.dry_run:
        forget(work.store, work.user_id, ids=[record.id for record in expired])
    for record in expired:
        work.note("expire", [record.id], record.text, f"expired on {record.expires_at:%Y-%m-%d}")


def sweep_jobs(work: Work) -> None:
    """Take out jobs that are done and cover nothing."""
    done = [job.id for job in jobs(work.store, work.user_id) if job.state == "done" and not job.covers]
    if len(done) >= SWEPT and not work.dry_run:
        work.store.remove(work.user_id, done)


def evict(work: Work) -> None:
    """Take out the least valuable records while the user has more than ``Settings`` grants; never a pinned one.

    What was made of an evicted turn stays: it is what is left of it.
    """
    settings = work.policy.settings
    stats = work.store.stats(work.user_id)
    size = sum(stats.bytes.values())
    surplus = 0
    if settings.capacity_records is not None and stats.records > settings.capacity_records:
        surplus = stats.records - int(settings.capacity_records * ROOM)
    if settings.capacity_bytes is not None and size > settings.capacity_bytes:
        surplus = max(surplus, int(stats.records * (1 - ROOM * settings.capacity_bytes / size)) + 1)
    if surplus < 1:
        return
    chosen = list(_least(work, surplus))
    if chosen and not work.dry_run:
        work.store.remove(work.user_id, [message_id(record.id) for record, _ in chosen])
    for record, value in chosen:
        work.note("evict", [record.id], record.text, f"worth {value:.2f}, the least of {stats.records} records")


def _least(work: Work, number: int) -> Iterator[tuple[Record, float]]:
    """Yield the least valuable records that are not pinned, with their values."""
    everything = work.store.scan(work.user_id, Where())
    valued = [(work.policy.value(record, work.now), n, record) for n, record in enumerate(everything)]
    for value, _, record in sorted((one for one in valued if not one[2].pinned), key=lambda one: one[:2])[:number]:
        yield record, value
