"""Changing what was written: when a text changes, what was made of the old one is taken out, to be made again.

Every writer that may change a text goes through ``write``: ``add``, ``update`` and an import. A session that is
replaced as a whole takes it out in the same commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from ..errors import InvalidInputError, NotFoundError
from ..protocols import Put, Store, Stored
from ..records import Message, Record
from ..stores.cascade import covering, derived_from
from ..tiers.long_term import LongTerm, OnConflict, Plan, plan_add, plan_update
from ..tiers.replacing import plan_replace


def add_messages(
    store: Store,
    long_term: LongTerm,
    user_id: str,
    messages: Sequence[Message],
    *,
    now: datetime,
    on_conflict: OnConflict,
) -> list[str]:
    """Store messages of one session; return their ids, in order."""
    if on_conflict not in get_args(OnConflict):
        raise InvalidInputError(f"on_conflict must be 'error', 'update' or 'skip', not {on_conflict!r}")

    def lookup(ids: Sequence[str]) -> list[Stored | None]:
        return store.fetch(user_id, ids)

    return list(write(store, long_term, user_id, lambda: plan_add(messages, lookup, user_id, now, on_conflict)).ids)


def replace_messages(
    store: Store,
    long_term: LongTerm,
    user_id: str,
    session_id: str,
    messages: Sequence[Message],
    *,
    now: datetime,
    said_at: datetime,
) -> list[str]:
    """Have a session hold exactly these messages, in one commit; return their ids, in order.

    What siltstone made of messages that go, or change, goes with them, to be made again of what there is then.
    """
    gone: list[str] = []

    def lookup(ids: Sequence[str]) -> list[Stored | None]:
        return store.fetch(user_id, ids)

    def plan() -> Plan:
        held = [message.id for message in store.messages(user_id, session_id) if message.id is not None]
        stored = [item for item in store.fetch(user_id, held) if item is not None]
        planned = plan_replace(session_id, messages, stored, lookup, user_id, now, said_at)
        gone[:] = [*planned.remove, *changed_texts(store, user_id, planned)]
        return replace(planned, remove=(*planned.remove, *made_of(store, user_id, gone)))

    written = long_term.write(user_id, plan)
    if late := made_of(store, user_id, gone):
        store.remove(user_id, late)
    return list(written.ids)


def update_record(
    store: Store, long_term: LongTerm, user_id: str, id: str, changes: dict[str, Any], *, now: datetime
) -> Record:
    """Store the next version of a record or turn; return it."""

    def plan() -> Plan:
        (stored,) = store.fetch(user_id, [id])
        if stored is None or stored.record is None:
            raise NotFoundError(f"there is no record {id!r} of this user to update")
        return plan_update(stored, changes, now)

    record = write(store, long_term, user_id, plan).puts[0].record
    assert record is not None
    return record


def write(
    store: Store, long_term: LongTerm, user_id: str, plan: Callable[[], Plan], *, keep: Collection[str] = ()
) -> Plan:
    """Write what ``plan`` decides, and take out what siltstone made of the texts that it changes.

    Before the write, so that a kill in between leaves nothing stale; and after it, unless it came right after the
    look, for what a worker has made of the old texts meanwhile. What the plan itself brings stays, and so do the ids in
    ``keep``, of what was made of the new texts.
    """
    changed: list[str] = []
    clear: str | None = None  # the revision at which nothing was made of them

    def cleared() -> Plan:
        nonlocal clear
        planned = plan()
        changed[:] = changed_texts(store, user_id, planned)
        clear = store.revision(user_id) if changed else None
        if stale := made_of(store, user_id, changed, keep=keep):
            store.remove(user_id, stale)
            planned, clear = plan(), None
            changed[:] = changed_texts(store, user_id, planned)
        return planned

    written = long_term.write(user_id, cleared)
    meanwhile = clear is None or written.after != clear
    own = {put.id for put in written.puts}
    if meanwhile and (late := [id for id in made_of(store, user_id, changed, keep=keep) if id not in own]):
        store.remove(user_id, late)
    return written


def changed_texts(store: Store, user_id: str, planned: Plan) -> list[str]:
    """Return the ids of the stored items that a plan gives another text."""
    newest = {put.id: put for put in planned.puts if planned.expect.get(put.id, 0)}
    if not newest:
        return []
    present = zip(newest.values(), store.fetch(user_id, list(newest)), strict=True)
    return [put.id for put, stored in present if stored is not None and told(stored) != told(put)]


def made_of(store: Store, user_id: str, ids: Sequence[str], *, keep: Collection[str] = ()) -> list[str]:
    """Return the ids of what siltstone made of messages or records; what people wrote themselves is not among them."""
    if not ids:
        return []
    whole, partly, hidden = derived_from(store, user_id, ids)
    resting = [record for record in (*whole, *partly) if record.made_by != "user"]
    targets = [stored for stored in store.fetch(user_id, ids) if stored is not None]
    digests, marks = covering(store, user_id, targets, resting)
    gone = dict.fromkeys(record.id for record in (*resting, *digests, *hidden, *marks))
    return [id for id in gone if id not in keep]


def told(item: Put | Stored) -> object:
    """Return what a digest of the item would rest on: its words, and who said them."""
    if item.message is not None:
        return item.message.role, item.message.name, item.message.content
    return None if item.record is None else item.record.text
