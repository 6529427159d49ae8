"""The half of a user's store that takes items out of it, for good.

A note in the log hides their frames from every reader at once. Then they go from all files, with what does not check,
and the audit names them, so that no older backup brings them back. Whoever holds the lock next goes on with what a
killed process began.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext

import numpy as np

from ..protocols import Refusal
from ..records import ForgetReport
from . import cascade, compaction
from .aftermath import DONE, telling
from .files import auditfile, cache, disk, notes
from .files.auditfile import Deed
from .files.hashedids import hashed_id, told_apart
from .files.notes import Finished, Meant, Removal
from .maintenance import quarantine
from .reading import AsBefore
from .rewriting import Rewriting
from .table.rows import MESSAGE


class Removing(Rewriting):
    """What ``UserStore`` does to forget."""

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
            known = AsBefore(self.table).rows_of(ids)
            asked = not erased and (bool(ids) or not hashes)
            numbers = self.table.numbers_of([*known.values(), *(self._unreadable() if asked else ())])
            refused = [*self._refusals.hashes(transcripts), *sorted({h for h in hashes if h not in self.table.refused})]
            if numbers or refused:
                self._take_out(numbers, refused, known, tell=bool(transcripts) and not erased)
            if asked:
                with telling(DONE):
                    self._purge()
            return len(known)

    def forget(self, ids: Sequence[str], space: int, *, named: bool) -> ForgetReport:
        """Remove items for good with what rests on them: they are hidden at once, the rest when it has been found.

        Killed in between, or without room on the disk, whoever gets the lock next goes on. Until then, a process that
        reads meanwhile sees what rests on them still, unless it may only read: it looks for that itself. Whatever
        does not check goes, too.
        """
        with self._exclusive(space):
            meant = Meant(self.table.numbers_of(AsBefore(self.table).rows_of(ids).values()), ids, named)
            number = self._note_meant(meant) if meant.numbers else None
            with nullcontext() if number is None else telling(DONE):
                going = self._carry_out(meant, number)
            with telling(DONE):
                self._purge()
            return going.report

    def _note_meant(self, meant: Meant) -> int:
        self._mark()
        number = self._log.next_number
        (place,) = self._log.append([notes.pack(meant)])
        with self._taking_up():
            self._waste_note(place, meant)
            self._set_apart(number, place, meant)
            self._publish()
        return number

    def _carry_out(self, meant: Meant, number: int | None) -> cascade.Going:
        """Find what goes with what is meant, hidden by the note of that number, and take all of it out."""
        going, rows = self._goes(meant, [] if number is None else self._unplanned[number].rows)
        along = self.table.numbers_of([*rows.values(), *self._unreadable()])
        numbers, refused = sorted({*meant.numbers, *along}), self._refusals.hashes(going.refusals)
        if numbers or refused:
            self._take_out(numbers, refused, rows, tell=True, meant=number)
        return going

    def _take_out(
        self,
        numbers: Sequence[int],
        refused: Sequence[str],
        known: Mapping[str, int],
        *,
        tell: bool,
        meant: int | None = None,
    ) -> None:
        """Write down what goes and what is refused, and take it out of every file.

        ``known``: the rows of the items, by id. ``tell`` the audit even where none goes: a copy of the store may have
        what is refused.
        """
        if meant is None and (numbers or tell):
            self._mark()
        self._note_removal(self._removal(numbers, refused, known, meant, tell=tell))
        with telling(DONE):
            self._finish_removals()
        self._log.unreadable.difference_update(numbers)

    def _unreadable(self) -> list[int]:
        """Return the rows whose documents were found not to check: what is to go may be in them."""
        found = self.table.rows_of(sorted(self._log.unreadable))
        return [row for row in found if row >= 0 and self.table.item(row) is None]

    def _purge(self) -> None:
        """Take all that does not check out of the files; one system call where everything does."""
        kept, damaged = quarantine.forget(self._rules.root, os.path.basename(self.folder)), self._log.damaged()
        if damaged:
            cache.discard(self.folder)
        if self._vectors is not None and (kept or damaged):
            there = self.table.rows["number"][: self.table.rows.count]
            self._vectors.erase(np.setdiff1d(np.arange(1, self._log.next_number), there))
        for segment in sorted(damaged):
            self._move(*self._log.rewrite(segment, set()))

    def _removal(
        self,
        numbers: Sequence[int],
        hashes: Sequence[str],
        known: Mapping[str, int],
        meant: int | None = None,
        *,
        tell: bool = False,
    ) -> Removal:
        """Return the note that takes out frames; ``known``: the rows of the items that they are of, by id.

        With ``tell``, or where there are such items, it has a line in the audit before it is finished.
        """
        worded = {id for id, row in known.items() if self._tells_words(row)}
        ids = [id for id in known if id not in worded]
        hashed = [hashed_id(self._key, id) for id in known if id in worded]
        at = time.time_ns() // 1_000 if known or tell else None
        return Removal(numbers, hashes, ids, at, meant, hashed)

    def _note_removal(self, note: Removal) -> None:
        """Let nobody see some frames any more."""
        number = self._log.next_number
        (place,) = self._log.append([notes.pack(note)])
        with self._taking_up():
            self._waste_note(place, note)
            self._hide(number, note)
            self._publish()

    def _tells_words(self, row: int) -> bool:
        """Return whether an item's id may follow from words: it was made of others, or cannot be read."""
        if self.table.rows["flags"][row] & MESSAGE:
            return False
        item = self.table.item(row)
        return item is None or item.record is None or bool(item.record.source_ids)

    def _finish(self) -> None:
        """Go on with what a killed process was about to remove."""
        self._finish_removals()
        for number, hidden in list(self._unplanned.items()):
            self._carry_out(hidden.note, number)

    def _finish_removals(self) -> None:
        """Take what was removed out of every file, and write it down in the audit: all that waits at once."""
        waiting = dict(self._unfinished)
        if not waiting:
            return
        numbers = {number for removal in waiting.values() for number in removal.note.numbers}
        if numbers:
            quarantine.forget(self._rules.root, os.path.basename(self.folder))  # damaged pieces may hold the words too
            cache.discard(self.folder)
            if self._vectors is not None:
                self._vectors.erase(np.array(sorted(numbers), np.int64))
        places = {number: place for removal in waiting.values() for number, place in removal.places.items()}
        anew = {place >> 32 for place in places.values()}.intersection(self._log.wasteful(compaction.is_cheap))
        anew.update(segment for removal in waiting.values() for segment in removal.damaged)
        anew |= self._log.blank({number: place for number, place in places.items() if place >> 32 not in anew})
        for segment in sorted(anew.intersection(self._log.segments)):
            self._move(*self._log.rewrite(segment, numbers))
        rules = self._rules
        deeds = [self._deed(number, removal.note) for number, removal in waiting.items()]
        auditfile.append_locked(rules.root, deeds, rules.keys, durable=rules.durable, timeout=rules.lock_timeout)
        for number in waiting:
            self._note(Finished(number))
            del self._unfinished[number]
        disk.unlink(self._marker)

    def _deed(self, number: int, note: Removal) -> Deed:
        ids, hashed = (note.ids, note.hashed) if note.hashed is not None else told_apart(self._key, note.ids)
        return Deed(
            "forget",
            note.at or time.time_ns() // 1_000,
            self.user_id,
            tuple(ids),
            tuple(note.hashes),
            {"items": len(ids) + len(hashed), "versions": len(note.numbers)},
            auditfile.key_of(os.path.basename(self.folder), self._log.born, number, note.at),
            tuple(hashed),
        )

    def _mark(self) -> None:
        """Note that this user is to be opened at the next start, should we not come to the end."""
        disk.make_folder(os.path.dirname(self._marker))
        disk.touch(self._marker)
