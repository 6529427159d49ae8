"""What is recalled lives on: a memory with a time to live that comes into a context is given as long again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from ..errors import NotFoundError
from ..protocols import Store
from ..records import Record, expired
from ..tiers.long_term import LongTerm
from .update import update_record


def refresh(store: Store, long_term: LongTerm, user_id: str, recalled: Sequence[Record], *, now: datetime) -> None:
    """Write a later end for what was recalled and is due for it. One commit for each such record, none for others."""
    for record in recalled:
        end = prolonged(record, now)
        if end is not None:
            with suppress(NotFoundError):  # it was forgotten meanwhile
                update_record(store, long_term, user_id, record.id, {"expires_at": end}, now=now)


def prolonged(record: Record, now: datetime) -> datetime | None:
    """Return until when a recalled record is to live, or ``None``: as long as it says. Pure.

    It gets as long again as it had when it was last written, once half of that has passed: however often it is
    recalled, it is written at most twice in that time.
    """
    if record.expires_at is None or record.pinned or expired(record, now):
        return None
    life = record.expires_at - (record.updated_at or record.stored_at)
    return now + life if record.expires_at - now < life / 2 else None
