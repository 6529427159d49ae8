"""``KEYS/DESTROYED``: which users' keys were destroyed because all of theirs was forgotten; a framed line each.

A key that is not there and not named here is missing: somebody may still have it. One that is named is gone for good,
and what was sealed with it is forgotten in every copy. A line is written before its key goes; where a full disk has no
room for it, the key goes all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from ..files import disk
from ..files.disk import File
from ..files.frames import Damage, Frame, committed, frame, scan

NAME = "DESTROYED"


def add(folder: str, ids: Iterable[str]) -> None:
    """Name keys in the ``KEYS`` folder, on disk when it returns. Needs the lock of the folder."""
    new = sorted(set(ids) - destroyed(folder))
    if not new:
        return
    file = File(os.path.join(folder, NAME), write=True, create=True)
    end, _ = committed(file.read(0, file.size))  # what a killed one left of a line is covered: they are all as long
    if not end:
        disk.sync_folder(folder)
    broken = b"\n" if end and file.read(end - 1, 1) != b"\n" else b""
    file.write(broken + b"".join(frame(0, id.encode(), True) for id in new), end)
    file.sync()


def destroyed(folder: str) -> set[str]:
    """Return the ids of all keys that a ``KEYS`` folder names as destroyed."""
    return {piece.document.decode() for piece in _pieces(folder) if isinstance(piece, Frame)}


def damage(folder: str) -> list[Damage]:
    """Return the pieces of the file that are no lines."""
    return [piece for piece in _pieces(folder) if isinstance(piece, Damage)]


def _pieces(folder: str) -> Iterator[Frame | Damage]:
    try:
        file = File(os.path.join(folder, NAME))
    except FileNotFoundError:
        return
    yield from scan(file.read(0, file.size))
