"""One user's folder as it is read: log, vectors and table, kept in step with each other and with other processes."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Final

import numpy as np
import orjson

from ..index.distinct import distinct
from ..records import message_id, unique
from ..text import tokenize
from . import cascade
from .decoded import Reader
from .files import cache, disk, layout, notes
from .files.codec import decode
from .files.frames import Frame
from .files.lock import FileLock
from .files.log import Log
from .files.notes import Embedded, Finished, Meant, Note, Removal
from .files.segments import Vanished
from .files.vectorfile import VectorFile, VectorRows, drop_older, listed
from .reading import AsBefore
from .rules import Rules
from .table import snapshot
from .table.plan import Refusals
from .table.rows import ALIVE, Item, row_of, text_and_time
from .table.table import Table

_AT_ONCE: Final = 4_096
"""Items entered at once while a log is read."""


@dataclass(frozen=True)
class Unfinished:
    """A removal whose words are still in files, or that lacks its line.

    Its note, where its frames lie, by number, and the segments that hold pieces which do not check.
    """

    note: Removal
    places: Mapping[int, int]
    damaged: Set[int]


@dataclass(frozen=True)
class Hidden:
    """A removal of which it is not known yet what goes along: its note, where that lies, and the rows that it hid."""

    note: Meant
    segment: int
    rows: list[int]


class Following(ABC):
    """A user's documents, vectors and indexes as they are read: shared by all threads, abreast of other processes."""

    def __init__(
        self,
        folder: str,
        user_id: str,
        rules: Rules,
        key: bytes,
        left: Callable[[], set[str]],
        restoring: Callable[[], bool],
    ) -> None:
        """``key`` hashes what is refused, and ids in the audit; ``left`` gives what is refused where no documents are:
        what removed folders of the user refuse while they exist, and what the audit names.

        ``restoring``: whether another store is taking the place of this one.
        """
        self.folder, self.user_id = folder, user_id
        self._marker = os.path.join(rules.root, layout.UNFINISHED, os.path.basename(folder))
        self._rules = rules
        self._cipher = rules.keys.cipher(folder)
        self._key, self._refusals = key, Refusals(key)
        self._left, self._restoring = left, restoring
        self._lock = FileLock(os.path.join(folder, "LOCK"))
        self._turns = RLock()  # writers of this process
        self._step = RLock()  # whoever brings the table up to date
        self._alone = False  # this process holds the file lock and is up to date
        self._start()

    def _start(self) -> None:
        """Know nothing yet. ``_complete`` first: whoever sees the new table sees that it is empty."""
        self._complete = False
        self._space = -1
        rules = self._rules
        log = Log(
            self.folder,
            self.user_id,
            durable=rules.durable,
            writable=rules.writable,
            segment_size=rules.segment_size,
            cipher=self._cipher,
        )
        self._log = log  # the table knows the log, not the user: no cycle keeps files open
        self._reader = Reader(log, self.user_id, rules.decoded)
        self.table = Table(self.user_id, self._reader, self._step, history=rules.history)
        self._vectors: VectorFile | None = None
        self._early: list[VectorRows] = []
        self._unplanned: dict[int, Hidden] = {}
        self._unfinished: dict[int, Unfinished] = {}
        self._remarks: dict[str, str] = {}  # what the user is to know, the last of each cause
        self._not_before = 0.0  # when reads may clear up again
        self._rewrites = 0  # a picture of the table taken before one is out of date
        self._kept = 0  # rows in the cache

    # --- reading

    def current(self, space: int) -> Table:
        """Return the table with every acknowledged commit on it; ``space`` numbers the embedding space."""
        table = self.table
        if self._complete and space == self._space and (self._alone or not (self._owes() or self._changed())):
            return table
        with self._step:
            if not (self._alone and self._complete) or space != self._space:
                self._catch_up(space)
            if self._owes() or ((self._log.torn or self._unfinished) and time.monotonic() >= self._not_before):
                self.mend(space)
        return self.table

    def _owes(self) -> bool:
        """Return whether a forget broke off before it had hidden what rests on what it forgot, and may go on now."""
        return bool(self._unplanned) and self._rules.writable and time.monotonic() >= self._not_before

    def _changed(self) -> bool:
        try:
            return self._log.changed()
        except Vanished:
            return True

    def _catch_up(self, space: int) -> None:
        """Read what others wrote; raises ``Vanished`` when the user was removed."""
        try:
            if self._log.changed() or space != self._space or not self._complete:
                self._read_on(space)
        except Vanished:
            self._start_again()  # the log was cut, or another one lies here
            if not disk.is_folder(self.folder):
                raise
            self._catch_up_from_nothing(space)
        except BaseException:  # half of the news may be in the table: all of it is read again
            self._start_again()
            raise

    def _catch_up_from_nothing(self, space: int) -> None:
        try:
            self._read_on(space)
        except BaseException:
            self._start_again()
            raise

    def _start_again(self) -> None:
        fresh_segment = self._log.fresh_segment
        self._reader.leave()
        self._start()
        self._log.fresh_segment = fresh_segment

    def _read_on(self, space: int) -> None:
        if self._space < 0:
            self._restore(space)
        for news in self._log.read():
            for segment, places in news.moved.items():
                self._rewrites += bool(places)
                self.table.relocate(segment, places)
                self._drop_carried_out(segment, {number for number, _ in places})
            self._apply(news.frames)
        if space != self._space:
            self._use(space)
        self._attach_news()
        self._publish()
        if self._unplanned and not self._rules.writable:
            self._hide_along()
        self._complete = True

    def _restore(self, space: int) -> None:
        """Begin with what the cache knows, if it fits the log."""
        found = cache.read(self.folder, self._cipher)
        if found is None or found[0]["terms"] != tokenize.VERSION or not self._log.resume(found[0]["log"]):
            return
        values, arrays = found
        snapshot.unpack(self.table, values, arrays)
        if not self._fits():
            self._start_again()
            return
        self._kept = values["count"]
        if values["space"] == space:
            self._space = space
            self._find_vectors()
            if self._vectors is not None:
                there = self._vectors.skip(values["slots"])
                slots = self.table.rows["slot"][: self.table.rows.count]
                segments = self._vectors.segment_of(slots)
                for gone in set(distinct(segments).tolist()) - there:
                    slots[segments == gone] = -1  # copied since, and read below
                self.table.index_vectors()

    def _fits(self) -> bool:
        """Return whether the last living row of each segment is of the document that lies in its place."""
        rows, count = self.table.rows, self.table.rows.count
        places = rows["place"][:count]
        there = np.flatnonzero((places >= 0) & (rows["died"][:count] == ALIVE))[::-1]
        _, last = np.unique(places[there] >> 32, return_index=True)
        for row in there[last].tolist():
            stored = self.table.item(row)
            if stored is None or text_and_time(stored) != (rows["text_hash"][row], rows["said_at"][row]):
                return False
        return True

    def _condense(self) -> None:
        """Let a table without rows of which nothing is left take the place of this one, whose readers go on with it.

        Nobody may be writing, and all of the log has been read. O(rows).
        """
        with self._step:
            fresh = Table(self.user_id, self._reader, self._step, history=self._rules.history)
            fresh.gather = self.table.gather
            snapshot.condense(self.table, fresh)
            fresh.index_vectors()
            fresh.publish(self.table.view.token)
            self.table.successor, self.table = fresh, fresh
            self._rewrites += 1

    def _use(self, space: int) -> None:
        """Turn to the vectors of an embedding space."""
        self.table.drop_vectors()
        self._space, self._vectors, self._early = space, None, []
        if self._rules.writable and disk.is_folder(self.folder):
            drop_older(self.folder, space)

    def _find_vectors(self) -> None:
        if self._vectors is not None or not disk.is_folder(self.folder):
            return
        widths = {dim for _, space, dim, _ in listed(self.folder) if space == self._space}
        if widths:
            self._file(widths.pop())

    def _apply(self, frames: Sequence[tuple[int, Frame]]) -> None:
        items: list[Item] = []
        for place, found in frames:
            document = orjson.loads(found.document)
            if "i" in document:
                stored = decode(document, self.user_id)
                items.append(Item(found.number, place, document.get("o", found.number), stored, row_of(stored)))
                if len(items) < _AT_ONCE:
                    continue
            self._enter(items)
            items = []
            note = notes.unpack(document)
            if isinstance(note, Meant):
                self._set_apart(found.number, place, note)
            elif isinstance(note, Removal):
                self._hide(found.number, note)
            elif isinstance(note, Finished):
                self._unfinished.pop(note.removal, None)
            self._waste_note(place, note)
        self._enter(items)

    def _enter(self, items: Sequence[Item]) -> None:
        for row in self.table.add(items):
            self._log.waste(int(self.table.rows["place"][row]))

    def _waste_note(self, place: int, note: Note | None) -> None:
        """Count a note as dead weight, which it is once read and finished; the hashes in it stay."""
        if isinstance(note, Removal):
            self._log.waste(place, keep=sum(len(hashed) + 3 for hashed in note.hashes))
        elif isinstance(note, Meant | Finished | Embedded):
            self._log.waste(place)

    def _set_apart(self, number: int, place: int, note: Meant) -> None:
        """Hide what is meant to go; its documents stay until it is known what goes along."""
        self._rewrites += 1
        self._unplanned[number] = Hidden(note, place >> 32, self.table.hide(note.numbers))

    def _drop_carried_out(self, segment: int, numbers: Set[int]) -> None:
        """Forget of the notes that lay in a rewritten segment: one is taken out only when it has been carried out."""
        for number, hidden in list(self._unplanned.items()):
            if hidden.segment == segment and number not in numbers:
                del self._unplanned[number]

    def _goes(self, meant: Meant, hidden: Sequence[int]) -> tuple[cascade.Going, dict[str, int]]:
        """Return what goes with what is meant, and the rows of it by id; ``hidden`` are those that are hidden before.

        Whatever was to be looked at and does not check is not among them.
        """
        before = AsBefore(self.table.with_alive(hidden))
        going = cascade.plan(before, self.user_id, meant.ids, named=meant.named)
        ids = unique([*map(message_id, meant.ids), *going.items])
        return going, before.rows_of(ids)

    def _hide_along(self) -> None:
        """Hide what goes with what is hidden, where we may not remove it."""
        for hidden in self._unplanned.values():
            _, rows = self._goes(hidden.note, hidden.rows)
            self.table.hide(self.table.numbers_of(rows.values()))
        self._publish()

    def _hide(self, number: int, note: Removal) -> None:
        if note.meant is not None:
            self._unplanned.pop(note.meant, None)
        removed = note.numbers
        rows = zip(removed, self.table.rows_of(removed), strict=True)
        lying = {number: int(self.table.rows["place"][row]) for number, row in rows if row >= 0}
        places = {number: place for number, place in lying.items() if place >= 0}
        for place in places.values():
            self._log.waste(place)
        self._rewrites += 1
        self.table.remove(removed)
        self._reader.drop(removed)
        self._log.unreadable.difference_update(places)
        self.table.refused.update(note.hashes)
        if note.is_told:  # what is unreadable may hold the words too
            self._unfinished[number] = Unfinished(note, places, self._log.damaged() if removed else frozenset())

    def _attach_news(self) -> None:
        self._find_vectors()
        if self._vectors is None:
            return
        found_rows, self._early = [*self._early, *self._vectors.news()], []
        for found in found_rows:
            if len(found.numbers) and int(found.numbers.max()) >= self._log.next_number:
                self._early.append(found)  # a commit that came after its documents were looked for
            rows = np.array(self.table.rows_of(found.numbers.tolist()), np.int32)
            fits = rows >= 0
            fits[fits] = self.table.rows["text_hash"][rows[fits]] == found.hashes[fits]
            fits[fits] = self.table.rows["died"][rows[fits]] == ALIVE
            copied = fits.copy()
            copied[fits] = self.table.rows["slot"][rows[fits]] >= 0
            fits &= ~copied
            self.table.rows["slot"][rows[copied]] = found.slots[copied]
            self.table.attach(rows[fits], found.slots[fits], found.halves[fits])

    def _blank_orphans(self) -> None:
        """Under the lock: blank vectors of documents that were never written, before others get their numbers.

        No removal would find them afterwards.
        """
        self._find_vectors()
        if self._vectors is None:
            return
        if self._vectors.behind():
            self._vectors.blank(np.empty(0, np.int32))  # a torn row
            self._attach_news()
        if self._early:
            slots = [found.slots[found.numbers >= self._log.next_number] for found in self._early]
            self._vectors.blank(np.concatenate(slots))
            self._early = []

    @contextmanager
    def _taking_up(self) -> Iterator[None]:
        """Let the block bring the table up to date with what was just written.

        It is on the disk by then: where the block fails, all is read from there again, so that no reader misses it.
        """
        with self._step:
            try:
                yield
            except BaseException:
                self._start_again()
                raise

    def _publish(self) -> None:
        self.table.publish(f"{self._log.born}-{self._log.next_number:x}")

    def _file(self, dim: int) -> VectorFile:
        if self._vectors is None:
            self._vectors = VectorFile(
                self.folder, self._space, dim, writable=self._rules.writable, cipher=self._cipher
            )
            self.table.gather = self._vectors.gather
        return self._vectors

    @property
    def _dim(self) -> int | None:
        return None if self._vectors is None else self._vectors.dim

    @abstractmethod
    def mend(self, space: int) -> None:
        """Clear up after a killed writer, unless another one is at work."""
