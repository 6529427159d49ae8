"""Small JSON files that must not be lost: one checksummed line, written twice, so that damage to one is mended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from zlib import crc32

import orjson

from . import disk
from .disk import File

_APART: Final = 4_096
"""Bytes from one copy to the other: more than a disk damages at once."""


def write(path: str, document: Mapping[str, Any]) -> None:
    """Replace a file, atomically."""
    body = orjson.dumps(document)
    line = b"%08x %b\n" % (crc32(body), body)
    filler = b" " * (-len(line) % _APART - 1) + b"\n" if len(line) % _APART else b""
    disk.replace(path, line + filler + line)


def read(path: str) -> tuple[dict[str, Any] | None, bool]:
    """Return the document of a file, ``None`` if neither copy checks, and whether one of them is damaged."""
    file = File(path)
    data = file.read(0, file.size).replace(b"\0", b"\n")  # a zeroed sector may have taken the end of a line
    lines = [line for line in data.split(b"\n") if line.strip()]
    good = [body for line in lines if (body := _checked(line)) is not None]
    if not good:
        return None, True
    return orjson.loads(good[0]), len(good) < 2 or len(lines) > 2


def salvage(path: str) -> dict[str, Any] | None:
    """Return the document of a file of which both copies are damaged, in different places; nothing is written."""
    file = File(path)
    data = file.read(0, file.size)
    for apart in range(_APART, len(data), _APART):
        one, other = data[: len(data) - apart], data[apart:]
        for cut in range(len(one)):
            for spliced in (one[:cut] + other[cut:], other[:cut] + one[cut:]):
                if (body := _checked(spliced.rstrip(b"\n"))) is not None:
                    document: dict[str, Any] = orjson.loads(body)
                    return document
    return None


def _checked(line: bytes) -> bytes | None:
    crc, _, body = line.partition(b" ")
    return body if crc == b"%08x" % crc32(body) else None
