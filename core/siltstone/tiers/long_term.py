"""Long-term memory: how messages and records are written.

Each write is planned from what is stored, then committed on the condition that this has not changed; another
writer in between costs a new plan, never a lost or doubled message.
"""

from __future__ import annotations

import dataclasses
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from ..errors import ConflictError, InvalidInputError, NotFoundError
from ..protocols import Commit, Put, Store, Stored
from ..records import HIDDEN_KINDS, Message, Record, is_reserved, turn_of
from ..text.keys import dense_key
from .vectors import VectorQueue

logger = logging.getLogger("siltstone")

OnConflict: TypeAlias = Literal["error", "update", "skip"]
ATTEMPTS: Final = 100
"""How often a write is planned anew when other writers keep changing what it rests on."""

Lookup: TypeAlias = Callable[[Sequence[str]], list[Stored | None]]


@dataclass(frozen=True)
class Plan:
    """What a write will do: ``puts`` to commit, ``expect`` to hold, and the ids to return to the caller.

    ``remove`` goes with the same commit, ``sizes`` is how many messages sessions must have: see ``Store.commit``.
    Of what was committed, ``skipped`` are the ids that turned out to be forgotten, and ``after`` is the revision that
    it came right after, where the store can tell.
    """

    puts: tuple[Put, ...]
    expect: dict[str, int]
    ids: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    after: str | None = None


Written: TypeAlias = Callable[[str, Plan, Commit], None]
"""What is told whose plan was committed."""


class LongTerm:
    """Writes one store's long-term memory. Thread-safe; holds no lock while a model works."""

    def __init__(self, store: Store, vectors: VectorQueue, *, written: Written | None = None) -> None:
        """``written`` is told of each commit, and never raises."""
        self._store = store
        self._vectors = vectors
        self._written = written

    def remember(self, record: Record) -> str:
        """Store one record, provided that its id is free and its sources exist."""

        def plan() -> Plan:
            if self._store.fetch(record.user_id, [record.id]) != [None]:
                raise ConflictError(f"the id {record.id!r} is taken: nothing was stored; update() changes what has it")
            sources = self._store.fetch(record.user_id, record.source_ids)
            for source_id, source in zip(record.source_ids, sources, strict=True):
                if source is None:
                    raise NotFoundError(f"there is no source {source_id!r} to rest on: nothing was stored")
            expect = {s.id: s.version for s in sources if s is not None}
            return Plan((Put(record=record),), {**expect, record.id: 0}, (record.id,))

        return self.write(record.user_id, plan).ids[0]

    def write(self, user_id: str, plan: Callable[[], Plan]) -> Plan:
        """Plan, embed and commit, until no other writer has come in between; return what was written.

        ``plan`` is called again whenever what it expects no longer holds. A record that has its vector, one whose text
        is that of the stored version, and one that has a later version in the same plan, are not embedded.
        """
        embedding = None
        for attempt in range(ATTEMPTS):
            planned = plan()
            if not planned.puts and not planned.remove:
                return planned
            newest = {put.id: put for put in planned.puts}
            lacking = [put for put in newest.values() if put.vector is None and _embedded(put) is not None]
            lacking = self._with_new_texts(user_id, lacking)
            records = [put.record for put in lacking if put.record is not None]
            keys = [dense_key(record) for record in records]
            if embedding is None or embedding.texts != keys:
                embedding = self._vectors.embed(keys)
            vectors = dict(zip(map(id, lacking), embedding.ready(), strict=False))
            puts = tuple(dataclasses.replace(put, vector=vectors.get(id(put), put.vector)) for put in planned.puts)
            try:
                commit = self._store.commit(
                    user_id,
                    puts,
                    expect=planned.expect,
                    sizes=planned.sizes,
                    space=self._vectors.space(),
                    remove=planned.remove,
                )
            except ConflictError:
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            if self._written is not None:
                self._written(user_id, planned, commit)
            if commit.skipped:
                logger.info("%d items were forgotten before and are not stored again", len(commit.skipped))
            embedding.deliver(user_id, records)
            if commit.waiting:
                self._vectors.wake(user_id)
            return dataclasses.replace(planned, skipped=commit.skipped, after=commit.before)
        raise AssertionError("unreachable")

    def _with_new_texts(self, user_id: str, puts: Sequence[Put]) -> list[Put]:
        """Return the puts whose text the store has no vector of, as far as that follows from the stored version."""
        later = [put.record for put in puts if put.record is not None and put.record.version > 1]
        if not later:
            return list(puts)
        stored = self._store.fetch(user_id, [record.id for record in later])
        known = {
            item.record.id: dense_key(item.record) for item in stored if item is not None and item.record is not None
        }
        return [put for put in puts if put.record is None or known.get(put.record.id) != dense_key(put.record)]


