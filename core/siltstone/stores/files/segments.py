"""What a log knows of its files: a segment, what a read of it brought, and one that is written anew."""

from __future__ import annotations

from dataclasses import dataclass, field

from .disk import File
from .frames import Frame


class Vanished(Exception):
    """The user's folder was removed, or the log was cut, under our feet: read it anew."""


@dataclass
class Segment:
    """One file: how far its complete commits have been read.

    ``sealed``: another segment follows; ``ragged``: it ends with damage that is no whole line; ``passes``: how often
    it has been written anew.
    """

    number: int
    file: File
    inode: int
    end: int = 0
    sealed: bool = False
    ragged: bool = False
    passes: int = 0


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
