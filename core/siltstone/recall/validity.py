"""What holds now stands before what it replaced; asked of a past time, what held then does."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocols import Store, Where
from ..records import Hit, Record
from ..text.periods import Period
from .conditions import is_meant


def current_first(store: Store, user_id: str, hits: list[Hit], where: Where) -> list[Hit]:
    """Put what replaced a record before it: asked how things are, the old words may match better than the new ones.

    A successor that was not found takes the place and score of what it replaced; one that the conditions do not mean
    is left out.
    """
    if not any(hit.record.superseded_by for hit in hits):
        return hits
    found = {hit.record.id: hit for hit in hits}
    placed: dict[str, Hit] = {}
    for hit in hits:
        for record, row in _successors(store, user_id, hit.record):
            if record.id not in placed and (record.id in found or is_meant(record, where)):
                own = found.get(record.id, hit)
                why = {**own.why, f"replaces:{hit.record.id}": 1.0}
                placed[record.id] = Hit(record, max(hit.score, own.score), why, row=row)
        placed.setdefault(hit.record.id, hit)
    return list(placed.values())


def held_first(hits: list[Hit], periods: Sequence[Period]) -> list[Hit]:
    """Of a record and what replaced it, both found, put the one first that held at the time that is asked about."""
    found = {hit.record.id: hit for hit in hits}
    partner = {new: old for old, hit in found.items() if (new := hit.record.superseded_by) in found}
    partner |= {old: new for new, old in partner.items()}
    placed: dict[str, Hit] = {}
    for hit in hits:
        other = found.get(partner.get(hit.record.id, ""))
        if other is not None and _held(other.record, periods) and not _held(hit.record, periods):
            raised = Hit(
                other.record,
                max(hit.score, other.score),
                {**other.why, f"held_then:{hit.record.id}": 1.0},
                row=other.row,
            )
            placed.setdefault(other.record.id, raised)
        placed.setdefault(hit.record.id, hit)
    return list(placed.values())


def _held(record: Record, periods: Sequence[Period]) -> bool:
    begin, end = record.valid_from or record.time, record.valid_until
    return any(begin < period.end and (end is None or period.start < end) for period in periods)


def _successors(store: Store, user_id: str, record: Record) -> list[tuple[Record, int]]:
    """Return what replaced a record, and what replaced that, each with its row, the newest first."""
    chain: list[tuple[Record, int]] = []
    while record.superseded_by is not None and record.superseded_by not in {one.id for one, _ in chain}:
        (stored,) = store.fetch(user_id, [record.superseded_by])
        if stored is None or stored.record is None:
            break
        record = stored.record
        chain.append((record, stored.row))
    return chain[::-1]
