r"""Framed, checksummed lines: how documents lie on disk.

A frame is ``length crc flag number json\n``: the length in bytes of what follows the checksum, 8 hexadecimal
digits; its CRC-32, 8 digits; ``+`` where more frames of the same commit follow, ``.`` on the last; the frame's
number within the user, hexadecimal; the document. A commit counts when its last frame is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

from ..encryption.cipher import PLAIN, Cipher

HEAD: Final = 18
"""Bytes of ``length crc `` before the checked part."""
HEX: Final = frozenset(b"0123456789abcdef")
_BEGINNING: Final = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) ([+.])([0-9a-f]+) ")


class Frame(NamedTuple):
    """A frame that checks: its number, where it lies, its document, and whether it ends a commit."""

    number: int
    start: int
    end: int
    last: bool
    document: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """A piece that is no frame: ``data[start:end]``; ``tail`` when no frame follows."""

    start: int
    end: int
    tail: bool


def frame(number: int, document: bytes, last: bool) -> bytes:
    """Return the bytes of one frame."""
    body = b"%c%x %b" % (b"."[0] if last else b"+"[0], number, document)
    return b"%08x %08x %b\n" % (len(body), crc32(body), body)


def parse(data: bytes | memoryview, start: int = 0, cipher: Cipher = PLAIN) -> Frame | None:
    """Return the frame at ``start``, opened, or ``None`` if none that checks lies there."""
    head = _BEGINNING.match(data, start)
    if head is None:
        return None
    body, end = start + HEAD, start + HEAD + int(head[1], 16) + 1
    if end > len(data) or data[end - 1] != 10 or head.end() >= end:
        return None
    if crc32(data[body : end - 1]) != int(head[2], 16):
        return None
    number = int(head[4], 16)
    opened = cipher.open_document(number, bytes(data[head.end() : end - 1]))
    return None if opened is None else Frame(number, start, end, head[3] == b".", opened)


def is_unfinished(data: bytes) -> bool:
    """Return whether ``data`` is the beginning of a frame that was still being written, rather than a damaged one."""
    if b"\n" in data or b"\0" in data or not HEX.issuperset(data[:8] + data[9:17]):
        return False
    size = size_of(data)
    return size is None or len(data) < size


def size_of(head: bytes) -> int | None:
    """Return the length of the frame that begins with ``head``, or ``None`` if it cannot be one."""
    if len(head) < HEAD or not HEX.issuperset(head[:8]):
        return None
    return HEAD + int(head[:8], 16) + 1


def scan(data: bytes | memoryview, start: int = 0, cipher: Cipher = PLAIN) -> Iterator[Frame | Damage]:
    """Yield what lies in ``data`` from ``start`` on, piece by piece; after damage, from the next line that checks."""
    while start < len(data):
        found = parse(data, start, cipher)
        if found is not None:
            yield found
            start = found.end
            continue
        resumed = _next(data, start, cipher)
        yield Damage(start, len(data) if resumed is None else resumed, resumed is None)
        if resumed is None:
            return
        start = resumed


def scan_file(
    read: Callable[[int, int], bytes], start: int, size: int, cipher: Cipher = PLAIN
) -> Iterator[Frame | Damage]:
    """Yield what lies in ``size`` bytes of a file from ``start`` on, places counted from there; ``read`` as ``File``'s.

    What does not check is read once more: somebody may be overwriting a document that is forgotten right now.
    """
    data = read(start, size)
    for piece in scan(data, cipher=cipher):
        if isinstance(piece, Damage):
            again = read(start + piece.start, piece.end - piece.start)
            if again != data[piece.start : piece.end]:
                yield from (_moved(found, piece.start) for found in scan(again, cipher=cipher))
                continue
        yield piece


def _moved(piece: Frame | Damage, by: int) -> Frame | Damage:
    if isinstance(piece, Damage):
        return Damage(piece.start + by, piece.end + by, piece.tail)
    return piece._replace(start=piece.start + by, end=piece.end + by)


def committed(data: bytes) -> tuple[int, int]:
    """Return up to where ``data`` holds whole commits, damage before their ends included, and the pieces of damage."""
    end = damaged = 0
    for piece in scan(data):
        if isinstance(piece, Damage):
            if not piece.tail or not is_unfinished(data[piece.start : piece.end]):
                end, damaged = piece.end, damaged + 1
        elif piece.last:
            end = piece.end
    return end, damaged


def _next(data: bytes | memoryview, start: int, cipher: Cipher) -> int | None:
    rest = bytes(data[start:])
    at = rest.find(b"\n")
    while at >= 0:
        if parse(data, start + at + 1, cipher) is not None:
            return start + at + 1
        at = rest.find(b"\n", at + 1)
    return None
