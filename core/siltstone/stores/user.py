"""One user's folder as it is written: commits, removals, the cache, and the clearing up after killed writers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import numpy as np

from ..errors import SiltstoneError, StoreLockedError
from ..index.vectors import Halves
from ..protocols import Commit, Put, Refusal
from ..text import tokenize
from .files import auditfile, cache, disk, notes
from .files.auditfile import Deed
from .files.notes import Embedded, Finished, Note, Removal
from .files.segments import Vanished
from .maintenance import quarantine
from .maintenance.bereft import GONE, is_bereft
from .maintenance.pinned import pin_user
from .rewriting import Rewriting
from .table import snapshot
from .table.plan import Planned, plan
from .table.table import Table

_LEAST_RUNNING: Final = 2_000
_LEAST_CLOSING: Final = 256
"""New rows after which a cache is written, in small stores; large ones wait for a share of their size."""
_PAUSE: Final = 30.0
"""Seconds for which reads let be what they could not clear up."""


class UserStore(Rewriting):
    """A user's store, for any number of threads; writers of all processes take turns."""

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
                self._note_removal([], sorted(hashes))  # before anything is written where a folder was removed or lost
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

        Whatever does not check goes, too: it may hold what is meant, and nobody can tell.

        ``hashes``: of what is refused besides. ``erased``: the user goes next, and has a line in the audit then.
        """
        with self._exclusive(space):
            known = {id: row for id, row in zip(ids, self.table.find(ids, self.table.view), strict=True) if row >= 0}
            asked = not erased and (bool(ids) or not hashes)
            going = [*known.values(), *(self._unreadable() if asked else ())]
            rows = [older for row in going for older in self.table.lineage(row)]
            numbers = np.unique(self.table.rows["number"][rows]).tolist() if rows else []
            refused = [*self._refusals.hashes(transcripts), *sorted(set(hashes) - self.table.refused)]
            if numbers:
                self._mark()
            if numbers or refused:
                number, note = self._note_removal(numbers, refused, list(known))
                self._finish()
                if transcripts and not numbers and not erased:
                    self._audit(number, note)  # a copy of the store may have what is refused
            if asked:
                self._purge()
                self._log.unreadable.difference_update(numbers)
            return len(known)

    def _unreadable(self) -> list[int]:
        """Return the rows whose documents were found not to check: what is to go may be in them."""
        found = self.table.rows_of(sorted(self._log.unreadable))
        return [row for row in found if row >= 0 and self.table.item(row) is None]

    def _purge(self) -> None:
        """Take all that does not check out of the files; one system call where everything does."""
        kept, damaged = quarantine.forget(self._rules.root, os.path.basename(self.folder)), self._log.damaged()
        if damaged:
            cache.discard(self.folder)
            self._kept = 0
        if self._vectors is not None and (kept or damaged):
            there = self.table.rows["number"][: self.table.rows.count]
            self._vectors.erase(np.setdiff1d(np.arange(1, self._log.next_number), there))
        for segment in sorted(damaged):
            self._move(*self._log.rewrite(segment, set()))

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
                if not log.is_as_read():  # other files have been put here
                    with self._step:
                        self._start_again()
                    return
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
