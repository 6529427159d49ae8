"""A removed user's folder that a full disk has no room to see off, cut down to what must outlive the user."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..encryption.cipher import Cipher
from . import disk, notes
from .disk import File
from .frames import Frame, frame, scan
from .layout import segment_number
from .notes import Removal

_KEPT = ("KEY", "LOCK")


def shrink(folder: str, cipher: Cipher, hashes: Sequence[str] = ()) -> None:
    """Leave the heads and what is refused, and add ``hashes`` to that, in the room that the documents have.

    Every note is copied forward before the file is cut, so that a kill leaves it in one place or the other.
    """
    logs = []
    for name in sorted(disk.names(folder)):
        if segment_number(name) is not None:
            logs.append(os.path.join(folder, name))
        elif name not in _KEPT:
            disk.unlink(os.path.join(folder, name))
    number = 0
    for path in logs:
        file = File(path, write=True)
        data = file.read(0, file.size)
        end = 0
        for piece in scan(data, cipher=cipher):
            if isinstance(piece, Frame):
                number = max(number, piece.number)
                if not piece.number or notes.is_removal(piece.document):
                    end = _moved(file, data[piece.start : piece.end], piece.start, end)
        if hashes and path == logs[-1]:
            cipher.ready()
            note = cipher.seal_document(number + 1, notes.pack(Removal(hashes=hashes)))
            end = _moved(file, frame(number + 1, note, True), len(data), end)
        file.sync()
        file.truncate(end)
        file.sync()


def _moved(file: File, data: bytes, start: int, end: int) -> int:
    """Copy a frame from ``start`` to ``end`` if it does not lie on itself there; return where the next one goes."""
    if end + len(data) > start:
        return start + len(data)
    file.write(data, end)
    return end + len(data)
