"""A store that keeps everything but the vectors, and an engine that keeps these.

The store stays the truth. In the place of each vector it holds the name under which the engine has it (see ``names``),
so that a record "has a vector" exactly when one was sent and noted; what was not is pending, as anything that an
embedder did not come to, and survives kills in the same way. What the engine finds is believed only where the store
knows the name: vectors of changed or forgotten texts, of other users and of other programs are dropped, and counted.
Nearness is computed here, from the vectors that come with the hits.

A write is acknowledged by the store. Its vectors are sent then; sent to no avail, they wait. What has to go from the
engine is noted in the store before the text goes (see ``going``), and the note is removed when the vector has gone.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ...errors import ConfigurationError, InvalidInputError
from ...protocols import (
    Candidates,
    Commit,
    Compacts,
    Fingerprint,
    Floats,
    KeepsRemains,
    Near,
    Put,
    Query,
    Refusal,
    Store,
    Stored,
    StoreStats,
    Where,
)
from ...records import HIDDEN_KINDS, ForgetReport, Message, Record, SessionInfo, message_id
from ...settings import VectorStoreDown
from .. import cascade
from ..reading import check_query_vector, check_rows, same_space
from ..spaces import Spaces
from ..table.plan import halves
from .comparing import Comparing
from .engine import Held, Line, VectorEngine, VectorStoreUnavailableError
from .going import Going, notes, writing
from .names import elsewhere, fresh, is_elsewhere, names_of, told_of, user_of
from .probe import Abilities, try_out
from .registry import Registry

logger = logging.getLogger("siltstone")

TRYING: Final = 30.0
"""Seconds that an engine may take to be tried out: some make a table first."""
GRACE: Final = 600.0
"""Seconds for which a vector that the store does not know may be one whose write is under way."""
SAMPLE: Final = 2_000
"""Vectors that are fetched to measure a user's space, at most."""
_AT_ONCE: Final = 200
"""Vectors in one request: slow engines take 50 a second."""
_MOST: Final = 10_000
"""Hits that are asked for at most, where filters leave few: servers have limits of that order."""
_UNNAMED: Final = Fingerprint("", 0, "", ())
"""Stands for the space of a store that was told of none, with the width of its vectors."""


