"""The half of a user's store that writes files anew: without dead weight, or under another key."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import StoreCorruptedError
from ..index.vectors import FLAT_LIMIT, Rows
from . import compaction
from .files import cache
from .files.notes import Embedded, Note
from .files.segments import Segment
from .files.vectorfile import VectorFile
from .following import Following
from .table.rows import ALIVE

_AT_ONCE: Final = 4_096
"""Vectors copied while writers wait."""


class Rewriting(Following):
    """What ``UserStore`` does to files that are full of what nobody needs any more."""

    @abstractmethod
    def _exclusive(self, space: int) -> AbstractContextManager[None]:
        """Hold the user's lock, with everything read that others wrote, and nothing left half done."""

    @abstractmethod
    def _note(self, note: Note) -> None:
        """Write a note whose loss costs nothing, and let readers see what it stands for."""

    @abstractmethod
    def keep(self) -> None:
        """Write the cache."""

    def _move(self, fresh: Segment, places: Sequence[tuple[int, int]]) -> None:
        """Read from a rewritten segment from now on."""
        with self._step:
            self._log.install(fresh)
            self.table.relocate(fresh.number, places)
            self._rewrites += 1

    def is_wasteful(self) -> bool:
        """Return whether ``compact`` would give back a good part of the disk. O(segments)."""
        return bool(self._log.wasteful(compaction.is_due)) or self._dead_vectors_due()

    def _dead_vectors_due(self) -> bool:
        file = self._vectors
        return file is not None and compaction.is_due(
            (file.used() - self.table.view.total) * file.row_size, file.used() * file.row_size
        )

    def compact(self, space: int, *, whole: bool = False) -> None:
        """Take dead weight out of the files that have much of it, or with ``whole`` out of all.

        Each file is written anew and renamed in: killed at any moment, the store has the old one or the new. Writers
        wait while one file is written, not while it is prepared; readers not at all. O(bytes of those files).
        """
        had_cache = cache.size(self.folder) > 0
        with self._exclusive(space):
            rewrites = self._rewrites
            segments = list(self._log.segments) if whole else self._log.wasteful(compaction.is_due)
        for segment in segments:
            self._compact_documents(segment, space)
        if whole or self._dead_vectors_due():
            for segment in self._dead_vector_segments(space, whole):
                self._compact_vectors(segment, space)
            self._reindex()
        if had_cache and rewrites != self._rewrites:
            self.keep()

    def reseal(self, space: int) -> bool:
        """Write everything anew under a fresh key, and destroy the old one; false if it was due for none.

        Killed at any moment, everything is under one of the two, and the next call goes on. Writers wait while one
        file is written; readers not at all. Raises ``StoreCorruptedError`` for damaged documents: writing them anew
        would lose what could still be saved of them.
        """
        keys = self._rules.keys
        with self._exclusive(space):
            if not keys.turn(self.folder):
                return False
            self._cipher.ready()
            segments = list(self._log.segments)
        for number in segments:
            with self._exclusive(space):
                if not self._log.check(number):
                    raise StoreCorruptedError(
                        f"{self.folder} holds damaged documents; this user keeps the old key and nothing is lost: "
                        f"siltstone verify --repair --store {self._rules.root}, then rekey again"
                    )
                self._move(*self._log.rewrite(number, set()))
        with self._exclusive(space):
            vectors = [] if self._vectors is None else self._vectors.segments()
        for number in vectors:
            self._compact_vectors(number, space)
        with self._exclusive(space):
            cache.discard(self.folder)
            self._kept = 0
            keys.settle(self.folder)
        return True

    def _compact_documents(self, number: int, space: int) -> None:
        """Write a segment anew without dead weight; not at all if something is removed from it meanwhile."""
        with self._exclusive(space):  # every removal is finished now
            log, segment, rewrites = self._log, self._log.segment(number), self._rewrites
            end, rows = segment.end, self.table.rows
            here = np.flatnonzero(rows["place"][: rows.count] >> 32 == number)
            numbers = rows["number"][here]
            items, outdated = set(numbers.tolist()), set(numbers[self.table.outdated()[here]].tolist())
        draft = log.revise(segment, end, lambda frames: compaction.revised(frames, items, outdated))
        if draft is None:
            return
        with self._exclusive(space):
            if rewrites == self._rewrites and log is self._log and (written := log.replace(draft)) is not None:
                self._move(*written)

    def _dead_vector_segments(self, space: int, whole: bool) -> list[int]:
        """Return the vector segments of which half is dead, or with ``whole`` anything."""
        with self._exclusive(space):
            file = self._vectors
            if file is None:
                return []
            live = Counter(file.segment_of(self._live_slots()).tolist())
            dead = {segment: rows - live[segment] for segment, rows in file.counts.items()}
            return [n for n, rows in dead.items() if rows and (whole or 2 * rows >= file.counts[n])]

    def _live_slots(self) -> Rows:
        n = self.table.rows.count
        slots: Rows = self.table.rows["slot"][:n].copy()
        slots[self.table.rows["died"][:n] != ALIVE] = -1
        return slots

    def _compact_vectors(self, segment: int, space: int) -> None:
        """Copy the live rows of a vector segment to another, some at a time, and remove it."""
        while True:
            with self._exclusive(space):
                file = self._vectors
                if file is None or segment not in file.counts:
                    return
                file.leave(segment)
                live = np.flatnonzero(file.segment_of(self._live_slots()) == segment)[:_AT_ONCE]
                if not len(live):
                    file.sync()
                    self._note(Embedded(0))  # others append elsewhere from now on, too
                    with self._step:
                        slots = self.table.rows["slot"][: self.table.rows.count]
                        slots[file.segment_of(slots) == segment] = -1
                    file.give_up(segment)
                    return
                self._copy_vectors(file, live)

    def _copy_vectors(self, file: VectorFile, live: npt.NDArray[np.int64]) -> None:
        rows = self.table.rows
        halves = file.gather(rows["slot"][live])
        good = ~np.isnan(halves[:, 0])
        slots = np.full(len(live), -1, np.int32)  # what does not check is embedded again
        slots[good] = file.append(
            rows["number"][live[good]].tolist(), rows["text_hash"][live[good]].tolist(), halves[good]
        )
        with self._step:
            rows["slot"][live] = slots
            self._rewrites += 1
        self._note(Embedded(len(live)))

    def _reindex(self) -> None:
        """Index live vectors alone, where dead ones are most of a small index; a large one waits for the next open."""
        with self._step:
            index, live = self.table.vectors, self.table.view.total
            if index is not None and live <= FLAT_LIMIT and index.count > 2 * live + _AT_ONCE:
                self.table.vectors = None
                self.table.index_vectors()
                self._publish()
