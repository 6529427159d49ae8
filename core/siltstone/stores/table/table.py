"""One user's rows and indexes in memory, shared by the embedded stores.

A row is one version of one item. Rows are only appended; a row that is replaced or removed *dies* at a revision, so
that a reader with an older view still sees a whole commit and never half of one. One writer at a time; readers take
the published ``View`` and no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...index.columns import Columns
from ...index.digests import Digests
from ...index.ids import Ids, IdTable
from ...index.postings import Block, Postings
from ...index.vectors import GONE, CodedVectors, Halves, Rows, Vectors
from ...protocols import Ints, Stored
from ...records import TURN_PREFIX
from .links import Links
from .plan import Present, same_text
from .rows import ALIVE, MESSAGE, RECORD, SPEC, Item
from .view import Names, View

HISTORY: Final = 20
"""Earlier versions of an item that are kept, unless the store says otherwise."""
_AT_ONCE: Final = 32_768
"""Vectors read at once."""
_LEAST_GONE: Final = 512
"""Rows of which nothing is left that stay where they are."""


class Table:
    """The writer's side: applies commits, keeps the indexes, publishes views."""

    def __init__(
        self,
        user_id: str,
        read: Callable[[int, int], Stored | None],
        moving: AbstractContextManager[object] | None = None,
        *,
        history: int = HISTORY,
    ) -> None:
        """``read`` gives the item of a place and number; ``moving`` is held by whoever gives rows other places.

        ``history``: how many earlier versions of an item are kept.
        """
        self.user_id = user_id
        self.history = history
        self.gather: Callable[[Rows], Halves] = _no_vectors
        self._read_item = read
        self._moving = moving or nullcontext()
        self.rows = Columns(SPEC)
        self.ids = Ids()
        self.sessions, self.speakers = Names(), Names()
        self.postings = Postings()
        self.vectors: Vectors | None = None
        self.refused = Digests()
        self.successor: Table | None = None  # in its place since, with other rows; it knows where frames lie
        self.revision = 0
        self._links = Links(self.rows)
        self._records = 0
        self._words = 0.0
        self._gone = 0
        self.view = self._view("empty")

    @classmethod
    def empty(cls, user_id: str) -> Table:
        """Return the table of a user who has nothing."""
        return cls(user_id, lambda place, number: None)

    def restore(
        self,
        rows: Columns,
        ids: Ids,
        postings: Postings,
        sessions: Names,
        speakers: Names,
        refused: Digests,
        coded: CodedVectors | None,
        counted: tuple[int, float],
    ) -> None:
        """Take over what a cache kept: columns, indexes, names, and the number of records and their words."""
        self.rows, self.ids, self.postings = rows, ids, postings
        self.sessions, self.speakers, self.refused = sessions, speakers, refused
        self._records, self._words = counted
        self._gone = int(np.count_nonzero(rows["place"][: rows.count] < 0))
        self._links = Links(rows)
        if coded is not None:
            self.vectors = Vectors.restored(coded, self._halves)

    def rebase(self, old: tuple[Block, ...], block: Block, ids: IdTable, count: int) -> None:
        """Use the mapped indexes of a cache for its ``count`` rows, instead of our own, which had them in memory."""
        self.postings.rebase(old, block)
        self.ids.rebase(ids, count)

    def index_vectors(self) -> None:
        """Index the vectors of restored rows that are not in the index yet; those that do not check are dropped."""
        slots = self.rows["slot"][: self.rows.count]
        wanted = (slots >= 0) & (self.rows["died"][: self.rows.count] == ALIVE)
        if self.vectors is not None:
            indexed = self.vectors.rows
            wanted[indexed[indexed < GONE]] = False
        rows = np.flatnonzero(wanted).astype(np.int32)
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            halves = self.gather(slots[some])
            good = ~np.isnan(halves[:, 0])
            if not good.all():
                slots[some[~good]] = -1
                some, halves = some[good], halves[good]
            self.attach(some, slots[some], halves)

    def publish(self, token: str) -> None:
        """Let readers see what has been applied, under the revision ``token``."""
        self.revision += 1
        self.view = self._view(token)
        if self.postings.is_full:
            self.postings.tidy(self.view.dead)

    def _view(self, token: str) -> View:
        return View(
            token,
            self.revision,
            self.rows.view(),
            self.postings.snapshot(),
            self.vectors,
            self.sessions,
            self.speakers,
            self._records,
            self._words,
        )

    # --- what readers ask of single items

    def row(self, id: str, view: View) -> int:
        """Return the row of the version of an item that is live in ``view``, or -1."""
        return self.find([id], view)[0]

    def find(self, ids: Sequence[str], view: View) -> list[int]:
        """Return the rows of the versions of items that are live in ``view``, -1 where there is none."""
        rows = self.ids.get([id.removeprefix(TURN_PREFIX) for id in ids])
        return [row if row < 0 else self._seen(row, view) for row in rows]

    def find_all(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of those of the items that are there now."""
        return [row for row in self.find(ids, self.view) if row >= 0]

    def present(self, ids: Sequence[str]) -> list[Present | None]:
        """Return the stored versions of items, in order; see ``plan.Known``."""
        rows = self.view.rows
        return [
            None
            if row < 0
            else Present(row, int(rows["version"][row]), int(rows["origin"][row]), bool(rows["flags"][row] & MESSAGE))
            for row in self.find(ids, self.view)
        ]

    def size(self, session_id: str) -> int:
        """Return how many messages a session has."""
        return len(self.view.in_session(session_id))

    def in_session(self, session_id: str) -> list[int]:
        """Return the rows of a session's messages, in order."""
        rows: list[int] = self.view.in_session(session_id).tolist()
        return rows

    def vector_fits(self, present: Present, item: Stored) -> bool:
        """Return whether a version has a vector, made of the same text as the item's."""
        return bool(self.rows["slot"][present.row] >= 0) and same_text(self.item(present.row), item)

    def _seen(self, row: int, view: View) -> int:
        while row >= view.count:  # a version newer than the view
            row = int(self.rows["older"][row])
        return row if row >= 0 and view.is_live(row) else -1

    def item(self, row: int) -> Stored | None:
        """Return the item of a row, or ``None`` if its document is damaged or gone."""
        number = int(self.rows["number"][row])
        item = self._read_item(self._place(row), number)
        if item is None:
            with self._moving:
                item = self._read_item(self._place(row), number)
        return item

    def current(self, row: int) -> Stored | None:
        """Return the item of a row of some view; its present version, where compaction took this one away since."""
        item = self.item(row)
        if item is None and self._place(row) < 0:
            item = self._present(int(self.rows["origin"][row]))
        return item

    def _place(self, row: int) -> int:
        if self.successor is None:
            return int(self.rows["place"][row])
        (there,) = self.successor.rows_of([int(self.rows["number"][row])])
        return -1 if there < 0 else self.successor._place(there)

    def _present(self, origin: int) -> Stored | None:
        """Return the present version of an item by the number of its first one; ``None`` if it was removed. O(rows)."""
        if self.successor is not None:
            return self.successor._present(origin)
        n = self.rows.count
        found = np.flatnonzero((self.rows["origin"][:n] == origin) & (self.rows["died"][:n] == ALIVE))
        return self.item(int(found[0])) if len(found) else None

    def numbers_of(self, rows: Iterable[int]) -> list[int]:
        """Return the numbers of the frames of rows and of their older versions, ascending."""
        every = [older for row in rows for older in self.lineage(row)]
        return sorted({int(number) for number in self.rows["number"][every]}) if every else []

    def lineage(self, row: int) -> Iterator[int]:
        """Yield a row and those of its older versions, newest first."""
        while row >= 0:
            yield row
            row = int(self.rows["older"][row])

    # --- what the writer does

    def add(self, items: Sequence[Item]) -> list[int]:
        """Append items in order of writing, not visible before ``publish``; return the rows that are history no more.

        Those are earlier versions behind the ``history`` newest ones of their items, whose documents are there still.
        """
        if not items:
            return []
        first, died = self.rows.count, self.revision + 1
        ids = [item.id for item in items]
        fresh: dict[str, int] = {}
        older: list[int] = []
        for number, (id, before) in enumerate(zip(ids, self._alive(ids), strict=True), first):
            older.append(fresh.get(id, before))
            fresh[id] = number
        rows = [item.row for item in items]
        cells: dict[str, list[Any]] = {name: [row.cells[name] for row in rows] for name in rows[0].cells}
        cells["number"] = [item.number for item in items]
        cells["origin"] = [item.origin for item in items]
        cells["place"] = [item.place for item in items]
        cells["older"] = older
        cells["session"] = [self.sessions.code(row.session) for row in rows]
        cells["speaker"] = [self.speakers.code(row.speaker) for row in rows]
        for number, row in enumerate(rows, first):
            self.postings.add(number, row.terms)
        self.rows.append(cells, len(items))
        for number in older:
            if 0 <= number < first:
                self._count(np.array([number]), -1)
            if number >= 0:
                self._die(number, died)
        self.ids.update(fresh)
        alive = first + np.flatnonzero(self.rows["died"][first : self.rows.count] == ALIVE)
        self._count(alive, 1)
        self._links.insert(alive)
        long_lived = alive[self.rows["version"][alive] > self.history + 1]
        return [old for row in long_lived.tolist() if (old := self._outdated(row)) >= 0]

    def _outdated(self, row: int) -> int:
        """Return the version that a new one pushes out of the history, or -1."""
        old = next(islice(self.lineage(row), self.history + 1, None), -1)
        return old if old >= 0 and self.rows["place"][old] >= 0 else -1

    def _alive(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of items, -1 where there is none or it was removed."""
        died = self.rows["died"]
        return [row if row >= 0 and died[row] == ALIVE else -1 for row in self.ids.get(ids)]

    def remove(self, numbers: Iterable[int]) -> list[int]:
        """Let rows die by the numbers of their frames, all versions of their items named; return the live ones."""
        numbers = list(numbers)
        gone = self.hide(numbers)
        rows = sorted({row for row in self.rows_of(numbers) if row >= 0})
        self._gone += int(np.count_nonzero(self.rows["place"][rows] >= 0))
        self.rows["place"][rows] = -1
        return gone

    def hide(self, numbers: Sequence[int]) -> list[int]:
        """Let rows die whose documents stay for a while; return the live ones."""
        there = np.array([row for row in self.rows_of(numbers) if row >= 0], np.int64)
        alive = there[self.rows["died"][there] == ALIVE]
        self._count(alive, -1)
        gone: list[int] = alive.tolist()
        for row in gone:
            self._die(row, self.revision + 1)
        return gone

    def with_alive(self, hidden: Sequence[int]) -> Table:
        """Return the table, to be read alone, as it were if some rows had not been hidden. O(rows)."""
        died = self.view.rows["died"].copy()
        died[list(hidden)] = ALIVE
        table = copy(self)
        table.view = replace(self.view, rows={**self.view.rows, "died": died})
        return table

    def rows_of(self, numbers: Sequence[int]) -> list[int]:
        """Return the rows of frames by number, -1 where there is none."""
        if not len(numbers):
            return []
        keys = self.rows["number"][: self.rows.count]
        if not len(keys):
            return [-1] * len(numbers)
        wanted = np.asarray(numbers, np.int64)
        at = keys.searchsorted(wanted)
        hit = keys.take(at, mode="clip") == wanted
        rows: list[int] = np.where(hit, at, -1).tolist()
        return rows

    def relocate(self, segment: int, places: Sequence[tuple[int, int]]) -> None:
        """Take over where the frames of a rewritten segment lie: ``(number, place)``; the others are gone, and dead."""
        there = self.rows["place"][: self.rows.count]
        before = np.flatnonzero(there >> 32 == segment)
        there[before] = -1
        rows = np.array(self.rows_of([number for number, _ in places]), np.int64)
        if len(rows):
            there[rows[rows >= 0]] = np.array([place for _, place in places], np.int64)[rows >= 0]
        self._gone += int(np.count_nonzero(there[before] < 0))
        gone = before[(there[before] < 0) & (self.rows["died"][before] == ALIVE)]
        self.remove(self.rows["number"][gone].tolist())

    @property
    def is_hollow(self) -> bool:
        """Whether of most rows nothing is left, neither a living item nor a document, and they are worth a clearing."""
        return self._gone >= _LEAST_GONE and 2 * self._gone > self.rows.count

    def outdated(self) -> npt.NDArray[np.bool_]:
        """Return which rows are dead versions that no history shows, ``(n,)``. O(rows)."""
        n = self.rows.count
        origin, version = self.rows["origin"][:n], self.rows["version"][:n]
        alive = np.flatnonzero((self.rows["died"][:n] == ALIVE) & (version > 1 + self.history))
        alive = alive[np.argsort(origin[alive])]
        out = np.zeros(n, np.bool_)
        if len(alive):
            at = np.minimum(np.searchsorted(origin[alive], origin), len(alive) - 1)
            newest = alive[at]
            out = (origin[newest] == origin) & (version < version[newest] - self.history)
        return out

    def attach(self, rows: Rows, slots: Rows, vectors: Halves) -> None:
        """Give rows their vectors, which ``gather`` can read at ``slots``."""
        if not len(rows):
            return
        if self.vectors is None:
            self.vectors = Vectors(vectors.shape[1], self._halves)
        self.rows["slot"][rows] = slots
        self.vectors.add(rows, vectors)

    def _halves(self, rows: Rows) -> Halves:
        """Return the vectors of rows, nan where there is none."""
        out = self._gathered(rows)
        missing = np.flatnonzero(np.isnan(out[:, :1]).any(axis=1))
        if len(missing):
            with self._moving:  # they may have been given other slots meanwhile
                out[missing] = self._gathered(rows[missing])
        return out

    def _slots(self, rows: Rows) -> Rows:
        if self.successor is None:
            slots: Rows = self.rows["slot"][rows]
            return slots
        there = np.array(self.successor.rows_of(self.rows["number"][rows].tolist()), np.int32)
        slots = np.full(len(rows), -1, np.int32)
        slots[there >= 0] = self.successor._slots(there[there >= 0])
        return slots

    def _gathered(self, rows: Rows) -> Halves:
        slots = self._slots(rows)
        some = slots >= 0
        if some.all():
            return self.gather(slots)
        out = np.full((len(rows), self.vectors.dim if self.vectors else 0), np.nan, np.float16)
        out[some] = self.gather(slots[some])
        return out

    def drop_vectors(self) -> None:
        """Forget every vector: the embedding space is another."""
        self.rows["slot"][: self.rows.count] = -1
        self.vectors = None

    # --- life

    def _count(self, rows: Ints, sign: int) -> None:
        records = rows[(self.rows["flags"][rows] & RECORD) != 0]
        self._records += sign * len(records)
        self._words += sign * float(self.rows["lengths"][records].sum(dtype=np.float64))

    def _die(self, row: int, died: int) -> None:
        self.rows["died"][row] = died
        self._links.take_out(row)


def _no_vectors(slots: Rows) -> Halves:
    return np.empty((len(slots), 0), np.float16)
