"""The documents of one user: each frame, their order, each commit, each item; and what the rest must agree with."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import orjson

from ....protocols import Stored
from ....reports import Finding, Severity
from ...encryption.cipher import Cipher
from ...files import notes
from ...files.codec import decode
from ...files.frames import HEAD, Damage, Frame, is_unfinished, scan_file
from ...files.layout import segment_name
from ...files.notes import Finished, Meant, Note, Removal, Successor
from ...table.rows import RECORD, Row, row_of
from ..pinned import Pinned
from .gaps import Gaps

_HASH: Final = re.compile(r"[0-9a-f]{24}")
_ENDING: Final = re.compile(rb"\.([0-9a-f]+) ")
"""What begins, behind its checksum, a frame that ends a commit."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Item:
    """A document that decodes."""

    number: int
    stored: Stored
    row: Row

    @property
    def id(self) -> str:
        """The id under which it is kept."""
        return self.stored.id


@dataclass
class Documents:
    """What the documents of a user are, as far as they can be read.

    ``pieces``: file, start and end of what is to be quarantined; ``bad``: numbers, by segment, of frames that check and
    are not to be kept; ``headless``: segments that do not name their user; ``announced``: which segment each says that
    follows; ``awaited``: the one that the last one says follows, and that is not there; ``removals``: the numbers that
    each removal takes out; ``removed``: those of them that are still there; ``told``: what of ``refused`` the audit
    must name by now, and ``untold`` the rest, by removals whose lines are written when somebody goes on with them;
    ``cut``: the number of an unfinished frame at the end that was to end its commit.
    """

    user_id: str | None = None
    born: str = ""
    last: int = 0
    refused: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    pieces: list[tuple[str, int, int]] = field(default_factory=list)
    bad: dict[int, set[int]] = field(default_factory=dict)
    headless: set[int] = field(default_factory=set)
    awaited: int = 0
    cut: int = 0
    announced: dict[int, int] = field(default_factory=dict)
    numbers: array[int] = field(default_factory=lambda: array("q"))
    origins: array[int] = field(default_factory=lambda: array("q"))
    hashes: array[int] = field(default_factory=lambda: array("q"))
    removed: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    removals: dict[int, tuple[int, ...]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    untold: dict[int, Sequence[str]] = field(default_factory=dict)

    def alive(self, before: int) -> tuple[Ints, Ints]:
        """Return number and text hash (0: no record) of the newest versions among the frames below a number."""
        numbers, origins, hashes = (np.array(each, np.int64) for each in (self.numbers, self.origins, self.hashes))
        removed = [n for at, gone in self.removals.items() if at < before for n in gone]
        kept = (numbers < before) & ~np.isin(numbers, removed)
        numbers, origins, hashes = numbers[kept], origins[kept], hashes[kept]
        order = np.lexsort((numbers, origins))
        newest = np.ones(len(order), np.bool_)
        newest[:-1] = origins[order][1:] != origins[order][:-1]
        some = np.sort(order[newest])
        return numbers[some], hashes[some]


class DocumentCheck:
    """Reads the segments one by one; a segment is in memory as a whole, 64 MB, and no two of them at once."""

    def __init__(self, folder: str, segments: Sequence[Pinned], cipher: Cipher) -> None:
        """``folder`` is how the user's folder is named in findings."""
        self._folder, self._segments, self._cipher = folder, segments, cipher
        self._before = 0  # the last number of the segments before
        self.found = Documents()
        self._gaps = Gaps(self.found.findings)

    def items(self) -> Iterator[Item]:
        """Yield the items that can be read; when it ends, ``found`` is whole."""
        numbers = [each.segment or 0 for each in self._segments]
        before = 0
        for pinned, number in zip(self._segments, numbers, strict=True):
            self._expect(before, number)
            yield from self._segment(pinned, number, is_last=number == numbers[-1])
            before = number
        self._expect(before, None)
        self._gaps.close()
        self._look_for_forgotten()

    def _segment(self, pinned: Pinned, segment: int, *, is_last: bool) -> Iterator[Item]:
        pending, headed = 0, not pinned.size
        self._before = self.found.last
        for piece in scan_file(pinned.file.read, 0, pinned.size, self._cipher):
            if isinstance(piece, Damage):
                pending = self._damage(pinned, piece, is_last=is_last) and pending
                continue
            pending = 0 if piece.last else pending + 1
            if piece.number:
                yield from self._frame(pinned, segment, piece)
            elif not headed:
                headed = self._header(pinned, segment, piece)
        if not headed:
            self.found.headless.add(segment)
            self._tell("lost", pinned, "it does not name its user", "writes the head anew")
        if pending and is_last:
            self._tell("cosmetic", pinned, "it ends with a commit that was never finished", "cuts it off")
        elif pending:
            self._tell("lost", pinned, f"the end of a commit is missing: {pending} documents of it are not read")

    def _damage(self, pinned: Pinned, piece: Damage, *, is_last: bool) -> bool:
        data = pinned.file.read(piece.start, piece.end - piece.start)
        if piece.tail and is_last and is_unfinished(data):
            ending = _ENDING.match(data, HEAD)
            self.found.cut = int(ending[1], 16) if ending else 0
            self._tell("cosmetic", pinned, "it ends with a write that was never finished", "cuts it off", piece)
            return True
        self.found.pieces.append((pinned.name, piece.start, piece.end))
        what = f"{piece.end - piece.start} bytes at {piece.start} are no document that checks"
        self._tell("lost", pinned, what, "quarantines them", piece)
        self._gaps.note(data)
        return False

    def _header(self, pinned: Pinned, segment: int, piece: Frame) -> bool:
        head = orjson.loads(piece.document)
        known = self.found
        if known.user_id is not None and (head["user"], head["born"]) != (known.user_id, known.born):
            self._tell("lost", pinned, f"it is of another user, {head['user']!r}, or of an earlier life of this one")
        elif head["segment"] != segment:
            self._tell("lost", pinned, f"it is segment {head['segment']} under another name")
        else:
            known.user_id, known.born = head["user"], head["born"]
        return True

    def _frame(self, pinned: Pinned, segment: int, piece: Frame) -> Iterator[Item]:
        known = self.found
        if piece.number <= known.last:
            what = f"document {piece.number} comes after {known.last}: it is doubled, or at a wrong place"
            if piece.number <= self._before:
                self._reject(pinned, segment, piece, what)
            else:
                self._tell("lost", pinned, what)
            return
        known.last = piece.number
        try:
            document = orjson.loads(piece.document)
            if "i" in document:
                item = decode(document, known.user_id or "")
                row = row_of(item)
                known.numbers.append(piece.number)
                known.origins.append(document.get("o", piece.number))
                known.hashes.append(row.cells["text_hash"] if row.cells["flags"] & RECORD else 0)
                self._gaps.see(piece.number, item)
                yield Item(piece.number, item, row)
            else:
                self._note(segment, piece.number, notes.unpack(document))
                self._gaps.see(piece.number, None)
        except (ValueError, KeyError, TypeError, AttributeError):  # it checks, and yet nobody can have written it so
            self._reject(pinned, segment, piece, f"document {piece.number} is none that siltstone writes")
            self._gaps.note()

    def _reject(self, pinned: Pinned, segment: int, piece: Frame, what: str) -> None:
        self.found.bad.setdefault(segment, set()).add(piece.number)
        self.found.pieces.append((pinned.name, piece.start, piece.end))
        self._tell("lost", pinned, what, "quarantines it", Damage(piece.start, piece.end, False))

    def _note(self, segment: int, number: int, note: Note | None) -> None:
        known = self.found
        if note is None:
            raise ValueError
        if isinstance(note, Meant):
            if any(gone >= number for gone in note.numbers):
                raise ValueError
        elif isinstance(note, Removal):
            if any(gone >= number for gone in note.numbers) or not all(map(_HASH.fullmatch, note.hashes)):
                raise ValueError
            known.refused.update(note.hashes)
            known.removals[number] = tuple(note.numbers)
            if note.is_told:
                known.untold[number] = note.hashes
            else:
                known.told.update(note.hashes)
        elif isinstance(note, Finished):
            known.finished.add(note.removal)
            known.told.update(known.untold.pop(note.removal, ()))
        elif isinstance(note, Successor):
            known.announced[segment] = note.segment

    def _expect(self, number: int, following: int | None) -> None:
        """Compare the segment that comes behind another one (``None``: none does) with the one announced there."""
        announced = self.found.announced.get(number, number + 1 if following is not None else None)
        if announced is None or announced == following:
            return
        if following is None:
            self.found.awaited = announced
        else:
            path = f"{self._folder}/{segment_name(announced)}"
            repair = f"says in {segment_name(number or announced)} that {following} follows"
            self._say(Finding("lost", path, "it is missing", repair, self.found.user_id))
            self._gaps.note()

    def _look_for_forgotten(self) -> None:
        known = self.found
        gone = {number for at, numbers in known.removals.items() if at in known.finished for number in numbers}
        left = gone.intersection(known.numbers)
        if left:
            what = f"{len(left)} documents that were forgotten are still there"
            self._say(Finding("exposed", self._folder, what, "takes them out", known.user_id))
        known.removed = left

    def _tell(
        self, severity: Severity, pinned: Pinned, what: str, repair: str = "", piece: Damage | None = None
    ) -> None:
        start, end = (0, 0) if piece is None else (piece.start, piece.end)
        path = f"{self._folder}/{pinned.name}"
        self._say(Finding(severity, path, what, repair, self.found.user_id, start, end))

    def _say(self, finding: Finding) -> None:
        self.found.findings.append(finding)
