"""The vectors of one user on disk: fixed rows of number, text hash, checksum and float16 values.

A row names the frame whose record it belongs to and the hash of that record's text. Rows are only appended; a slot
is never used twice. A row that does not check, or does not fit its record, is ignored and embedded again. Vectors
can be made anew from the documents, so that their rows need no sync of their own.

A segment with many dead rows is given up: the others are appended again, and of two rows for one frame the later
counts. Whoever has the file mapped goes on reading there until they have seen the copies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from ...index.distinct import distinct
from ...index.vectors import Halves, Rows
from ..encryption.cipher import PLAIN, Cipher
from ..maintenance.pinned import Pinned
from . import disk
from .disk import File

_NAME: Final = re.compile(r"vectors\.(\d{4})x(\d+)\.(\d{6})\.f16")
_SEGMENT_SIZE: Final = 64 << 20
_EXAMINED: Final = 4_096
"""Rows examined at once."""
_SLOT_BITS: Final = 16
"""A slot is the segment, and the row in it in so many bits."""


@dataclass(frozen=True)
class VectorRows:
    """Rows of the file: slots, numbers of frames, text hashes ``(n,)``, float16 vectors ``(n, dim)``."""

    slots: Rows
    numbers: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.int64]
    halves: Halves


class VectorFile:
    """The vector segments of one user and one embedding space of width ``dim``."""

    def __init__(self, folder: str, space: int, dim: int, *, writable: bool, cipher: Cipher = PLAIN) -> None:
        self.space, self.dim = space, dim
        self._folder, self._writable, self._cipher = folder, writable, cipher
        self._body, self._row = _row_types(dim, cipher)
        self._most = max(1_024, min(1 << _SLOT_BITS, _SEGMENT_SIZE // self._row.itemsize))
        self._files: dict[int, File] = {}
        self._maps: dict[int, npt.NDArray[Any]] = {}
        self._good: dict[int, npt.NDArray[np.bool_]] = {}  # rows that have been checked once
        self._counts: dict[int, int] = {}  # rows of each segment, as far as known
        self._last = -1  # segment to append to
        self._read = 0
        self.bad = 0

    def append(self, numbers: Sequence[int], hashes: Sequence[int], halves: Halves) -> Rows:
        """Append rows and return their slots. Needs the user's lock."""
        rows = np.zeros(len(numbers), self._row)
        bodies = np.empty(len(numbers), self._body)
        bodies["hash"], bodies["half"] = hashes, halves
        rows["number"] = numbers
        rows["body"] = self._cipher.seal_rows(self.space, rows["number"], bodies.view(f"V{self._body.itemsize}"))
        size = self._row.itemsize
        data = rows.tobytes()
        rows["crc"] = [crc32(data[i * size + 4 : (i + 1) * size]) for i in range(len(rows))]
        slots: list[int] = []
        while len(slots) < len(rows):
            segment, start = self._place()
            some = rows[len(slots) : len(slots) + self._most - start]
            self._file(segment, create=True).write(some.tobytes(), start * size)
            self._read = (segment << _SLOT_BITS | start) + len(some)  # all before it was read under the lock
            self._counts[segment] = start + len(some)
            slots.extend(range(segment << _SLOT_BITS | start, (segment << _SLOT_BITS | start) + len(some)))
        return np.array(slots, np.int32)

    def _place(self) -> tuple[int, int]:
        """Return the segment to append to and the row to begin with, behind anything torn."""
        if self._last < 0:
            self._last = max(self.segments(), default=0)
        while (used := -(-self._file(self._last, create=True).size // self._row.itemsize)) >= self._most:
            self._last += 1
        return self._last, used

    def sync(self) -> None:
        """Return when all rows are on disk."""
        for file in list(self._files.values()):  # a reader may open another one meanwhile
            file.sync()

    def news(self) -> list[VectorRows]:
        """Return the rows that check and were appended since the last call."""
        found: list[VectorRows] = []
        segments = self.segments()
        self._last = max(segments, default=self._last)
        for gone in set(self._counts) - set(segments):
            self._let_go(gone)
        for segment in segments:
            start = max(0, self._read - (segment << _SLOT_BITS))
            if start >= self._most:
                continue
            try:
                rows = self._mapped(segment)[start:]
            except FileNotFoundError:  # given up since: what lived there lies further on
                return found + self.news()
            self._counts[segment] = start + len(rows)
            if len(rows):
                found.append(self._checked(rows, segment << _SLOT_BITS | start))
                self._read = (segment << _SLOT_BITS) + start + len(rows)
        return found

    def skip(self, slots: int) -> set[int]:
        """Begin ``news`` behind these slots, which a cache knows; return the segments that are there."""
        self._read = slots
        for segment in self.segments():
            with suppress(FileNotFoundError):
                self._counts[segment] = self._file(segment).size // self._row.itemsize
        return set(self._counts)

    def read_again(self, slots: int) -> None:
        """Let ``news`` begin at these slots once more."""
        self._read = slots

    def segment_of(self, slots: Rows) -> Rows:
        """Return the segments in which slots lie, -1 for none."""
        return slots >> _SLOT_BITS

    @property
    def counts(self) -> dict[int, int]:
        """Rows of each segment, dead ones included, as far as they are known."""
        return dict(self._counts)

    def used(self) -> int:
        """Rows of all segments. O(segments)."""
        return sum(list(self._counts.values()))

    @property
    def known(self) -> int:
        """Slots that ``news`` has been through."""
        return self._read

    def gather(self, slots: Rows) -> Halves:
        """Return the vectors at slots, ``(n, dim)``; nan where a row does not check."""
        out: Halves = np.empty((len(slots), self.dim), np.float16)
        segments = slots >> _SLOT_BITS
        for segment in distinct(segments).tolist():
            here = np.flatnonzero(segments == segment)
            index = slots[here] & ((1 << _SLOT_BITS) - 1)
            try:
                mapped = self._mapped(segment, int(index.max()) + 1)
            except FileNotFoundError:  # given up since: whoever asks looks again where the rows lie
                out[here] = np.nan
                continue
            rows = mapped[index]
            good = self._check_once(segment, rows, index)
            bodies, whole = self._opened(rows)
            good &= whole
            out[here] = bodies["half"]
            if not good.all():
                out[here[~good]] = np.nan
        return out

    def _check_once(self, segment: int, rows: npt.NDArray[Any], index: Rows) -> npt.NDArray[np.bool_]:
        """Return which rows of a segment check, ``(n,)``; ``index`` says which they are."""
        known = self._good.setdefault(segment, np.zeros(self._most, np.bool_))
        good: npt.NDArray[np.bool_] = known.take(index)
        new = np.flatnonzero(~good)
        if len(new):
            fresh = rows if len(new) == len(rows) else rows[new]
            good[new] = checked = _check(fresh)
            known[index[new]] = checked
            self.bad += int(np.count_nonzero(~checked & (fresh["number"] != 0)))
        return good

    def leave(self, segment: int) -> None:
        """Append elsewhere from now on, since this segment is to be given up. Needs the user's lock."""
        self._last = max(self.segments())
        if self._last == segment:  # a number is not used again, so another file comes first
            self._last += 1
            self._file(self._last, create=True)
            disk.sync_folder(self._folder)

    def give_up(self, segment: int) -> None:
        """Remove a segment whose rows are dead, or copied and on disk. Needs the user's lock."""
        disk.unlink(self._path(segment))
        self._let_go(segment)

    def _let_go(self, segment: int) -> None:
        for known in (self._counts, self._files, self._maps, self._good):
            known.pop(segment, None)

    def erase(self, numbers: npt.NDArray[np.int64]) -> None:
        """Overwrite the rows of these frames with zeros, on disk when it returns. Needs the user's lock."""
        size = self._row.itemsize
        for segment in self.segments():
            rows = np.flatnonzero(np.isin(self._mapped(segment)["number"], numbers))
            for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
                self._file(segment).write(bytes(size * len(run)), int(run[0]) * size)
            if len(rows):
                self._file(segment).sync()

    def behind(self) -> bool:
        """Return whether rows lie there that ``news`` has not been through. Needs the user's lock. O(segments)."""
        last = max(self.segments(), default=-1)
        if last < 0:
            return False
        rows = -(-self._file(last).size // self._row.itemsize)
        return rows > 0 and (last << _SLOT_BITS) + rows != self._read

    def blank(self, slots: Rows) -> None:
        """Overwrite rows with zeros, and fill up one that the file ends in. Needs the user's lock.

        On disk when it returns.
        """
        size = self._row.itemsize
        last = max(self.segments(), default=-1)
        torn = last >= 0 and self._file(last).size % size > 0
        if torn:
            slots = np.append(slots, (last << _SLOT_BITS) + self._file(last).size // size)
        segments = slots >> _SLOT_BITS
        for segment in distinct(segments).tolist():
            for row in (slots[segments == segment] & ((1 << _SLOT_BITS) - 1)).tolist():
                self._file(segment).write(bytes(size), row * size)
            self._file(segment).sync()

    def segments(self) -> list[int]:
        """Return the numbers of the segments that exist, ascending."""
        return sorted(number for number, space, _, _ in listed(self._folder) if space == self.space)

    def bytes(self) -> int:
        """Size on disk."""
        return self.used() * self.row_size

    @property
    def row_size(self) -> int:
        """Bytes of a row."""
        return self._row.itemsize

    def _checked(self, rows: npt.NDArray[Any], first: int) -> VectorRows:
        slots = np.arange(first, first + len(rows), dtype=np.int32)
        good = _check(rows)
        blank = rows["number"] == 0  # erased, or never written
        self.bad += int(np.count_nonzero(~good & ~blank))
        good &= ~blank
        bodies, whole = self._opened(rows[good])
        self.bad += int(np.count_nonzero(~whole))
        bodies, slots = bodies[whole], slots[good][whole]
        return VectorRows(slots, rows["number"][good][whole], bodies["hash"], np.ascontiguousarray(bodies["half"]))

    def _opened(self, rows: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        bodies, good = self._cipher.open_rows(self.space, rows["number"], rows["body"])
        return bodies.view(self._body), good

    def _path(self, segment: int) -> str:
        return os.path.join(self._folder, f"vectors.{self.space:04d}x{self.dim}.{segment:06d}.f16")

    def _file(self, segment: int, *, create: bool = False) -> File:
        file = self._files.get(segment)
        if file is None:
            file = self._files[segment] = File(self._path(segment), write=self._writable, create=create)
        return file

    def _mapped(self, segment: int, least: int = -1) -> npt.NDArray[Any]:
        """Return the rows of a segment, mapped; at least the first ``least``, or all."""
        mapped = self._maps.get(segment)
        if mapped is None or least < 0 or len(mapped) < least:
            file = self._file(segment)
            count = file.size // self._row.itemsize
            if mapped is None or len(mapped) < count:
                empty: npt.NDArray[Any] = np.empty(0, self._row)
                mapped = np.frombuffer(file.mapped(count * self._row.itemsize), self._row) if count else empty
                self._maps[segment] = mapped
        return mapped


@dataclass(frozen=True)
class Examined:
    """Some rows as they lie there: which do not check, what they name, and whether the file ends within a row."""

    bad: npt.NDArray[np.bool_]
    numbers: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.int64]
    torn: bool


def examine(pinned: Pinned, cipher: Cipher) -> Iterator[tuple[int, Examined]]:
    """Yield the rows of a file, a bounded number at once, each time after the number of the first."""
    space, dim, _ = parts_of(pinned.name)
    body, dtype = _row_types(dim, cipher)
    count, rest = divmod(pinned.size, dtype.itemsize)
    for first in range(0, count or 1, _EXAMINED):
        some = min(_EXAMINED, count - first) * dtype.itemsize
        for _ in range(2):  # a row that is being erased right now is whole, or blank, the next time
            rows = np.frombuffer(pinned.file.read(first * dtype.itemsize, some), dtype)
            bad = ~_check(rows) & (rows["number"] != 0)
            if not bad.any():
                break
        bodies, whole = cipher.open_rows(space, rows["number"], rows["body"])
        bad |= ~whole & (rows["number"] != 0)
        yield first, Examined(bad, rows["number"], bodies.view(body)["hash"], rest > 0)


def blank(path: str, rows: Sequence[int], cipher: Cipher) -> None:
    """Overwrite rows with zeros, and fill up a row that the file ends in; on disk when it returns."""
    size = _row_types(parts_of(os.path.basename(path))[1], cipher)[1].itemsize
    file = File(path, write=True)
    if file.size % size:
        rows = [*rows, file.size // size]
    for row in rows:
        file.write(bytes(size), row * size)
    file.sync()


def parts_of(name: str) -> tuple[int, int, int]:
    """Return embedding space, width and segment of a file's name."""
    match = _NAME.fullmatch(name)
    assert match is not None
    return int(match[1]), int(match[2]), int(match[3])


def listed(folder: str) -> list[tuple[int, int, int, str]]:
    """Return segment, space, width and path of the vector files in a user's folder."""
    found = [(match, name) for name in disk.names(folder) if (match := _NAME.fullmatch(name))]
    return [(int(m[3]), int(m[1]), int(m[2]), os.path.join(folder, name)) for m, name in found]


def drop_older(folder: str, space: int) -> None:
    """Remove the vector files of earlier embedding spaces; a link stays, for removing it leaves what it leads to."""
    for _, other, _, path in listed(folder):
        if other < space and not disk.is_link(path):
            disk.unlink(path)


def _row_types(dim: int, cipher: Cipher) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return what a row holds, and the row as it lies in the file."""
    body = np.dtype([("hash", "<i8"), ("half", "<f2", (dim,))])
    sealed = f"V{body.itemsize + cipher.extra}"
    return body, np.dtype([("crc", "<u4"), ("zero", "<u4"), ("number", "<i8"), ("body", sealed)])


def _check(rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    size = rows.dtype.itemsize
    whole: Any = np.ascontiguousarray(rows).view(np.uint8)
    data = memoryview(whole)
    sums = [crc32(data[i + 4 : i + size]) for i in range(0, len(data), size)]
    good: npt.NDArray[np.bool_] = np.array(sums, np.uint32) == rows["crc"]
    return good
