"""The store without a disk: the same tables, gone with the process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import RLock
from typing import Final
from weakref import WeakSet

import numpy as np
import orjson

from ..index.vectors import Halves, Rows
from ..protocols import Commit, Fingerprint, Floats, Put, Refusal, Stored, StoreStats
from ..records import ForgetReport, Record, message_id, unique
from . import cascade
from .files.codec import decode
from .reading import AsBefore, ReadingStore, check_user_id, same_space, stats_of
from .table.plan import Planned, Refusals, plan, refused_of
from .table.table import HISTORY, Table

LOCATION: Final = ":memory:"
_stores: WeakSet[RamStore] = WeakSet()


class RamStore(ReadingStore):
    """Messages, records and indexes of many users in memory."""

    def __init__(self, *, history: int = HISTORY) -> None:
        """``history``: how many earlier versions of an item are kept."""
        self._lock = RLock()
        self._history = history
        self._users: dict[str, _User] = {}
        self._fingerprint: Fingerprint | None = None
        self._refusals = Refusals(secrets.token_bytes(16))
        _stores.add(self)

    @property
    def location(self) -> str:
        """``:memory:``."""
        return LOCATION

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
        """Write all items or none."""
        with self._lock:
            same_space(self._fingerprint, space)
            user = self._users.get(user_id) or _User(user_id, self._history, self._lock)
            planned = plan(
                user.table,
                puts,
                expect,
                refusals=self._refusals,
                dim=self._dim(user),
                first=user.next_number,
                sizes=sizes,
            )
            before = user.table.view.token
            if planned.items:
                self._users[user_id] = user
            if planned.items or remove:
                user.write(planned.items, remove)
            return Commit(user.table.view.token, planned.skipped, before)

    def remove(
        self, user_id: str, ids: Sequence[str], *, transcripts: Sequence[Refusal] = (), everything: bool = False
    ) -> str:
        """Remove items for good by id, or with ``everything`` all that the user has."""
        with self._lock:
            user = old = self._users.get(user_id)
            if everything or user is None:
                user = _User(user_id, self._history, self._lock)
                user.table.refused.update(old.table.refused if old is not None else ())
                self._users.pop(user_id, None)
            user.table.refused.update(self._refusals.hashes(transcripts))
            user.remove(ids)
            if user.table.refused or user_id in self._users:
                self._users[user_id] = user
            return user.table.view.token

    def forget(self, user_id: str, ids: Sequence[str], *, named: bool = True) -> ForgetReport:
        """Remove items for good by id, with what rests on them: they are hidden at once, the rest when it is found."""
        with self._lock:
            user = self._users.get(user_id)
            if user is None:
                return ForgetReport()
            before = AsBefore(user.table.with_alive(user.hide(ids)))
            going = cascade.plan(before, user_id, ids, named=named)
            user.table.refused.update(self._refusals.hashes(going.refusals))
            user.take_out(before.rows_of(unique([*map(message_id, ids), *going.items])).values())
            return going.report

    def refused(self, user_id: str, puts: Sequence[Put]) -> tuple[str, ...]:
        """Return the ids of the items that a commit of ``puts`` would skip as forgotten."""
        with self._lock:
            return tuple(refused_of(self._table(user_id), puts, self._refusals))

    def users(self) -> Iterator[str]:
        """Yield the ids of all users that have a store."""
        return iter(list(self._users))

    def put_vectors(
        self, user_id: str, records: Sequence[Record], vectors: Floats, *, space: Fingerprint | None = None
    ) -> int:
        """Attach vectors to records whose text is still the same; return how many were attached."""
        with self._lock:
            same_space(self._fingerprint, space)
            user = self._users.get(user_id) or _User(user_id, self._history, self._lock)
            rows, halves = self._matched(user.table, records, vectors, self._dim(user))
            user.attach(rows, halves)
            return len(rows)

    def fingerprint(self) -> Fingerprint | None:
        """Return the embedding space that the store was written with, if any yet."""
        return self._fingerprint

    def set_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Record the embedding space. One of another space than the present one drops every vector."""
        with self._lock:
            if self._fingerprint is not None and not self._fingerprint.same_space(fingerprint):
                for user in self._users.values():
                    user.drop_vectors()
            self._fingerprint = fingerprint

    def stats(self, user_id: str) -> StoreStats:
        """Return counts of one user."""
        return stats_of(self._table(user_id).view)

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._users.clear()

    def _table(self, user_id: str) -> Table:
        user = self._users.get(user_id)
        return Table.empty(user_id) if user is None else user.table

    def _dim(self, user: _User) -> int | None:
        if self._fingerprint is not None:
            return self._fingerprint.dim
        return None if user.table.vectors is None else user.table.vectors.dim