def plan_add(messages: Sequence[Message], lookup: Lookup, user_id: str, now: datetime, on_conflict: OnConflict) -> Plan:
    """Decide what becomes of each message: stored, known already, updated, skipped, or a conflict.

    ``(session, supplied id)`` is the key: the stored id is the supplied one, or ``session/id`` where another
    session has that; a message without an id gets a new one and is always stored.
    """
    known = known_of(messages, lookup)
    puts: dict[str, Put] = {}
    expect: dict[str, int] = {}
    ids: list[str] = []
    for message in messages:
        id, stored = place(message, known)
        ids.append(id)
        if stored is not None:
            assert stored.message is not None
            known_text = (stored.message.role, stored.message.content) == (message.role, message.content)
            if on_conflict == "skip" or (known_text and on_conflict == "error"):
                continue
            if known_text and (stored.message.name, stored.message.metadata) == (message.name, message.metadata):
                continue
            if on_conflict == "error":
                raise ConflictError(
                    f"message {message.id!r} of session {message.session_id!r} is stored with another text: nothing "
                    "was stored; pass on_conflict='update' to replace it or 'skip' to keep what is there"
                )
            put, version = next_version(stored, message, user_id, now), stored.version
        else:
            placed = dataclasses.replace(message, id=id)
            put, version = Put(turn_of(placed, user_id, now), placed, supplied_id=message.id), 0
        puts[id] = put
        if message.id is not None:
            expect.setdefault(id, version)
            known[id] = Stored(version + 1, put.record, put.message, message.id)
    return Plan(tuple(puts.values()), expect, tuple(ids))


def plan_update(stored: Stored, changes: dict[str, Any], now: datetime) -> Plan:
    """Decide the next version of a stored record; a turn keeps its kind and changes with its message."""
    assert stored.record is not None
    if stored.message is not None and "kind" in changes:
        raise InvalidInputError(
            f"{stored.record.id!r} is a turn and stays one; remember() its text with "
            f"source_ids=[{stored.message.id!r}] to keep it as another kind"
        )
    record = dataclasses.replace(stored.record, **changes, version=stored.record.version + 1, updated_at=now)
    message = stored.message
    if message is not None:
        message = dataclasses.replace(message, content=record.text, metadata=record.metadata)
    put = Put(record, message, supplied_id=stored.supplied_id)
    return Plan((put,), {put.id: stored.version}, (record.id,))


def new_id() -> str:
    """Return a fresh id: 80 random bits, as hexadecimal."""
    return secrets.token_hex(10)


def known_of(messages: Sequence[Message], lookup: Lookup) -> dict[str, Stored | None]:
    """Fetch everything that the messages' ids could stand for, in one call."""
    wanted = dict.fromkeys(id for m in messages if m.id is not None for id in (m.id, _qualified(m)))
    return dict(zip(wanted, lookup(list(wanted)), strict=True)) if wanted else {}


def _qualified(message: Message) -> str:
    """Return the id of a message whose own id another session has."""
    id = f"{message.session_id}/{message.id}"
    return f"/{id}" if is_reserved(id) else id


def place(message: Message, known: dict[str, Stored | None]) -> tuple[str, Stored | None]:
    """Return the id that the message has, or is to have, and what is stored under it."""
    if message.id is None:
        return new_id(), None
    qualified = _qualified(message)
    for id in (qualified, message.id):
        stored = known.get(id)
        if stored is not None and stored.message is not None:
            mine = (stored.message.session_id, stored.supplied_id) == (message.session_id, message.id)
            if mine:
                return id, stored
    for id in (message.id, qualified):
        if known.get(id) is None:
            return id, None
    raise ConflictError(
        f"message {message.id!r} of session {message.session_id!r} cannot be stored: the ids {message.id!r} and "
        f"{qualified!r} both belong to other messages; nothing was stored; choose another id"
    )


def next_version(
    stored: Stored, message: Message, user_id: str, now: datetime, *, created_at: datetime | None = None
) -> Put:
    """Replace a message's text, keeping what its turn has gathered (pins, importance, expiry).

    It was said when it was, or at ``created_at``.
    """
    assert stored.message is not None
    time = stored.message.created_at if created_at is None else created_at
    placed = dataclasses.replace(message, id=stored.message.id, created_at=time)
    fresh = turn_of(placed, user_id, now)
    record = fresh
    if fresh is not None and stored.record is not None:
        record = dataclasses.replace(
            stored.record, text=fresh.text, role=fresh.role, speaker=fresh.speaker, metadata=fresh.metadata,
            created_at=fresh.created_at, version=stored.record.version + 1, updated_at=now,
        )  # fmt: skip
    return Put(record, placed, supplied_id=stored.supplied_id)


def _embedded(put: Put) -> Record | None:
    """Return the record of a put, if it is one that gets a vector."""
    return None if put.record is None or put.record.kind in HIDDEN_KINDS else put.record
