"""What leaves the store by itself when its time has come: what has expired, and finished jobs."""

from __future__ import annotations

from typing import Final

from ..protocols import Where
from .forget import forget
from .jobs import jobs
from .work import Work

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