class _User:
    """One user's documents and vectors, and the table over them."""

    def __init__(self, user_id: str, history: int, lock: AbstractContextManager[object]) -> None:
        """``lock`` is held by whoever writes: a reader who misses a document waits for the end of the commit."""
        check_user_id(user_id)
        self.user_id = user_id
        self.next_number = 1
        self._born = secrets.token_hex(4)
        self._documents: list[bytes | None] = []
        self._vectors: Halves = np.empty((0, 0), np.float16)
        self._used = 0
        self.table = Table(user_id, self._read, lock, history=history)
        self.table.gather = self._gather

    def write(self, items: Sequence[Planned], remove: Sequence[str] = ()) -> None:
        """Keep the documents of a plan and enter them; drop other items with them."""
        if items:
            self._write(items)
        if remove:
            self._drop(self.table.find_all(remove))
        self._publish()

    def _write(self, items: Sequence[Planned]) -> None:
        first = len(self._documents)
        self._documents.extend(item.document for item in items)
        self.next_number = items[-1].number + 1
        for row in self.table.add([item.at(place) for place, item in enumerate(items, first)]):
            self._documents[int(self.table.rows["place"][row])] = None
            self.table.rows["place"][row] = -1
        rows = self.table.rows_of([item.number for item in items])
        vectors = {
            row: vector for row, item in zip(rows, items, strict=True) if (vector := self._vector(item)) is not None
        }
        self._enter(list(vectors), np.stack(list(vectors.values())) if vectors else self._vectors[:0])

    def attach(self, rows: list[int], halves: Halves) -> None:
        """Give rows their vectors."""
        if rows:
            self.next_number += 1
            self._enter(rows, halves)
            self._publish()

    def remove(self, ids: Sequence[str]) -> None:
        """Drop documents and vectors of all versions of the items."""
        self._drop(self.table.find_all(ids))
        self._publish()

    def hide(self, ids: Sequence[str]) -> list[int]:
        """Let nobody see the items any more; return their rows."""
        hidden = self.table.hide(self.table.numbers_of(self.table.find_all(ids)))
        self.next_number += 1
        self._publish()
        return hidden

    def take_out(self, rows: Iterable[int]) -> None:
        """Drop documents and vectors of all versions of the items of rows."""
        self._drop(rows)
        self._publish()

    def _drop(self, rows: Iterable[int]) -> None:
        numbers = self.table.numbers_of(rows)
        for row in self.table.rows_of(numbers):
            if (place := int(self.table.rows["place"][row])) >= 0:
                self._documents[place] = None
            if (slot := int(self.table.rows["slot"][row])) >= 0:
                self._vectors[slot] = np.nan
        self.table.remove(numbers)
        self.next_number += 1

    def drop_vectors(self) -> None:
        """Forget every vector."""
        self.table.drop_vectors()
        self._vectors, self._used = np.empty((0, 0), np.float16), 0
        self.next_number += 1
        self._publish()

    def _publish(self) -> None:
        self.table.publish(f"{self._born}-{self.next_number:x}")

    def _vector(self, item: Planned) -> Halves | None:
        if item.vector is not None or item.reuse < 0:
            return item.vector
        reused: Halves = self._vectors[self.table.rows["slot"][item.reuse]]
        return reused

    def _enter(self, rows: list[int], halves: Halves) -> None:
        if not rows:
            return
        end = self._used + len(rows)
        if end > len(self._vectors):
            grown = np.empty((end + (end >> 1) + 16, halves.shape[1]), np.float16)
            if self._used:
                grown[: self._used] = self._vectors[: self._used]
            self._vectors = grown
        self._vectors[self._used : end] = halves
        slots = np.arange(self._used, end, dtype=np.int32)
        self._used = end
        self.table.attach(np.array(rows, np.int32), slots, halves)

    def _read(self, place: int, number: int) -> Stored | None:
        document = self._documents[place] if place >= 0 else None
        return None if document is None else decode(orjson.loads(document), self.user_id, number)

    def _gather(self, slots: Rows) -> Halves:
        gathered: Halves = self._vectors[slots]
        return gathered


def _before_fork() -> None:
    for store in list(_stores):
        store._lock.acquire()  # no commit is half done when the child takes its copy


def _after_fork() -> None:
    for store in list(_stores):
        store._lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
