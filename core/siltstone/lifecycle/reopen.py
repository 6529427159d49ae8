"""What a forgotten statement had ended holds again, and what it had contradicted is no longer contradicted."""

from __future__ import annotations

from collections.abc import Iterator

from ..records import Record, replace
from ..tiers.long_term import Plan
from .revise import CONTRADICTED, Known, compare
from .work import NOTHING, Work, writes


def reopen_orphans(work: Work) -> None:
    """Open the periods of statements whose successor has gone, or close them by the next one that is there."""
    opened: list[tuple[Record, str]] = []
    attempts = 0

    def plan() -> Plan:
        nonlocal attempts
        attempts += 1
        page, at = work.ledger()
        known = work.known(at, fresh=attempts > 1)
        opened[:] = [
            (replace(record, version=record.version + 1, updated_at=work.now), why) for record, why in orphans(known)
        ]
        if not opened:
            return NOTHING
        puts, expect = writes([record for record, _ in opened])
        return Plan((*puts, page), {**expect, page.id: at}, tuple(put.id for put in puts))

    planned = plan() if work.dry_run else work.long_term.write(work.user_id, plan)
    if planned.puts:
        work.dropped()
    for record, why in opened:
        work.note("reopen", [record.id], record.text, why)


def orphans(known: Known) -> Iterator[tuple[Record, str]]:
    """Yield the records whose successor or contradiction has gone, as they are to be, and why."""
    for record in known.by_id.values():
        if record.superseded_by is not None and record.superseded_by not in known.by_id:
            later = [
                other
                for other in known.of(record.topic)
                if (other.valid_from or other.created_at) > (record.valid_from or record.created_at)
                and compare(other, record) == "supersedes"
            ]
            follows = min(later, key=lambda other: other.valid_from or other.created_at, default=None)
            if follows is None:
                yield replace(record, valid_until=None, superseded_by=None), "what had replaced it was forgotten"
            else:
                until = follows.valid_from or follows.created_at
                yield replace(record, valid_until=until, superseded_by=follows.id), f"replaced by {follows.text!r}"
        elif CONTRADICTED in record.flags and record.superseded_by is None:
            others = [o for o in known.of(record.topic) if o.id != record.id and o.superseded_by is None]
            if not any(CONTRADICTED in other.flags for other in others):
                flags = tuple(flag for flag in record.flags if flag != CONTRADICTED)
                yield replace(record, flags=flags), "what contradicted it has gone"
