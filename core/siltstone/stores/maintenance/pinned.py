"""A user's files as they are at one moment, held open: others go on writing while they are read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..files import disk
from ..files.disk import File
from ..files.layout import segment_number

_BESIDE: Final = re.compile(r"vectors\.\d{4}x\d+\.\d{6}\.f16|KEY")
"""What cannot be made anew, beside documents."""
_PIECE: Final = 4 << 20


@dataclass(frozen=True)
class Pinned:
    """A file up to ``size``: what lies there stays as it is, except for what is forgotten, which is overwritten.

    ``seen``: inode, size, and times of change in nanoseconds; a file of another state has other ones.
    """

    name: str
    file: File
    size: int
    seen: tuple[int, int, int, int]

    @property
    def is_documents(self) -> bool:
        """Whether the file is a segment of documents."""
        return self.segment is not None

    @property
    def segment(self) -> int | None:
        """Which segment of documents the file is."""
        return segment_number(self.name)

    def read(self) -> bytes:
        """Return all of it."""
        return self.file.read(0, self.size)

    def pieces(self) -> Iterator[bytes]:
        """Yield it a few MB at a time."""
        for start in range(0, self.size, _PIECE):
            yield self.file.read(start, min(_PIECE, self.size - start))


def pin(path: str) -> Pinned:
    """Return a file as it is now. Raises ``FileNotFoundError``."""
    file = File(path)
    found = file.status
    seen = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return Pinned(os.path.basename(path), file, found.st_size, seen)


def pin_user(folder: str) -> list[Pinned]:
    """Return the files of a user that cannot be made anew from others, by name; the user's lock must be held."""
    return [pin(os.path.join(folder, name)) for name in disk.names(folder) if _is_truth(name)]


def _is_truth(name: str) -> bool:
    return segment_number(name) is not None or _BESIDE.fullmatch(name) is not None
