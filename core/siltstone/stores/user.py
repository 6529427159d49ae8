"""One user's folder: their lock, log, vectors and table, kept in step."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import RLock
from typing import Final

import numpy as np
import orjson

from ..errors import SiltstoneError, StoreLockedError
from ..index.vectors import Halves
from ..protocols import Commit, Put, Refusal, Stored
from ..text import tokenize
from .files import auditfile, cache, disk, layout, notes
from .files.auditfile import Deed
from .files.codec import decode
from .files.frames import Frame
from .files.lock import FileLock
from .files.log import Log
from .files.notes import Embedded, Finished, Note, Removal
from .files.segments import Vanished
from .files.vectorfile import VectorFile, VectorRows, drop_older, listed
from .maintenance import quarantine
from .maintenance.bereft import GONE, is_bereft
from .maintenance.pinned import pin_user
from .rewriting import Rewriting
from .rules import Rules
from .table import snapshot
from .table.plan import Planned, Refusals, plan
from .table.rows import ALIVE, Item, row_of
from .table.table import Table

_AT_ONCE: Final = 4_096
"""Items entered at once while a log is read."""
_LEAST_RUNNING: Final = 2_000
_LEAST_CLOSING: Final = 256
"""New rows after which a cache is written, in small stores; large ones wait for a share of their size."""
_PAUSE: Final = 30.0
"""Seconds for which reads let be what they could not clear up."""


@dataclass(frozen=True)
class Unfinished:
    """A removal whose words are still in files: its note, and the segments to rewrite."""

    note: Removal
    segments: set[int]


class UserStore(Rewriting):
    """A user's documents, vectors and indexes, shared by all threads of a process and kept abreast of others."""

    def __init__(
        self,
        folder: str,
        user_id: str,
        rules: Rules,
        key: bytes,
        left: Callable[[], set[str]],
        restoring: Callable[[], bool],
    ) -> None:
        """``key`` hashes what is refused; ``left`` gives what removed folders of the user refuse while they exist.

        ``restoring``: whether another store is taking the place of this one.
        """
        self.folder, self.user_id = folder, user_id
        self._marker = os.path.join(rules.root, layout.UNFINISHED, os.path.basename(folder))
        self._rules = rules
        self._cipher = rules.keys.cipher(folder)
        self._refusals = Refusals(key)
        self._left, self._restoring = left, restoring
        self._lock = FileLock(os.path.join(folder, "LOCK"))
        self._turns = RLock()  # writers of this process
        self._step = RLock()  # whoever brings the table up to date
        self._alone = False  # this process holds the file lock and is up to date
        self._start()

    def _start(self) -> None:
        """Know nothing yet. ``_space`` first: whoever sees the new table sees that it is empty."""
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
        self.table = Table(self.user_id, _reader(log, self.user_id), self._step, history=rules.history)
        self._vectors: VectorFile | None = None
        self._early: list[VectorRows] = []
        self._unfinished: dict[int, Unfinished] = {}
        self._remarks: dict[str, str] = {}  # what the user is to know, the last of each cause
        self._not_before = 0.0  # when reads may clear up again
        self._rewrites = 0  # a picture of the table taken before one is out of date
        self._kept = 0  # rows in the cache

    # --- reading

    def current(self, space: int) -> Table:
        """Return the table with every acknowledged commit on it; ``space`` numbers the embedding space."""
        table = self.table
        if space == self._space and (self._alone or not self._changed()):
            return table
        with self._step:
            if not self._alone or space != self._space:
                self._catch_up(space)
            if (self._log.torn or self._unfinished) and time.monotonic() >= self._not_before:
                self.mend(space)
        return self.table

    def _changed(self) -> bool:
        try:
            return self._log.changed()
        except Vanished:
            return True

    def _catch_up(self, space: int) -> None:
        """Read what others wrote; raises ``Vanished`` when the user was removed."""
        try:
            if self._log.changed() or space != self._space:
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
        self._start()
        self._log.fresh_segment = fresh_segment

    def _read_on(self, space: int) -> None:
        if self._space < 0:
            self._restore(space)
        for news in self._log.read():
            for segment, places in news.moved.items():
                self._rewrites += bool(places)
                self.table.relocate(segment, places)
            self._apply(news.frames)
        if space != self._space:
            self._use(space)
        self._attach_news()
        self._publish()

    def _restore(self, space: int) -> None:
        """Begin with what the cache knows, if it fits the log."""
        found = cache.read(self.folder, self._cipher)
        if found is None or found[0]["terms"] != tokenize.VERSION or not self._log.resume(found[0]["log"]):
            return
        values, arrays = found
        snapshot.unpack(self.table, values, arrays)
        self._kept = values["count"]
        if values["space"] == space:
            self._space = space
            self._find_vectors()
            if self._vectors is not None:
                there = self._vectors.skip(values["slots"])
                slots = self.table.rows["slot"][: self.table.rows.count]
                slots[~np.isin(self._vectors.segment_of(slots), list(there))] = -1  # copied since, and read below
                self.table.index_vectors()

    def _use(self, space: int) -> None:
        """Turn to the vectors of an embedding space."""
        self.table.drop_vectors()
        self._space, self._vectors, self._early = space, None, []
        if self._rules.writable and disk.is_folder(self.folder):
            drop_older(self.folder, space)

    def _find_vectors(self) -> None:
        if not disk.is_folder(self.folder):
            return
        widths = {dim for _, space, dim, _ in listed(self.folder) if space == self._space}
        if widths and self._vectors is None:
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
            if isinstance(note, Removal):
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
        elif isinstance(note, Finished | Embedded):
            self._log.waste(place)

    def _hide(self, number: int, note: Removal) -> None:
        removed = note.numbers
        places = self.table.rows["place"]
        segments = {int(places[row]) >> 32 for row in self.table.rows_of(removed) if row >= 0 and places[row] >= 0}
        self._rewrites += 1
        self.table.remove(removed)
        self.table.refused.update(note.hashes)
        if removed:  # what is unreadable may hold the words too
            self._unfinished[number] = Unfinished(note, segments | self._log.damaged())

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

    def _publish(self) -> None:
        self.table.publish(f"{self._log.born}-{self._log.next_number:x}")

    # --- writing

    @contextmanager
    def _exclusive(self, space: int) -> Iterator[None]:
        """Hold the user's lock, with everything read that others wrote, and nothing left half done."""
        with self._locked(), self._up_to_date(space):
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the user's lock."""
        if not self._turns.acquire(timeout=self._rules.lock_timeout):
            raise StoreLockedError(
                f"{self.folder} has been held for {self._rules.lock_timeout:g} s by another thread of this process; "
                "nothing was stored: retry"
            )
        try:
            self._lock.acquire(self._rules.lock_timeout)
            try:
                yield
                if self._restoring() or not self._lock.is_current:
                    raise Vanished(self.folder)  # a restore puts another one in its place: it was done to the old one
            finally:
                self._lock.release()
        finally:
            self._turns.release()

    @contextmanager
    def _up_to_date(self, space: int) -> Iterator[None]:
        """Under the lock: read what others wrote, mend what they left, and let readers know that this is all."""
        if self._restoring():
            raise Vanished(self.folder)
        with self._step:
            self._cipher.ready()
            self._catch_up(space)
            done = self._log.repair()
            if done:
                self._remarks["repair"] = done
            self._log.make_ready()
            self._blank_orphans()
            self._alone = True
        try:
            self._finish()
            if self._log.next_number == 1 and (hashes := self._left()):
                self._note_removal([], sorted(hashes))  # before anything is written where a removed folder was
            self._remarks.pop("leftovers", None)
            yield
        finally:
            self._alone = False

    def commit(self, puts: Sequence[Put], expect: Mapping[str, int] | None, space: int, dim: int | None) -> Commit:
        """Write all items or none; on disk when it returns."""
        with self._exclusive(space):
            planned = plan(
                self.table,
                puts,
                expect,
                refusals=self._refusals,
                dim=dim or self._dim,
                first=self._log.next_number,
            )
            if planned.items:
                self._write(planned.items)
            return Commit(self.table.view.token, planned.skipped)

    def _write(self, items: Sequence[Planned]) -> None:
        vectors = [(item, half) for item in items if (half := self._vector(item)) is not None]
        halves = np.stack([half for _, half in vectors]) if vectors else np.empty((0, 0), np.float16)
        slots, known = np.empty(0, np.int32), 0
        if vectors:
            numbers, hashes = [item.number for item, _ in vectors], [item.text_hash for item, _ in vectors]
            known = self._file(halves.shape[1]).known
            slots = self._file(halves.shape[1]).append(numbers, hashes, halves)
        try:
            places = self._log.append([item.document for item in items])
        except SiltstoneError:
            if self._vectors is not None and vectors:
                self._vectors.read_again(known)  # should the documents turn out to be there after all
            raise
        with self._step:
            self._enter([item.at(place) for item, place in zip(items, places, strict=True)])
            rows = np.array(self.table.rows_of([item.number for item, _ in vectors]), np.int32)
            self.table.attach(rows, slots, halves)
            self._publish()

    def put_vectors(self, match: Callable[[Table, int | None], tuple[list[int], Halves]], space: int) -> int:
        """Append late vectors of the rows that ``match`` finds; a note in the log tells other processes."""
        with self._exclusive(space):
            rows, halves = match(self.table, self._dim)
            if rows:
                self._attach(rows, halves)
            return len(rows)

    def _attach(self, rows: list[int], halves: Halves) -> None:
        numbers = self.table.rows["number"][rows].tolist()
        hashes = self.table.rows["text_hash"][rows].tolist()
        file = self._file(halves.shape[1])
        slots = file.append(numbers, hashes, halves)
        if self._rules.durable:
            file.sync()
        with self._step:
            self.table.attach(np.array(rows, np.int32), slots, halves)
        self._note(Embedded(len(rows)))

    def _note(self, note: Note) -> None:
        """Write a note whose loss costs nothing, and let readers see what it stands for."""
        (place,) = self._log.append([notes.pack(note)], sync=False)
        self._waste_note(place, note)
        with self._step:
            self._publish()

    def remove(
        self,
        ids: Sequence[str],
        transcripts: Sequence[Refusal],
        space: int,
        *,
        hashes: Iterable[str] = (),
        erased: bool = False,
    ) -> int:
        """Remove items for good: hidden at once, then taken out of every file. Returns how many were there.

        ``hashes``: of what is refused besides. ``erased``: the user goes next, and has a line in the audit then.
        """
        with self._exclusive(space):
            known = {id: row for id, row in zip(ids, self.table.find(ids, self.table.view), strict=True) if row >= 0}
            rows = [older for row in known.values() for older in self.table.lineage(row)]
            numbers = np.unique(self.table.rows["number"][rows]).tolist() if rows else []
            refused = [*self._refusals.hashes(transcripts), *sorted(set(hashes) - self.table.refused)]
            if numbers:
                self._mark()
            if numbers or refused:
                number, note = self._note_removal(numbers, refused, list(known))
                self._finish()
                if transcripts and not numbers and not erased:
                    self._audit(number, note)  # a copy of the store may have what is refused
            return len(known)

    def _note_removal(
        self, numbers: Sequence[int], hashes: Sequence[str], ids: Sequence[str] = ()
    ) -> tuple[int, Removal]:
        number = self._log.next_number
        note = Removal(numbers, hashes, ids, time.time_ns() // 1_000 if ids else None)
        (place,) = self._log.append([notes.pack(note)])
        self._waste_note(place, note)
        with self._step:
            self._hide(number, note)
            self._publish()
        return number, note

    def _finish(self) -> None:
        """Take what was removed out of every file, and write it down in the audit."""
        if not self._unfinished:
            return
        quarantine.forget(self._rules.root, os.path.basename(self.folder))  # damaged pieces may hold the words too
        cache.discard(self.folder)
        self._kept = 0
        for number, removal in list(self._unfinished.items()):
            if self._vectors is not None:
                self._vectors.erase(np.array(removal.note.numbers, np.int64))
            for segment in sorted(removal.segments & set(self._log.segments)):
                fresh, places = self._log.rewrite(segment, set(removal.note.numbers))
                self._move(fresh, places)
            self._audit(number, removal.note)
            self._note(Finished(number))
            del self._unfinished[number]
        disk.unlink(self._marker)

    def _audit(self, number: int, note: Removal) -> None:
        deed = Deed(
            "forget",
            note.at or time.time_ns() // 1_000,
            self.user_id,
            tuple(note.ids),
            tuple(note.hashes),
            {"items": len(note.ids), "versions": len(note.numbers)},
            auditfile.key_of(os.path.basename(self.folder), self._log.born, number, note.at),
        )
        rules = self._rules
        auditfile.append_locked(rules.root, [deed], rules.keys, durable=rules.durable, timeout=rules.lock_timeout)

    def _mark(self) -> None:
        """Note that this user is to be opened at the next start, should we not come to the end."""
        disk.make_folder(os.path.dirname(self._marker))
        disk.touch(self._marker)

    def is_due(self, *, closing: bool = False) -> bool:
        """Return whether a new cache is worth its writing: it saves the next open from reading new rows again."""
        rows = self.table.view.count
        new = rows - self._kept
        return new >= (max(_LEAST_CLOSING, rows // 100) if closing else max(_LEAST_RUNNING, rows // 16))

    def tend(self, *, closing: bool = False) -> None:
        """Compact what is wasteful, and write the cache if it is due; what fails is a remark, and tried again later."""
        try:
            if self.is_wasteful():
                self.compact(self._space)
                self._remarks.pop("compaction", None)
        except (Vanished, FileNotFoundError):
            return  # the user was removed
        except SiltstoneError as exc:
            self._remarks["compaction"] = f"dead weight was left where it is: {exc}"
        if self.is_due(closing=closing):
            self.keep()

    def keep(self) -> None:
        """Write the cache. Writers wait only while the picture is taken and while the file is written."""
        with self._step:
            self._kept = self.table.view.count  # whatever comes of it, not again at once
        try:
            with self._exclusive(self._space):
                log, rewrites, state = self._log, self._rewrites, self._log.state()
                slots = 0 if self._vectors is None else self._vectors.known
                picture = snapshot.take(self.table)
            values, arrays = snapshot.pack(picture)
            values |= {"log": state, "space": self._space, "slots": slots, "terms": tokenize.VERSION}
            with self._exclusive(self._space):
                if log is not self._log or rewrites != self._rewrites:
                    return  # it would bring back what was removed, or look for what lies elsewhere now
                cache.write(self.folder, values, arrays, self._cipher)
                self._remarks.pop("cache", None)
            found = cache.read(self.folder, self._cipher)
            with self._step:
                same = found is not None and (found[0]["log"], found[0]["count"]) == (state, picture.count)
                if found is not None and same and log is self._log:
                    snapshot.rebase(self.table, picture, found[1])
        except (Vanished, FileNotFoundError):
            return  # the user was removed
        except SiltstoneError as exc:
            self._remarks["cache"] = f"the cache was not written, the next open takes longer: {exc}"

    def mend(self, space: int) -> None:
        """Clear up after a killed writer, unless another one is at work.

        What fails is a remark: reading goes on; a later read, the next write or open tries again.
        """
        if self._rules.writable and self._turns.acquire(blocking=False):
            try:
                if self._lock.try_acquire():
                    try:
                        with self._up_to_date(space):
                            disk.unlink(self._marker)
                    finally:
                        self._lock.release()
            except SiltstoneError as exc:
                self._not_before = time.monotonic() + _PAUSE
                self._remarks["leftovers"] = f"what a killed writer left could not be cleared up: {exc}"
            finally:
                self._turns.release()

    def _vector(self, item: Planned) -> Halves | None:
        if item.vector is not None or item.reuse < 0 or self._vectors is None:
            return item.vector
        found = self._vectors.gather(self.table.rows["slot"][[item.reuse]])[0]
        return None if np.isnan(found[0]) else found

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

    @contextmanager
    def held(self, space: int) -> Iterator[None]:
        """Hold the user's lock while the whole folder is taken away, whether or not it can be read, or written to."""
        with self._locked():
            with suppress(SiltstoneError), self._up_to_date(space):
                pass
            yield

    # --- the whole

    def bytes(self) -> dict[str, int]:
        """Return sizes on disk by part."""
        return {
            "documents": self._log.bytes(),
            "vectors": 0 if self._vectors is None else self._vectors.bytes(),
            "cache": cache.size(self.folder),
        }

    def health(self) -> tuple[str, ...]:
        """Return what was repaired, quarantined or found damaged."""
        remarks = [*self._remarks.values(), *self._cipher.health()]
        if self._unfinished:
            remarks.append(
                f"{len(self._unfinished)} removals have not come to their end: no reader sees what they removed, but "
                "it is still in files, until a read, a write or an open gets it out"
            )
        if self._log.next_number == 1 and disk.is_folder(self.folder) and is_bereft(self.folder, pin_user(self.folder)):
            remarks.append(f"{self.folder}: {GONE} before anything is added")
        for name, start, end in self._log.damage:
            remarks.append(f"{name}: {end - start} bytes at {start} do not check")
        if self._log.unreadable:
            remarks.append(f"{len(self._log.unreadable)} documents do not check any more")
        if self._vectors is not None and self._vectors.bad:
            remarks.append(f"{self._vectors.bad} vectors did not check and are to be embedded again")
        return tuple(remarks)


def _reader(log: Log, user_id: str) -> Callable[[int, int], Stored | None]:
    def read(place: int, number: int) -> Stored | None:
        document = log.load(place, number) if place >= 0 else None
        return None if document is None else decode(orjson.loads(document), user_id, number)

    return read
