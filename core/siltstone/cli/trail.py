"""What was done to a store for good, as a table: ``siltstone audit`` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .output import count, minute, note, show_table, table, write_json

if TYPE_CHECKING:
    from ..reports import AuditEntry


def show_trail(store: str, user: str | None, as_json: bool) -> None:
    """Print what was done to a store for good, or to one user of it."""
    from ..upkeep import audit

    entries = list(audit(store, user_id=user))
    if as_json:
        write_json({"entries": entries})
    elif not entries:
        of_whom = "" if user is None else f" of user {user!r}"
        note(f"nothing{of_whom} was forgotten, erased, restored or repaired")
    else:
        made = table(("when", "what", "user", "counts", "ids"))
        for entry in entries:
            shown = [*entry.ids[:3], *(["…"] if len(entry.ids) > 3 else [])]
            shown += [f"{len(entry.hashed_ids)} hashed"] if entry.hashed_ids else []
            when = entry.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
            made.add_row(when, entry.action, entry.user_id or "", _counts(entry), " ".join(shown))
        show_table(made)


def _counts(entry: AuditEntry) -> str:
    """Return how much a deed concerned, for people."""
    if entry.action == "migrate":
        return f"format {entry.counts.get('from')} to {entry.counts.get('to')}"
    counted = [
        count(number, what[:-1]) if what.endswith("s") else f"{count(number, 'line')} {what}"
        for what, number in entry.counts.items()
    ]
    return ", ".join(counted + ([] if entry.taken_at is None else [f"as of {minute(entry.taken_at)}"]))
