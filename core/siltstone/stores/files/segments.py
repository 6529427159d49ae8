"""What a log knows of its files: a segment, what a read of it brought, and one that is written anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .disk import File
from .frames import HEAD, Frame

_KNOWN_BY: Final = HEAD + 12
"""Bytes of a frame by which it is known again: its length, its checksum, its number."""


class Vanished(Exception):
    """The user's folder was removed, or the log was cut, under our feet: read it anew."""


@dataclass
class Segment:
    """One file: how far its complete commits have been read.

    ``sealed``: another segment follows; ``ragged``: it ends with damage that is no whole line; ``passes``: how often
    it has been written anew; ``start`` and ``head``: where the last frame that was read begins, and its first bytes.
    """

    number: int
    file: File
    inode: int
    end: int = 0
    sealed: bool = False
    ragged: bool = False
    passes: int = 0
    start: int = 0
    head: bytes = b""

    def mark(self, start: int, framed: bytes) -> None:
        """Take note of the last frame, which begins at ``start``."""
        self.start, self.head = start, framed[:_KNOWN_BY]

    def is_as_read(self) -> bool:
        """Return whether the last frame that was read lies where it lay: two system calls."""
        return self.file.size >= self.end and self.file.read(self.start, len(self.head)) == self.head


@dataclass
class News:
    """What a read of the log brought: new frames with their places, and frames that lie elsewhere now.

    ``moved`` maps a segment that was rewritten to ``(number, place)`` of the known frames in it.
    """

    frames: list[tuple[int, Frame]] = field(default_factory=list)
    moved: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """A segment written anew in memory: which file it was, up to where it was read, the bytes, each frame's place."""

    segment: int
    inode: int
    end: int
    data: bytes
    places: list[tuple[int, int]]
