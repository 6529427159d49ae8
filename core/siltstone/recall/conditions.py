"""Which records may stand in the place of one that was found. Pure."""

from __future__ import annotations

from ..protocols import Where
from ..records import Record, expired


def is_meant(record: Record, where: Where) -> bool:
    """Return whether a record meets the conditions of a search that found what it replaced."""
    if where.kinds is not None and record.kind not in where.kinds:
        return False
    if where.session_id not in (None, record.session_id) or where.metadata:
        return False
    if (where.since and record.time < where.since) or (where.until and record.time > where.until):
        return False
    return may_be_served(record, where)


def is_searched(record: Record) -> bool:
    """Return whether a search may find a record: not an item of a store that was told to leave it unindexed."""
    return record.kind != "item" or record.metadata.get("indexed") is not False


def may_be_served(record: Record, where: Where) -> bool:
    """Return whether a record has neither expired nor been excluded, by id or by session."""
    if where.now is not None and expired(record, where.now):
        return False
    if where.exclude_session_id is not None and record.session_id == where.exclude_session_id:
        return False
    return {record.id, *record.source_ids}.isdisjoint(where.exclude_ids)
