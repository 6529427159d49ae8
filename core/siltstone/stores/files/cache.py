"""One file of arrays that can be made anew: checksummed as a whole, mapped when read, replaced when written.

``magic``, the length of the head in 8 hexadecimal digits, the head (JSON: the caller's values, and dtype, start and
length of each array), the arrays at multiples of 64 bytes, and the CRC-32 of all that in 8 digits. An encrypted store
seals it piece by piece, and opens it into memory, where it costs its whole size, instead of mapping it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt
import orjson

from ...errors import BackendUnavailableError, SiltstoneError
from ..encryption.cipher import PLAIN, Cipher
from . import disk
from .disk import File

NAME: Final = "cache"
_MAGIC: Final = b"siltstone cache 6\n"
"""Counts up with every change of what is kept, or how: a cache of another release is as good as none."""
_ALIGNED: Final = 64
_PIECE: Final = 1 << 22


def write(
    folder: str, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], cipher: Cipher = PLAIN
) -> None:
    """Replace the cache of a folder. Not synced: it can be made anew."""
    table: dict[str, tuple[str, int, int]] = {}
    end = 0
    for name, cells in arrays.items():
        table[name] = (cells.dtype.str, end, len(cells))
        end += -(-cells.nbytes // _ALIGNED) * _ALIGNED
    head = orjson.dumps({"values": values, "arrays": table})
    head += b" " * (-(len(_MAGIC) + 8 + len(head)) % _ALIGNED)
    discard(folder)
    path = os.path.join(folder, NAME)
    first = np.frombuffer(_MAGIC + b"%08x" % len(head) + head, np.uint8)
    try:
        _write(f"{path}.new", cipher.seal_pieces(_pieces((first, *arrays.values()))))
        with disk.step("rename", path):
            os.rename(f"{path}.new", path)
    except SiltstoneError:  # it would keep a full disk full
        with suppress(SiltstoneError):
            disk.unlink(f"{path}.new")
        raise


def _write(path: str, pieces: Iterable[bytes]) -> None:
    """Write pieces and their checksum."""
    file = File(path, write=True, create=True)
    at, crc = 0, 0
    for some in pieces:
        crc = crc32(some, crc)
        file.write(some, at)
        at += len(some)
    file.write(b"%08x" % crc, at)


def _pieces(arrays: Iterable[npt.NDArray[Any]]) -> Iterator[bytes]:
    """Yield arrays one behind the other, each padded, in pieces of one length; the last may be shorter."""
    held = bytearray()
    for cells in arrays:
        data: Any = np.ascontiguousarray(cells).view(np.uint8)
        for start in range(0, len(data), _PIECE):
            held += memoryview(data[start : start + _PIECE])
            held += bytes(-len(held) % _ALIGNED)
            if len(held) >= _PIECE:
                yield bytes(held[:_PIECE])
                del held[:_PIECE]
    yield bytes(held)


def discard(folder: str) -> None:
    """Remove the cache of a folder, and one that was being written."""
    path = os.path.join(folder, NAME)
    disk.unlink(path)
    disk.unlink(f"{path}.new")


def read(folder: str, cipher: Cipher = PLAIN) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
    """Return values and arrays, mapped if not sealed, or ``None`` where there is no cache or it does not check."""
    try:
        file = File(os.path.join(folder, NAME))
        size = file.size
        if size < len(_MAGIC) + 16:
            return None
        mapped: Any = np.frombuffer(file.mapped(size), np.uint8)
    except (FileNotFoundError, BackendUnavailableError):
        return None  # what cannot be read is made anew, too
    crc = 0
    for start in range(0, size - 8, _PIECE):
        crc = crc32(mapped[start : min(start + _PIECE, size - 8)], crc)
    if bytes(mapped[-8:]) != b"%08x" % crc:
        return None
    opened: Any = cipher.open_pieces(mapped[:-8], _PIECE)
    if opened is None or bytes(opened[: len(_MAGIC)]) != _MAGIC:
        return None
    start = len(_MAGIC) + 8
    length = int(bytes(opened[len(_MAGIC) : start]), 16)
    head = orjson.loads(bytes(opened[start : start + length]))
    base = start + length
    arrays = {}
    for name, (dtype, at, count) in head["arrays"].items():
        kind = np.dtype(dtype)
        arrays[name] = opened[base + at : base + at + count * kind.itemsize].view(kind)
    return head["values"], arrays


def size(folder: str) -> int:
    """Return the bytes of a folder's cache."""
    try:
        return disk.status(os.path.join(folder, NAME)).st_size
    except FileNotFoundError:
        return 0
