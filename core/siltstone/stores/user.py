"""One user's folder as it is written: commits, the cache, and the clearing up after killed writers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Final

import numpy as np

from ..errors import ConflictError, SiltstoneError, StoreCorruptedError, StoreLockedError
from ..index.vectors import Halves
from ..protocols import Commit, Put
from ..records import message_id, unique
from ..text import tokenize
from .aftermath import BEFORE, DONE, telling
from .files import cache, disk, links, notes
from .files.notes import Embedded, Note, Removal
from .files.segments import Vanished
from .maintenance.bereft import GONE, is_bereft
from .maintenance.pinned import pin_user
from .moving import Kept, check_place
from .reading import AsBefore
from .removing import Removing
from .table import snapshot
from .table.kept import planned_as_kept
from .table.plan import Planned, plan
from .table.table import Table

_LEAST_RUNNING: Final = 2_000
_LEAST_CLOSING: Final = 64
"""New rows after which a cache is written, in small stores; large ones wait for a share of their size."""
_PAUSE: Final = 30.0
"""Seconds for which reads let be what they could not clear up."""


class UserStore(Removing):
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
        links.refuse(self._rules.root, self.folder)
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
            with telling(BEFORE):
                self._finish()
            if self._log.next_number == 1 and (hashes := self._left()):
                # before anything is written where a folder was removed or lost
                self._note_removal(Removal(hashes=sorted(hashes)))
            self._remarks.pop("leftovers", None)
            yield
        finally:
            self._alone = False

    def commit(
        self,
        puts: Sequence[Put],
        expect: Mapping[str, int] | None,
        space: int,
        dim: int | None,
        *,
        sizes: Mapping[str, int] | None = None,
        remove: Sequence[str] = (),
    ) -> Commit:
        """Write all items or none, and take others out with them; on disk when it returns.

        What goes is hidden by the commit itself, and then taken out as ``remove`` does it: gone is gone, from the
        files too, and named in the audit, so that no older backup brings it back.
        """
        with self._exclusive(space):
            try:
                planned = plan(
                    self.table,
                    puts,
                    expect,
                    refusals=self._refusals,
                    dim=dim or self._dim,
                    first=self._log.next_number,
                    sizes=sizes,
                )
            except ConflictError as exc:
                self._refuse_damaged(expect or {}, sizes or {}, exc)
                raise
            gone = AsBefore(self.table).rows_of(unique(map(message_id, remove)))
            if gone:
                self._mark()
            before = self.table.view.token
            if planned.items or gone:
                self._write(planned.items, gone)
            if gone:
                with telling(DONE):
                    self._finish_removals()
            return Commit(self.table.view.token, planned.skipped, before)

    def _refuse_damaged(self, expect: Mapping[str, int], sizes: Mapping[str, int], exc: ConflictError) -> None:
        """Raise ``StoreCorruptedError`` where what a commit expects is there and does not check: no retry helps."""
        if not (bad := self._unreadable()):
            return
        there = {*self.table.find_all(list(expect)), *(row for name in sizes for row in self.table.in_session(name))}
        if damaged := len(there.intersection(bad)):
            raise StoreCorruptedError(
                f"{self.folder}: of what this write goes on from, {damaged} documents do not check; nothing was "
                f"stored, and the rest is safe: siltstone verify --repair --store {self._rules.root} sets them aside, "
                "then retry"
            ) from exc

    def load(self, kept: Sequence[Kept], after: int, space: int) -> None:
        """Write versions as another store had them, behind the ``after`` versions that are there; see ``moving``."""
        with self._exclusive(space):
            check_place(self.table.rows.count, after, self.user_id)
            self._write(planned_as_kept(self.table, kept, first=self._log.next_number))

    def _write(self, items: Sequence[Planned], gone: Mapping[str, int] = MappingProxyType({})) -> None:
        """Write items, and hide the frames of what goes with the same commit: rows by id."""
        vectors = {at: half for at, item in enumerate(items) if (half := self._vector(item)) is not None}
        halves = np.stack(list(vectors.values())) if vectors else np.empty((0, 0), np.float16)
        slots, known = np.empty(0, np.int32), 0
        if vectors:
            numbers, hashes = [items[at].number for at in vectors], [items[at].text_hash for at in vectors]
            known = self._file(halves.shape[1]).known
            slots = self._file(halves.shape[1]).append(numbers, hashes, halves)
        documents, number = [item.document for item in items], self._log.next_number + len(items)
        if gone:
            note = self._removal(self.table.numbers_of(gone.values()), (), gone)
            documents.append(notes.pack(note))
        try:
            places = self._log.append(documents)
        except SiltstoneError:
            if self._vectors is not None and vectors:
                self._vectors.read_again(known)  # should the documents turn out to be there after all
            raise
        with self._taking_up():
            first = self.table.rows.count
            self._enter([item.at(place) for item, place in zip(items, places, strict=False)])
            self.table.attach(first + np.array(list(vectors), np.int32), slots, halves)
            if gone:
                self._waste_note(places[-1], note)
                self._hide(number, note)
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
        with self._taking_up():
            self.table.attach(np.array(rows, np.int32), slots, halves)
        self._note(Embedded(len(rows)))

    def _note(self, note: Note) -> None:
        """Write a note whose loss costs nothing, and let readers see what it stands for."""
        (place,) = self._log.append([notes.pack(note)], sync=False)
        with self._taking_up():
            self._waste_note(place, note)
            self._publish()

    def is_due(self, *, closing: bool = False) -> bool:
        """Return whether a new cache is worth its writing: it saves the next open from reading new rows again.

        What is forgotten takes the cache with it: while more may be, a new one waits for what is added, or for the
        table to be cleared of so much.
        """
        rows = self.table.view.count
        if closing:
            new = rows - self._kept if cache.size(self.folder) else rows
            return new >= max(_LEAST_CLOSING, rows // 100)
        return rows - self._kept >= max(_LEAST_RUNNING, rows // 16) or self.table.is_hollow

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
        """Write the cache. Writers wait only while the picture is taken and while the file is written.

        Where most rows are of what has gone, they are left out of the table first: a process that runs for long, over
        a store in which much comes and goes, would otherwise grow with all that ever came.
        """
        with self._step:
            self._kept = self.table.view.count  # whatever comes of it, not again at once
        try:
            with self._exclusive(self._space):
                if self.table.is_hollow and not self._unplanned:
                    self._condense()
                    self._kept = self.table.view.count
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
            links.refuse(self._rules.root, self.folder)
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
        if self._unplanned:
            remarks.append(
                f"{len(self._unplanned)} removals broke off before what rests on what they removed was found: that may "
                "be seen until a read, a write or an open finds it"
            )
        if self._unfinished:
            remarks.append(
                f"{len(self._unfinished)} removals have not come to their end: no reader sees what they removed, but "
                "it is still in files, until a read, a write or an open gets it out"
            )
        remarks += self.losses()
        if self._vectors is not None and self._vectors.bad:
            remarks.append(f"{self._vectors.bad} vectors did not check and are to be embedded again")
        return tuple(remarks)

    def losses(self) -> list[str]:
        """Return which documents cannot be read."""
        lost: list[str] = []
        if self._log.next_number == 1 and disk.is_folder(self.folder) and is_bereft(self.folder, pin_user(self.folder)):
            lost.append(f"{self.folder}: {GONE} before anything is added")
        for name, start, end in self._log.damage:
            lost.append(f"{name}: {end - start} bytes at {start} do not check")
        if self._log.unreadable:
            lost.append(f"{len(self._log.unreadable)} documents do not check any more")
        return lost
