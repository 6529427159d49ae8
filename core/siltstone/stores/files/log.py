"""The documents of one user on disk: numbered segments of framed lines, the truth of the store.

``docs.000001.jsonl`` begins with a frame of number 0 that names the user; frames of documents count from 1 through
all segments. Only the last segment grows; its successor is announced in its last frame.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, Final
from zlib import crc32

import orjson

from ...errors import SiltstoneError
from ..encryption.cipher import PLAIN, Cipher
from . import disk, notes
from .disk import File
from .frames import HEAD, Damage, Frame, frame, is_unfinished, parse, scan, scan_file, size_of
from .headers import misplaced
from .layout import segment_name, segment_numbers
from .notes import Successor
from .segments import Draft, News, Segment, Vanished

_FIRST_READ: Final = 1_024
"""Bytes read at once for one document; most fit."""
_LEAST_BLANK: Final = 8
_SEALINGS: Final = 1_000
"""Tries for the length of a sealed document: some ten suffice for one of 300 bytes, a hundred for one of 64 KB."""


class Log:
    """The segments of one user. Appending, repairing and rewriting need the user's lock."""

    def __init__(
        self,
        folder: str,
        user_id: str,
        *,
        durable: bool,
        writable: bool,
        segment_size: int,
        cipher: Cipher = PLAIN,
    ) -> None:
        """``segment_size``: bytes after which a new segment is begun."""
        self._folder, self._user_id, self._cipher = folder, user_id, cipher
        self._durable, self._writable, self._segment_size = durable, writable, segment_size
        self._segments: dict[int, Segment] = {}
        self.fresh_segment = False
        self.next_number = 1
        self.born = ""
        self.torn = False
        self.damage: list[tuple[str, int, int]] = []
        self.unreadable: set[int] = set()
        self._dead: dict[int, int] = {}

    # --- reading

    def state(self) -> dict[str, Any]:
        """Return how far the log has been read, for ``resume``."""
        return {
            "born": self.born,
            "next": self.next_number,
            "segments": [
                [s.number, s.end, s.sealed, s.ragged, s.passes, s.start, s.head.hex()] for s in self._segments.values()
            ],
            "damage": self.damage,
            "dead": list(self._dead.items()),
        }

    def resume(self, state: Mapping[str, Any]) -> bool:
        """Go on from a state, without reading what lies before it; false if these are not the same files."""
        found: dict[int, Segment] = {}
        newest = max(segment_numbers(self._folder), default=0)
        for number, end, sealed, ragged, passes, start, head in state["segments"]:
            try:
                segment = self._open(number)
            except FileNotFoundError:
                return False
            segment.end, segment.start, segment.head = end, start, bytes.fromhex(head)
            if not segment.is_as_read():
                return False
            header = parse(segment.file.read(0, 1 << 14), cipher=self._cipher)
            introduced = {} if header is None else orjson.loads(header.document)
            if end and (introduced.get("born"), introduced.get("pass", 0)) != (state["born"], passes):
                return False
            if end and introduced["user"] != self._user_id:
                return False
            segment.sealed, segment.ragged = sealed or number != newest, ragged
            segment.passes = passes
            found[number] = segment
        self._segments, self.born, self.next_number = found, state["born"], state["next"]
        self.damage = [(path, start, end) for path, start, end in state["damage"]]
        self._dead = dict(state["dead"])
        return True

    def changed(self) -> bool:
        """Return whether there may be something to read: one system call."""
        if not self._segments:
            return disk.exists(self._path(1)) or bool(segment_numbers(self._folder))
        last = self._last
        try:
            found = disk.status(last.file.path)
        except FileNotFoundError:
            raise Vanished(last.file.path) from None
        if found.st_ino == last.inode and found.st_size < last.end:
            raise Vanished(last.file.path)
        if found.st_ino != last.inode or found.st_size != last.end:
            return True
        return last.sealed and disk.exists(self._path(last.number + 1))

    def is_as_read(self) -> bool:
        """Return whether all segments are the files that were read, and hold that still: three system calls each."""
        try:
            return all(
                disk.status(segment.file.path).st_ino == segment.inode and segment.is_as_read()
                for segment in list(self._segments.values())
            )
        except FileNotFoundError:
            return False

    def read(self) -> Iterator[News]:
        """Yield what has been committed since the last read, segment by segment.

        Raises ``Vanished`` where a file is neither the one that was read nor that one written anew.
        """
        known = self.next_number
        numbers = segment_numbers(self._folder)
        for number in numbers:
            segment = self._segments.get(number)
            if segment is not None:
                segment.sealed = segment.sealed or number != numbers[-1]
            if segment is None or disk.status(segment.file.path).st_ino != segment.inode:
                before, segment = segment, self._open(number)
                self._segments[number] = segment
                segment.sealed = number != numbers[-1]
                news = self._read_on(segment, known)
                if before is not None and not self._is_rewritten(before, segment, known):
                    raise Vanished(segment.file.path)  # removed and begun anew, or a copy of the folder lies here
                yield news
            elif segment.file.size > segment.end:
                if not segment.is_as_read():
                    raise Vanished(segment.file.path)  # overwritten in its place
                yield self._read_on(segment, known)

    def _is_rewritten(self, before: Segment, after: Segment, known: int) -> bool:
        """Return whether a file is another one written anew: of a later pass, and of what is known only what was there.

        What was read is read again from the file that has lost its name. O(bytes of the segment).
        """
        if after.passes <= before.passes:
            return False
        was = {found.number: _item_sum(found) for found in self._frames(before)}
        kept = (f for f in self._frames(after) if 0 < f.number < known and not notes.is_blank(f.document))
        return all(found.number in was and was[found.number] == _item_sum(found) for found in kept)

    def _frames(self, segment: Segment) -> Iterator[Frame]:
        pieces = scan(segment.file.read(0, segment.end), cipher=self._cipher)
        return (piece for piece in pieces if isinstance(piece, Frame))

    def _read_on(self, segment: Segment, known: int) -> News:
        base, size = segment.end, segment.file.size - segment.end
        news, pending = News(), []
        moved: list[tuple[int, int]] = []
        newest: Frame | None = None
        self.torn = False
        for piece in scan_file(segment.file.read, base, size, self._cipher):
            if isinstance(piece, Damage):
                rest = segment.file.read(base + piece.start, piece.end - piece.start)
                if piece.tail and not segment.sealed and is_unfinished(rest):
                    self.torn = True
                    break
                self.damage.append((os.path.basename(segment.file.path), base + piece.start, base + piece.end))
                segment.ragged = piece.tail and rest[-1:] != b"\n"
            else:
                pending.append(piece)
            if isinstance(piece, Damage) or piece.last:  # a commit broken by damage counts: it was whole once
                segment.end = base + piece.end
                for found in pending:
                    place, newest = segment.number << 32 | base + found.start, found
                    if not found.number:
                        self._header(found, segment)
                    elif found.number < known:
                        moved.append((found.number, place))
                    else:
                        news.frames.append((place, found))
                        self.next_number = max(self.next_number, found.number + 1)
                        if notes.is_successor(found.document):
                            segment.sealed = True
                pending = []
        self.torn = self.torn or bool(pending)
        if newest is not None:
            segment.mark(base + newest.start, segment.file.read(base + newest.start, newest.end - newest.start))
        if moved or not base:
            news.moved[segment.number] = moved
        return news

    def _header(self, found: Frame, segment: Segment) -> None:
        introduced = orjson.loads(found.document)
        born = str(introduced["born"])
        if introduced["user"] != self._user_id:
            raise misplaced(self._folder)
        if self.born not in ("", born):
            raise Vanished(self._folder)  # removed, and begun anew
        self.born, segment.passes = born, introduced.get("pass", 0)

    def load(self, place: int, number: int) -> bytes | None:
        """Return the document of a frame, or ``None`` if no such frame that checks lies there."""
        segment = self._segments.get(place >> 32)
        if segment is None:
            return None
        start = place & 0xFFFFFFFF
        data = segment.file.read(start, _FIRST_READ)
        found = parse(data, cipher=self._cipher)
        if found is None and (size_of(data) or 0) > len(data):  # a long one
            data += segment.file.read(start + len(data), (size_of(data) or 0) - len(data))
            found = parse(data, cipher=self._cipher)
        if found is None or found.number != number:
            self.unreadable.add(number)
            return None
        self.unreadable.discard(number)  # it had only moved
        return None if notes.is_blank(found.document) else found.document

    def damaged(self) -> set[int]:
        """Return the segments that hold pieces which do not check."""
        names = {name for name, _, _ in self.damage}
        return {n for n, segment in list(self._segments.items()) if os.path.basename(segment.file.path) in names}

    # --- writing, under the user's lock

    def repair(self) -> str | None:
        """Cut an unfinished write off the end; return what was done, if anything."""
        if not self._segments:
            return None
        last = self._last
        extra = last.file.size - last.end
        if extra <= 0:
            return None
        last.file.truncate(last.end)
        last.file.sync()
        self.torn = False
        return f"{os.path.basename(last.file.path)}: cut {extra} bytes of an unfinished write"

    def make_ready(self) -> None:
        """Begin a new segment where one is due: ``next_number`` is what the next document gets."""
        last = self._last if self._segments else None
        if last is None or last.sealed or last.end >= self._segment_size or self.fresh_segment:
            self._begin(last)

    def append(self, documents: Sequence[bytes], *, sync: bool = True) -> list[int]:
        """Write documents as one commit, numbered from ``next_number``, on disk when it returns; return their places.

        What cannot be written whole is taken back, and the error raised. ``make_ready`` comes first. A mere note,
        whose loss costs nothing, needs no ``sync``.
        """
        segment, number = self._last, self.next_number
        offset = segment.end
        frames, places = [], []
        if segment.ragged:  # frames begin on a line of their own
            frames.append(b"\n")
            offset += 1
        if not offset:
            frames.append(self._frame(0, self._introduction(segment.number), True))
            offset += len(frames[0])
        for position, document in enumerate(documents, 1):
            framed = self._frame(number, document, position == len(documents))
            places.append(segment.number << 32 | offset)
            frames.append(framed)
            offset += len(framed)
            number += 1
        self._write(segment, b"".join(frames), sync)
        segment.end, segment.ragged, self.next_number = offset, False, number
        segment.mark(places[-1] & 0xFFFFFFFF, framed)
        return places

    def _frame(self, number: int, document: bytes, last: bool) -> bytes:
        return frame(number, self._cipher.seal_document(number, document), last)

    def _write(self, segment: Segment, data: bytes, sync: bool) -> None:
        written = False
        try:
            segment.file.write(data, segment.end)
            written = True
            if self._durable and sync:
                segment.file.sync()
        except SiltstoneError:
            self.fresh_segment = written and segment.end > 0  # readers may have seen it: never reuse these bytes
            with suppress(SiltstoneError):  # else the next writer cuts it
                segment.file.truncate(segment.end)
            raise

    def blank(self, places: Mapping[int, int]) -> set[int]:
        """Overwrite frames, by number and place, with notes that tell nothing; on disk when it returns.

        Returns the segments in which one does not lie in its place, which are to be written anew. O(those frames).
        """
        amiss: set[int] = set()
        touched: dict[int, Segment] = {}
        for number, place in sorted(places.items()):
            segment = self._segments.get(place >> 32)
            if segment is None or place >> 32 in amiss:
                continue
            start = place & 0xFFFFFFFF
            size = size_of(segment.file.read(start, HEAD)) or 0
            framed = self._blank(segment.file.read(start, size), number)
            if framed is None:
                amiss.add(segment.number)
                continue
            segment.file.write(framed, start)
            touched[segment.number] = segment
            if start == segment.start:
                segment.mark(start, framed)
        for segment in touched.values():
            segment.file.sync()
        return amiss

    def _blank(self, data: bytes, number: int) -> bytes | None:
        """Return a note that tells nothing to take the place of a frame, ``None`` where ``data`` is not that frame.

        What is sealed is escaped, so that its length is left to chance: it is sealed until it has the right one.
        """
        found = parse(data, cipher=self._cipher)
        if found is None or found.number != number:
            return None
        room = size = found.end - len(frame(number, b"", found.last))
        for _ in range(_SEALINGS):
            if size < _LEAST_BLANK:
                return None
            sealed = self._cipher.seal_document(number, notes.blank(size))
            if len(sealed) == room:
                return frame(number, sealed, found.last)
            size += room - len(sealed)
        return None

    def _begin(self, last: Segment | None) -> None:
        """Announce and create the next segment."""
        number = 1 if last is None else last.number + 1
        if last is not None and not last.sealed:
            self.append([notes.pack(Successor(number))], sync=False)
            last.sealed = True
        self.fresh_segment = False
        file = File(self._path(number), write=True, create=True)
        if self._durable:
            disk.sync_folder(self._folder)
        self._segments[number] = Segment(number, file, file.inode)

    def begin_before(self, following: int) -> None:
        """Put a first segment before those that are left, announcing the one that follows; on disk when it returns."""
        file = self._segments[following].file
        found = (p for p in scan(file.read(0, file.size), cipher=self._cipher) if isinstance(p, Frame))
        first = next((frame.number for frame in found if frame.number), 0)
        if first > 1:
            note = self._frame(first - 1, notes.pack(Successor(following)), True)
            disk.replace(self._path(1), self._frame(0, self._introduction(1), True) + note)

    def _introduction(self, segment: int, passes: int = 0) -> bytes:
        self.born = self.born or os.urandom(4).hex()
        introduced = {"user": self._user_id, "segment": segment, "born": self.born}
        return orjson.dumps(introduced | ({"pass": passes} if passes else {}))

    def check(self, number: int) -> bool:
        """Return whether all of a segment checks, and note what does not. O(bytes of the segment)."""
        segment = self._segments[number]
        pieces = scan(segment.file.read(0, segment.end), cipher=self._cipher)
        self._note_damage(segment, [piece for piece in pieces if isinstance(piece, Damage)])
        return number not in self.damaged()

    def _note_damage(self, segment: Segment, damage: Sequence[Damage]) -> None:
        found = [(os.path.basename(segment.file.path), piece.start, piece.end) for piece in damage]
        self.damage += [piece for piece in found if piece not in self.damage]

    def rewrite(self, number: int, drop: Set[int]) -> tuple[Segment, list[tuple[int, int]]]:
        """Write a segment anew without some frames, blanks and damage, to be passed to ``install``.

        Returns it with the ``(number, place)`` of the frames kept. O(bytes of the segment).
        """
        segment = self._segments[number]
        blanks = {found.number for found in self._frames(segment) if notes.is_blank(found.document)}
        return self._replace(self._draft(segment, segment.end, dict.fromkeys(drop | blanks)))

    def revise(
        self, segment: Segment, end: int, decide: Callable[[Iterator[Frame]], Mapping[int, bytes | None]]
    ) -> Draft | None:
        """Prepare a segment anew up to ``end``, with the changes that are decided from its frames; no lock is needed.

        Returns ``None`` where nothing changes, or where a piece does not check: then nothing is to be overwritten.
        """
        damage: list[Damage] = []

        def frames() -> Iterator[Frame]:
            for piece in scan(segment.file.read(0, end), cipher=self._cipher):
                if isinstance(piece, Damage):
                    damage.append(piece)
                else:
                    yield piece

        changes = decide(frames())
        self._note_damage(segment, damage)
        if not changes:
            self._dead.pop(segment.number, None)  # less was dead than it seemed
        return self._draft(segment, end, changes) if changes and not damage else None

    def replace(self, draft: Draft) -> tuple[Segment, list[tuple[int, int]]] | None:
        """Put a draft, and what was appended since, in the place of its segment, to be passed to ``install``.

        Returns ``None`` where the segment was rewritten meanwhile.
        """
        segment = self._segments[draft.segment]
        return None if segment.inode != draft.inode or segment.ragged else self._replace(draft)

    def _draft(self, segment: Segment, end: int, changes: Mapping[int, bytes | None]) -> Draft:
        number = segment.number
        out = bytearray(self._frame(0, self._introduction(number, segment.passes + 1), True))
        places: list[tuple[int, int]] = []
        for piece in scan(segment.file.read(0, end), cipher=self._cipher):
            if isinstance(piece, Damage) or not piece.number:
                continue
            document = changes.get(piece.number, piece.document)
            if document is not None:
                places.append((piece.number, number << 32 | len(out)))
                out += self._frame(piece.number, document, True)  # each commit in here is whole
        return Draft(number, segment.inode, end, bytes(out), places)

    def _replace(self, draft: Draft) -> tuple[Segment, list[tuple[int, int]]]:
        segment = self._segments[draft.segment]
        late = segment.file.read(draft.end, segment.end - draft.end)
        moved = draft.segment << 32 | len(draft.data)
        places = draft.places + [
            (found.number, moved + found.start) for found in scan(late, cipher=self._cipher) if isinstance(found, Frame)
        ]
        disk.replace(segment.file.path, draft.data + late)
        fresh = self._open(draft.segment)
        fresh.end, fresh.sealed, fresh.passes = len(draft.data) + len(late), segment.sealed, segment.passes + 1
        start = places[-1][1] & 0xFFFFFFFF if places else 0
        fresh.mark(start, (draft.data + late)[start:])
        return fresh, places

    def install(self, fresh: Segment) -> None:
        """Read from a rewritten segment from now on."""
        self._segments[fresh.number] = fresh
        self._dead.pop(fresh.number, None)
        self.damage = [piece for piece in self.damage if piece[0] != os.path.basename(fresh.file.path)]

    # --- dead weight

    def waste(self, place: int, keep: int = 0) -> None:
        """Note that a frame is dead weight, but for ``keep`` bytes. One system call."""
        segment = self._segments.get(place >> 32)
        size = None if segment is None else size_of(segment.file.read(place & 0xFFFFFFFF, HEAD))
        if size is not None:
            self._dead[place >> 32] = self._dead.get(place >> 32, 0) + max(0, size - keep)

    def wasteful(self, is_due: Callable[[int, int], bool]) -> list[int]:
        """Return the segments whose rewriting is due by their dead and all bytes, those with damage aside."""
        if not self._dead:
            return []
        damaged = self.damaged()
        return [n for n, dead in list(self._dead.items()) if n not in damaged and is_due(dead, self._segments[n].end)]

    def segment(self, number: int) -> Segment:
        """Return a segment by number."""
        return self._segments[number]

    # --- files

    @property
    def segments(self) -> Iterable[int]:
        """Numbers of the segments, ascending."""
        return sorted(self._segments)

    def bytes(self) -> int:
        """Size on disk."""
        return sum(segment.file.size for segment in list(self._segments.values()))

    @property
    def _last(self) -> Segment:
        return self._segments[max(list(self._segments))]  # a copy: readers ask while a writer begins another one

    def _open(self, number: int) -> Segment:
        path = self._path(number)
        file = File(path, write=self._writable)
        return Segment(number, file, file.inode)

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, segment_name(number))


def _item_sum(found: Frame) -> int | None:
    """Return by what an item is known to be the same; notes are written anew."""
    return crc32(found.document) if notes.is_item(found.document) else None
