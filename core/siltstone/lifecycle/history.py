"""What a memory was before: its own earlier versions, and the statements that it has replaced."""

from __future__ import annotations

from collections.abc import Iterator

from ..protocols import Store, Where
from ..records import KINDS, Record


def history(store: Store, user_id: str, id: str) -> list[Record]:
    """Return earlier versions of a record, then the records that it replaced and what these replaced, newest first.

    Complexity: O(versions), and one pass over the user's records that are no turns.
    """
    before = [stored.record for stored in store.versions(user_id, id) if stored.record is not None]
    kinds = tuple(kind for kind in KINDS if kind not in ("turn", "document", "item"))
    replaced: dict[str, list[Record]] = {}
    for record in store.scan(user_id, Where(kinds=kinds)):
        if record.superseded_by is not None:
            replaced.setdefault(record.superseded_by, []).append(record)
    return [*before, *_chain(replaced, id)]


def _chain(replaced: dict[str, list[Record]], id: str) -> Iterator[Record]:
    """Yield what led to a record, each with what led to it before the next: a chain may be thousands long."""
    seen = {id}
    waiting = list(replaced.get(id, ()))
    while waiting:
        record = waiting.pop()
        if record.id not in seen:
            seen.add(record.id)
            yield record
            waiting += replaced.get(record.id, ())
