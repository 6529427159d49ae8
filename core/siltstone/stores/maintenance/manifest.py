"""``MANIFEST``: what a backup holds, as framed lines. It is renamed in last, so that it never names what is not there.

The first frame names the store; a frame per user follows, with the files, their sizes and hashes; the last frame ends
the one commit that they all are. A manifest without it is no manifest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Final

import orjson

from ...errors import ConfigurationError, StoreCorruptedError
from ..files import disk
from ..files.disk import File
from ..files.frames import Frame, frame, parse, size_of
from .pinned import pin

NAME: Final = "MANIFEST"
FORMAT: Final = 1
RUN: Final = re.compile(r"\d{6}")
"""Names of the folders of its runs."""
_HEAD: Final = 1 << 12


def check_place(root: str) -> None:
    """Raise ``ConfigurationError`` for the folder of a backup's run, which looks like a store."""
    folder, name = os.path.split(os.path.realpath(root))
    if RUN.fullmatch(name) and disk.exists(os.path.join(folder, NAME)):
        raise ConfigurationError(
            f"{root} is part of the backup {folder}, which writing would damage; nothing was changed: siltstone "
            f"restore {folder} --store FOLDER makes a store of it"
        )


@dataclass(frozen=True)
class Origin:
    """Which store was copied, when (microseconds since 1970), in which format, and whether it is encrypted."""

    store: str
    at: int
    format: int
    sealed: bool


@dataclass(frozen=True)
class Copy:
    """One file: name, where it lies in the backup, bytes, BLAKE2b hash, and how the original was recognised."""

    name: str
    path: str
    size: int
    hash: str
    seen: tuple[int, ...]


class Sum:
    """The bytes and the hash of a file, as its pieces come by."""

    def __init__(self) -> None:
        self.size, self._hashed = 0, blake2b(digest_size=16)

    def add(self, piece: bytes) -> None:
        """Take the next piece."""
        self.size += len(piece)
        self._hashed.update(piece)

    @property
    def hash(self) -> str:
        """The hash of what has come, hexadecimal."""
        return self._hashed.hexdigest()

    def fits(self, copy: Copy) -> bool:
        """Return whether that is what was copied."""
        return (self.size, self.hash) == (copy.size, copy.hash)


@dataclass(frozen=True)
class Entry:
    """The copies of one folder; ``audit``: how many bytes of the audit were written before they were taken.

    ``folder`` is relative to ``users``; the empty one stands for what belongs to the whole store.
    """

    folder: str
    audit: int
    copies: tuple[Copy, ...]


def write(target: str, origin: Origin, entries: Iterable[Entry]) -> None:
    """Replace the manifest, atomically; on disk when it returns. ``entries`` may make the copies as they go."""
    new = os.path.join(target, f"{NAME}.new")
    file = File(new, write=True, create=True)
    file.truncate(0)
    at = _put(file, 0, frame(0, orjson.dumps({"backup": FORMAT} | asdict(origin)), False))
    number = 0
    for number, entry in enumerate(entries, 1):
        at = _put(file, at, frame(number, orjson.dumps(asdict(entry)), False))
    _put(file, at, frame(number + 1, orjson.dumps({"end": number}), True))
    file.sync()
    disk.rename(new, os.path.join(target, NAME))


def _put(file: File, at: int, data: bytes) -> int:
    file.write(data, at)
    return at + len(data)


def origin(target: str) -> Origin | None:
    """Return what a backup is of, ``None`` where there is no manifest. Raises ``StoreCorruptedError``."""
    try:
        file = File(os.path.join(target, NAME))
    except FileNotFoundError:
        return None
    head = file.read(0, _HEAD)
    found = parse(head)
    if found is None or found.number:
        raise _damaged(target)
    document = orjson.loads(found.document)
    if document.pop("backup") > FORMAT:
        raise StoreCorruptedError(f"{target} was written by a newer release: install a newer siltstone")
    return Origin(**document)


def is_whole(target: str, copy: Copy) -> bool:
    """Return whether a file of the backup is what was copied. O(bytes)."""
    sum = Sum()
    try:
        for piece in pin(os.path.join(target, copy.path)).pieces():
            sum.add(piece)
    except FileNotFoundError:
        return False
    return sum.fits(copy)


def read(target: str) -> Iterator[Entry]:
    """Yield the entries of a backup. Raises ``StoreCorruptedError`` where the manifest is not whole."""
    for found in _frames(target):
        if found.number and not found.last:
            document = orjson.loads(found.document)
            copies = tuple(Copy(**{**copy, "seen": tuple(copy["seen"])}) for copy in document["copies"])
            yield Entry(document["folder"], document["audit"], copies)


def _frames(target: str) -> Iterator[Frame]:
    file = File(os.path.join(target, NAME))
    at, expected = 0, 0
    while True:
        size = size_of(file.read(at, 32))
        found = None if size is None else parse(file.read(at, size))
        if found is None or found.number != expected:
            raise _damaged(target)
        yield found
        at, expected = at + found.end, expected + 1
        if found.last:
            return


def _damaged(target: str) -> StoreCorruptedError:
    return StoreCorruptedError(
        f"{target}/{NAME} is damaged; nothing was changed: use another backup, or make this one anew in an empty folder"
    )