class VectorStoreArm:
    """A ``Store`` over another one, with its vectors in an engine; see ``protocols.Store`` for the verbs."""

    def __init__(
        self,
        store: Store,
        engine: VectorEngine,
        *,
        outage: VectorStoreDown = "refuse",
        writes: bool = True,
        moving: bool = False,
        grace: float = GRACE,
        line: Line | None = None,
    ) -> None:
        """``outage``: what a search does without the engine; ``moving``: the store may have vectors of its own.

        Raises ``ConfigurationError`` where the store has vectors of its own.
        """
        stored = store.fingerprint()
        if stored is not None and not is_elsewhere(stored) and not moving:
            raise ConfigurationError(
                f"the store at {store.location} keeps its vectors itself: nothing was changed. Open it without "
                f"vector_store=, or move them: TieredMemory.reembed({store.location!r}, vector_store=…)"
            )
        self._store = store
        self._line = line or Line(engine)
        self._registry = Registry(store)
        self._going = Going(store, self._registry, self._line)
        self._comparing = Comparing(store, self._registry, self._line)
        self._outage: VectorStoreDown = outage
        self._writes = writes
        self._grace = grace
        self._spaces = Spaces()
        self._warned = False
        self._tried: int | None = None
        self.abilities: Abilities | None = None
        """What the engine was found to do; ``None`` while it has not been tried."""
        self.dropped = 0
        """Hits that were not served, since the store does not know them."""

    @property
    def engine_name(self) -> str:
        """What messages call the engine."""
        return self._line.engine.name

    def try_out(self, dim: int) -> None:
        """See what the engine can do with vectors of ``dim`` numbers.

        Raises ``ConfigurationError`` for what it cannot and must, ``VectorStoreUnavailableError`` where it cannot be
        reached.
        """
        self._tried = None
        self.abilities = self._line.ask("be tried out", lambda engine: try_out(engine, dim), deadline=TRYING)
        self._tried = dim

    # --- writing

    def commit(
        self,
        user_id: str,
        puts: Sequence[Put],
        *,
        expect: Mapping[str, int] | None = None,
        sizes: Mapping[str, int] | None = None,
        space: Fingerprint | None = None,
        remove: Sequence[str] = (),
    ) -> Commit:
        """Write all items or none, then send their vectors. Of these, ``waiting`` could not be."""
        told = self._told(space)
        given = [put for put in puts if put.vector is not None]
        if any(put.record is None or put.record.kind in HIDDEN_KINDS for put in given):
            raise InvalidInputError("a vector needs a record, of a kind that is searched")
        rows, told = self._rows([put.vector for put in given if put.vector is not None], told)
        vectors = {id(put): row for put, row in zip(given, rows, strict=True)}
        leaving = self._going.leaving(user_id, puts, expect or {}, remove)
        noted = writing(user_id, leaving)
        made = self._store.commit(
            user_id,
            [*(replace(put, vector=None) for put in puts), *noted],
            expect=expect,
            sizes=sizes,
            space=told,
            remove=remove,
        )
        if noted:
            self._finish(user_id)
        last = {put.id: put for put in puts if put.id not in made.skipped}
        held = self._registry.current(user_id, [id for id in last if (expect or {}).get(id) != 0])
        held_ids = {record.id for record in self._store.resolve(user_id, sorted(held)) if record is not None}
        sent = [put for put in last.values() if id(put) in vectors]
        records = [put.record for put in sent if put.record is not None and put.record.id not in held_ids]
        made_of = {put.record.id: vectors[id(put)] for put in sent if put.record is not None}
        if not records:
            return replace(made, revision=self._store.revision(user_id), before=None) if noted else made
        try:
            rows = np.stack([made_of[record.id] for record in records])
            self._send(user_id, records, rows, told, patient=False)
            waiting = 0
        except VectorStoreUnavailableError as exc:
            self._announce(exc)
            waiting = len(records) - len(self._registry.current(user_id, [record.id for record in records]))
        return Commit(self._store.revision(user_id), made.skipped, waiting=waiting)

    def remove(
        self, user_id: str, ids: Sequence[str], *, transcripts: Sequence[Refusal] = (), everything: bool = False
    ) -> str:
        """Remove items for good by id, or with ``everything`` all that the user has."""
        if not everything:
            self._going.note(user_id, list(self._registry.current(user_id, ids).values()))
            self._store.remove(user_id, ids, transcripts=transcripts)
            self._finish(user_id)
            return self._store.revision(user_id)
        names = list(self._registry.all(user_id).values())
        self._going.note(user_id, names, everything=True)
        kept = {note.id for note in notes(self._store, user_id)}
        if kept:
            every = [versions[-1].id for versions in self._store.items(user_id)]
            self._store.remove(user_id, [id for id in every if id not in kept], transcripts=transcripts)
            self._finish(user_id)
        else:
            self._store.remove(user_id, ids, transcripts=transcripts, everything=True)
        return self._store.revision(user_id)

    def forget(self, user_id: str, ids: Sequence[str], *, named: bool = True) -> ForgetReport:
        """Remove items for good by id, with what rests on them, and refuse them if sent again; report what went."""
        planned = cascade.plan(self._store, user_id, ids, named=named)
        self._going.note(user_id, list(self._registry.current(user_id, [*ids, *planned.items]).values()))
        report = self._store.forget(user_id, ids, named=named)
        self._finish(user_id)
        if not {*report.messages, *map(message_id, report.records)} <= {*map(message_id, ids), *planned.items}:
            self.reconcile(user_id, grace=0.0)  # something came to rest on it since it was planned
        return report

    def put_vectors(
        self, user_id: str, records: Sequence[Record], vectors: Floats, *, space: Fingerprint | None = None
    ) -> int:
        """Send vectors of records whose text is still the same; return how many were attached."""
        check_rows(vectors, records)
        rows, told = self._rows(list(vectors), self._told(space))
        if not len(rows):
            return 0
        before = list(self._registry.current(user_id, [record.id for record in records]).values())
        self._going.note(user_id, before)
        attached = self._send(user_id, records, rows, told, patient=True)
        self._comparing.sent(user_id, [record.id for record in records])
        if before:
            self._finish(user_id)
        return attached

    def _told(self, space: Fingerprint | None) -> Fingerprint | None:
        """Return what the store is told of its space now; raises ``EmbedderMismatchError`` where ``space`` differs."""
        told = self._store.fingerprint()
        same_space(None if told is None else told_of(told)[1], space)
        return told

    def _rows(self, vectors: Sequence[Floats], told: Fingerprint | None) -> tuple[Floats, Fingerprint | None]:
        """Return vectors as they are kept, ``(n, dim)``; the first ones set the width where there is no space yet."""
        rows = halves(vectors, None if told is None else told_of(told)[1].dim).astype(np.float32)
        if len(rows) and told is None:
            told = elsewhere(replace(_UNNAMED, dim=rows.shape[1]), _scope())
            self._store.set_fingerprint(told)
        return rows, told

    def _send(
        self, user_id: str, records: Sequence[Record], vectors: Floats, told: Fingerprint | None, *, patient: bool
    ) -> int:
        """Send vectors under new names, and have the store hold these; return how many it took."""
        attached = 0
        for start in range(0, len(records), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            attached += self._send_some(user_id, records[some], vectors[some], told, patient=patient)
        return attached

    def _send_some(
        self, user_id: str, records: Sequence[Record], vectors: Floats, told: Fingerprint | None, *, patient: bool
    ) -> int:
        rows = fresh(len(records))
        names = [str(name) for name in names_of(rows)]
        ids = [record.id for record in records]
        user = self._registry.user(user_id)
        self._line.ask(
            f"keep {len(ids)} vectors", lambda engine: engine.add(user, names, ids, vectors), patient=patient
        )
        attached = self._store.put_vectors(user_id, records, rows, space=told)
        if attached < len(ids):
            present = set(self._registry.current(user_id, ids).values())
            self._delete([name for name in names if name not in present])
        return attached

    # --- what has to go from the engine

    def _finish(self, user_id: str) -> None:
        """Carry out what is noted, as far as the engine answers; the rest is announced, and stays noted."""
        try:
            self._going.settle(user_id, patient=False)
        except VectorStoreUnavailableError as exc:
            self._announce(exc)

    def _delete(self, names: Sequence[str]) -> None:
        """Delete vectors that nobody knows; what cannot be is found when both sides are compared."""
        try:
            self._line.ask(f"delete {len(names)} vectors", lambda engine: engine.delete(names), patient=False)
        except VectorStoreUnavailableError as exc:
            self._announce(exc)

    def undeleted(self, user_id: str) -> int:
        """Return how many vectors of forgotten or changed texts the engine still holds, for it did not answer."""
        return len(self._going.left(user_id))

    def remains(self, user_id: str) -> tuple[str, ...]:
        """Return what engines keep of what was deleted, and how to end that, a sentence each."""
        told = self._store.remains(user_id) if isinstance(self._store, KeepsRemains) else ()
        if not (left := self.undeleted(user_id)):
            return told
        mine = (
            f"{self.engine_name} did not answer and still holds {left} vectors of it, which nothing finds any more: "
            "they are deleted once it does; `memory.flush()` waits for that."
        )
        return (*told, mine)

    def compact(self, user_id: str | None = None) -> int:
        """Take out what is dead in the files of the store; return the bytes given back."""
        return self._store.compact(user_id) if isinstance(self._store, Compacts) else 0

    def reconcile(self, user_id: str, *, grace: float | None = None) -> int:
        """Compare what the store knows with what the engine has, both ways; return how many differences there were.

        What the engine lacks is pending again. What the store does not know is deleted there once it is older than
        ``grace`` seconds, for its write may be under way. Raises ``VectorStoreUnavailableError``.
        """
        self._going.settle(user_id, patient=True)
        return self._comparing.reconcile(user_id, grace=self._grace if grace is None else grace)

    # --- reading

    @property
    def location(self) -> str:
        """Where the store is, as the user wrote it."""
        return self._store.location

    def candidates(self, user_id: str, query: Query) -> Candidates:
        """Return what the indexes and the engine know of a query."""
        if query.vector is None:
            return self._store.candidates(user_id, query)
        told = self._registry.told()
        same_space(_named(told), query.space)
        words = replace(query, vector=None, space=None, near=Near.of(()))
        if told is None:
            return self._store.candidates(user_id, words)
        scope, space = told
        check_query_vector(query.vector, space.dim)
        try:
            return self._found(user_id, user_of(user_id, scope), query.vector, query, words)
        except VectorStoreUnavailableError as exc:
            if self._outage == "refuse":
                raise
            self._announce(exc)
            return self._store.candidates(user_id, words)

    def _found(self, user_id: str, user: str, vector: Floats, query: Query, words: Query) -> Candidates:
        if query.whiten:
            counts = self._store.stats(user_id)
            count = counts.records - counts.pending_vectors
            vector = self._spaces.whitened(user_id, count, vector, lambda: self._sample(user_id))
        asked = vector / np.linalg.norm(vector)
        wanted = query.depth + (query.depth >> 2)
        while True:
            count = min(wanted, _MOST)
            hits = self._search(user, asked, count)
            found = self._store.candidates(user_id, replace(words, near=self._near(user_id, hits, vector)))
            there = int(np.count_nonzero(found.eligible & ~np.isnan(found.dense)))
            if there >= query.depth or len(hits) < count or count == _MOST:
                return found
            wanted *= 4  # filters are ours: what they leave is looked for farther away

    def _search(self, user: str, vector: Floats, count: int) -> list[Held]:
        return self._line.ask("search", lambda engine: engine.query(user, vector, count), patient=False)

    def _near(self, user_id: str, hits: Sequence[Held], vector: Floats) -> Near:
        """Return the rows of the hits that the store knows, and how near they are."""
        known = {held.name: held for held in hits}
        present = self._registry.current(user_id, [held.id for held in known.values()])
        near = {
            row: held
            for row, name in present.items()
            if (held := known.get(name)) is not None and held.vector.shape == vector.shape
        }
        self.dropped += len(hits) - len(near)
        rows = sorted(near)
        vectors = np.stack([near[row].vector for row in rows]) if rows else np.empty((0, len(vector)), np.float32)
        return Near.of(rows, vectors @ vector)

    def vectors(self, user_id: str, keys: Sequence[int]) -> Floats:
        """Return the vectors of candidate rows, ``(n, dim)``; a row of nan where there is none."""
        names = names_of(self._store.vectors(user_id, keys))
        wanted = [name for name in names if name is not None]
        found = np.full((len(keys), self._registry.dim() or 0), np.nan, np.float32)
        if wanted:
            there = self._line.ask("give vectors back", lambda engine: engine.fetch(wanted))
            for place, name in enumerate(names):
                if name in there and there[name].shape == found.shape[1:]:
                    found[place] = there[name]
        return found

    def pending(self, user_id: str, limit: int) -> list[Record]:
        """Return records that have no vector yet, at most ``limit``, in order of writing.

        What has to go from the engine is carried out first. Raises ``VectorStoreUnavailableError``.
        """
        if self._writes:
            self._going.settle(user_id, patient=True)
        known = self._comparing.lacking(user_id)
        known |= {record.id: record for record in self._store.pending(user_id, limit)}
        return list(known.values())[:limit]

    def stats(self, user_id: str) -> StoreStats:
        """Return counts and sizes of one user; what waits to be deleted in the engine is pending, too."""
        if self._writes:
            self._look(user_id)
        counts = self._store.stats(user_id)
        undeleted, lost = self.undeleted(user_id), self._comparing.count(user_id)
        health = list(counts.health)
        if undeleted:
            health.append(f"{undeleted} vectors of forgotten texts wait to be deleted in {self.engine_name}")
        if self._line.last_error is not None:
            health.append(str(self._line.last_error))
        if self.dropped:
            health.append(f"{self.dropped} hits of {self.engine_name} belonged to no text of the user's here")
        return replace(counts, pending_vectors=counts.pending_vectors + lost + undeleted, health=tuple(health))

    def _look(self, user_id: str) -> None:
        try:
            self._comparing.look(user_id)
        except VectorStoreUnavailableError as exc:
            self._announce(exc)

    def fingerprint(self) -> Fingerprint | None:
        """Return the embedding space that the store was written with, if any yet."""
        return _named(self._registry.told())

    def set_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Record the embedding space. One of another space than the present one drops every vector."""
        present = self._registry.told()
        if self._writes and fingerprint.dim not in (self._tried, None if present is None else present[1].dim):
            self.try_out(fingerprint.dim)
        if present is not None and (
            present[1].same_space(fingerprint) or (not present[1].name and present[1].dim == fingerprint.dim)
        ):
            self._store.set_fingerprint(elsewhere(fingerprint, present[0]))
            return
        users = list(self._store.users()) if present is not None else []
        for user_id in users:
            self._going.note(user_id, list(self._registry.all(user_id).values()))
        self._store.set_fingerprint(elsewhere(fingerprint, _scope()))
        self._spaces.clear()
        for user_id in users:
            self._finish(user_id)

    # --- what the store does alone

    def refused(self, user_id: str, puts: Sequence[Put]) -> tuple[str, ...]:
        """Return the ids of the items that a commit of ``puts`` would skip as forgotten."""
        return self._store.refused(user_id, puts)

    def revision(self, user_id: str) -> str:
        """Return a token that changes with every write of this user."""
        return self._store.revision(user_id)

    def fetch(self, user_id: str, ids: Sequence[str]) -> list[Stored | None]:
        """Return items by message id or record id, in order."""
        return self._store.fetch(user_id, ids)

    def resolve(self, user_id: str, keys: Sequence[int]) -> list[Record | None]:
        """Return the records of candidate rows, in order; ``None`` for one that has gone since."""
        return self._store.resolve(user_id, keys)

    def scan(self, user_id: str, where: Where) -> Iterator[Record]:
        """Yield the live records that are meant, in order of writing."""
        return self._store.scan(user_id, where)

    def items(self, user_id: str) -> Iterator[tuple[Stored, ...]]:
        """Yield everything that a user has, in order of first writing: each item's versions, the oldest first."""
        return self._store.items(user_id)

    def messages(
        self, user_id: str, session_id: str, *, limit: int | None = None, before: str | None = None
    ) -> list[Message]:
        """Return a session's messages in order; with ``limit`` the newest, with ``before`` those before an id."""
        return self._store.messages(user_id, session_id, limit=limit, before=before)

    def sessions(self, user_id: str) -> list[SessionInfo]:
        """Return the user's sessions, the one written to last at the end."""
        return self._store.sessions(user_id)

    def dependents(self, user_id: str, ids: Sequence[str]) -> list[Record]:
        """Return the live records, turns aside, that name one of the ids among their sources, there or gone."""
        return self._store.dependents(user_id, ids)

    def versions(self, user_id: str, id: str) -> list[Stored]:
        """Return the earlier versions of an item that are kept, newest first."""
        return self._store.versions(user_id, id)

    def users(self) -> Iterator[str]:
        """Yield the ids of all users that have a store."""
        return self._store.users()

    def close(self) -> None:
        """Close the store. The engine is the caller's."""
        self._store.close()

    def _sample(self, user_id: str) -> Floats:
        """Return some of a user's vectors, ``(n, dim)``, spread over all."""
        names = list(self._registry.all(user_id).values())
        chosen = np.unique(np.linspace(0, len(names) - 1, min(len(names), SAMPLE)).astype(np.int64)).tolist()
        wanted = [names[place] for place in chosen]
        there = self._line.ask("give vectors back", lambda engine: engine.fetch(wanted), patient=False)
        rows = [there[name] for name in wanted if name in there and len(there[name]) == self._registry.dim()]
        return np.stack(rows) if rows else np.empty((0, self._registry.dim() or 0), np.float32)

    def _announce(self, exc: VectorStoreUnavailableError) -> None:
        if not self._warned:
            self._warned = True
            logger.warning("%s", exc)


def _named(told: tuple[str, Fingerprint] | None) -> Fingerprint | None:
    """Return the space that a store was told of, ``None`` for one that only has a width."""
    return told[1] if told is not None and told[1].name else None


def _scope() -> str:
    return secrets.token_hex(8)
