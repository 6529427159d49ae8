"""``AUDIT``: what was done to a store, a framed line per deed, only ever appended to. It holds no text of a memory.

A line is a frame whose number is the deed's key. What a killed process had begun is finished by another one, which
may write the same line again; whoever reads takes each key once. The first frame, of number 0, names the store.
"""

from __future__ import annotations

import os
import secrets
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock
from typing import Final

import orjson

from ..encryption.cipher import NO_KEYS, Keys
from . import disk, storefile
from .disk import File
from .frames import Damage, Frame, frame, is_unfinished, parse, scan
from .lock import FileLock

NAME: Final = "AUDIT"
_PIECE: Final = 1 << 16
_NO_LINES: Final = array("q")


@dataclass(frozen=True)
class Deed:
    """One line: ``at`` in microseconds since 1970, ids, counts, and the hashes of what is refused since.

    ``key``: the same for the same deed, however often it is written. ``hashed``: keyed hashes of ids that follow from
    words, which are not among ``ids``; ``None`` in a line by a release that did not tell them apart.
    """

    action: str
    at: int = field(default_factory=lambda: time.time_ns() // 1_000)
    user_id: str | None = None
    ids: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    key: int = field(default_factory=lambda: secrets.randbits(63) | 1)
    hashed: tuple[str, ...] | None = ()


def key_of(*parts: object) -> int:
    """Return the key of a deed that these parts tell from every other one."""
    hashed = blake2b(orjson.dumps([str(part) for part in parts]), digest_size=8).digest()
    return int.from_bytes(hashed, "little") >> 1 | 1


def append_locked(root: str, deeds: Iterable[Deed], keys: Keys = NO_KEYS, *, durable: bool, timeout: float) -> None:
    """Do as ``append``, and take the store's lock for it, which may be taken while a user's is held."""
    with FileLock(os.path.join(root, "LOCK")).held(timeout):
        append(root, deeds, keys, durable=durable)


def append(root: str, deeds: Iterable[Deed], keys: Keys = NO_KEYS, *, durable: bool = True) -> None:
    """Write lines, with ``durable`` on disk when it returns. Needs the store's lock.

    Without deeds it makes the file, which names the store from then on.
    """
    packed = [(deed.key, packed_deed(deed)) for deed in deeds]
    keys.store.ready()
    file = File(os.path.join(root, NAME), write=True, create=True)
    end = _mended_end(file)
    if not end:
        packed.insert(0, _head(root, keys))
        if durable:
            disk.sync_folder(root)
    elif not packed:
        return
    lines = _lines(packed, keys)
    if end and file.read(end - 1, 1) != b"\n":
        lines = b"\n" + lines  # damage is no torn write: it stays, and lines go on behind it
    file.write(lines, end)
    if durable:
        file.sync()


def rewrite(root: str, deeds: Iterable[Deed], keys: Keys = NO_KEYS) -> None:
    """Replace the file by one of these lines. Needs the store's lock."""
    keys.store.ready()
    packed = [_head(root, keys), *((deed.key, packed_deed(deed)) for deed in deeds)]
    disk.replace(os.path.join(root, NAME), _lines(packed, keys))


def reseal(root: str, keys: Keys, change: Callable[[bytes], bytes] = bytes) -> None:
    """Write the file anew under the newest key of the store, each line as ``change`` makes it.

    Damaged lines stay as they are. Needs the store's lock.
    """
    path = os.path.join(root, NAME)
    if not disk.exists(path):
        return
    keys.store.ready()
    file = File(path)
    data = file.read(0, file.size)
    out = []
    for piece in scan(data, cipher=keys.store):
        if isinstance(piece, Frame):
            out.append(frame(piece.number, keys.store.seal_document(piece.number, change(piece.document)), True))
        else:
            out.append(data[piece.start : piece.end])
    disk.replace(path, b"".join(out))


def read(root: str, keys: Keys = NO_KEYS) -> Iterator[Deed]:
    """Yield the deeds in the order of writing, each once; damaged lines are left out."""
    return (deed for _, deed in placed(root, keys))


def placed(root: str, keys: Keys = NO_KEYS) -> Iterator[tuple[int, Deed]]:
    """The same, each after the byte at which its line begins."""
    seen: set[int] = set()
    for piece in pieces(root, keys):
        if isinstance(piece, Frame) and piece.number and piece.number not in seen:
            seen.add(piece.number)
            yield piece.start, unpacked_deed(piece.number, piece.document)


def refusals(root: str, keys: Keys = NO_KEYS) -> dict[str, set[str]]:
    """Return the hashes of what is refused, by user."""
    refused: dict[str, set[str]] = {}
    for deed in read(root, keys):
        if deed.user_id is not None:
            refused.setdefault(deed.user_id, set()).update(deed.hashes)
    return refused


class Refused:
    """What is refused to one user or another, without their documents, for any number of threads.

    Remembers whose the lines are, so that each is read through once.
    """

    def __init__(self, root: str, keys: Keys = NO_KEYS) -> None:
        self._path, self._cipher = os.path.join(root, NAME), keys.store
        self._guard = Lock()
        self._file: File | None = None
        self._end = 0
        self._lines: dict[str, array[int]] = {}  # the start and the size of each

    def to(self, user_id: str) -> set[str]:
        """Return the hashes of what is refused to a user. O(what was written since the last call + lines of theirs)."""
        with self._guard:
            try:
                file = self._read_on()
            except FileNotFoundError:
                return set()
            lines = self._lines.get(user_id, _NO_LINES).tolist()
        places = zip(lines[::2], lines[1::2], strict=True)
        found = (parse(file.read(start, size), cipher=self._cipher) for start, size in places)
        return {hash for line in found if line is not None for hash in unpacked_deed(line.number, line.document).hashes}

    def _read_on(self) -> File:
        file = File(self._path)
        if self._file is None or file.inode != self._file.inode or file.size < self._end:
            self._file, self._end, self._lines = file, 0, {}  # held open: no other file gets its number
        file, base = self._file, self._end
        for piece in scan(file.read(base, file.size - base), cipher=self._cipher):
            if isinstance(piece, Frame):
                self._end = base + piece.end
                deed = unpacked_deed(piece.number, piece.document) if piece.number else None
                if deed is not None and deed.hashes and deed.user_id is not None:
                    lines = self._lines.setdefault(deed.user_id, array("q"))
                    lines.extend((base + piece.start, piece.end - piece.start))
        return file


def identity(root: str, keys: Keys = NO_KEYS) -> str | None:
    """Return the identity of the store that the file belongs to, or ``None`` where none can be read."""
    for piece in pieces(root, keys):
        if isinstance(piece, Frame) and not piece.number:
            return str(orjson.loads(piece.document)["audit"])
    return None


def pieces(root: str, keys: Keys = NO_KEYS) -> Iterator[Frame | Damage]:
    """Yield what lies in the file, damage included; nothing where there is none."""
    try:
        file = File(os.path.join(root, NAME))
    except FileNotFoundError:
        return
    yield from scan(file.read(0, file.size), cipher=keys.store)


def _mended_end(file: File) -> int:
    """Return where the next line goes, behind the last one; what a killed writer left of a line is cut off."""
    end = start = file.size
    tail = b""
    while start and b"\n" not in tail:
        start = max(0, start - _PIECE)
        tail = file.read(start, end - start)
    rest = tail[tail.rfind(b"\n") + 1 :]
    if rest and is_unfinished(rest):
        end -= len(rest)
        file.truncate(end)
    return end


def _head(root: str, keys: Keys) -> tuple[int, bytes]:
    return 0, orjson.dumps({"audit": storefile.read(root, keys).identity})


def _lines(packed: Iterable[tuple[int, bytes]], keys: Keys) -> bytes:
    return b"".join(frame(number, keys.store.seal_document(number, line), True) for number, line in packed)


def packed_deed(deed: Deed) -> bytes:
    """Return the line of a deed, without its key."""
    line: dict[str, object] = {"a": deed.action, "t": deed.at}
    for name, value in (("u", deed.user_id), ("i", deed.ids), ("h", deed.hashes), ("n", deed.counts)):
        if value:
            line[name] = value
    if deed.hashed or (deed.ids and deed.hashed is not None):
        line["k"] = deed.hashed
    return orjson.dumps(line)


def unpacked_deed(number: int, document: bytes) -> Deed:
    """Return the deed of a line, by its key."""
    line = orjson.loads(document)
    return Deed(
        line["a"],
        line["t"],
        line.get("u"),
        tuple(line.get("i", ())),
        tuple(line.get("h", ())),
        line.get("n", {}),
        number,
        tuple(line["k"]) if "k" in line else None,
    )
