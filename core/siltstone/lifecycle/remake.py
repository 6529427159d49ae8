"""When a text changes, what was made of it is taken out, and is due to be made again."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocols import Store
from ..records import Record
from .forget import covering, derived_from


def unmake(store: Store, user_id: str, ids: Sequence[str]) -> None:
    """Take out what siltstone made of messages or records whose text changes; what people wrote themselves stays.

    Called before a change, so that a kill in between leaves nothing stale, and after it, for what a worker has made of
    the old text meanwhile.
    """
    whole, partly, hidden = derived_from(store, user_id, ids)
    resting = [record for record in (*whole, *partly) if record.made_by != "user"]
    targets = [stored for stored in store.fetch(user_id, ids) if stored is not None]
    digests, marks = covering(store, user_id, targets, resting)
    gone: list[Record] = [*resting, *digests, *hidden, *marks]
    if gone:
        store.remove(user_id, list(dict.fromkeys(record.id for record in gone)))
