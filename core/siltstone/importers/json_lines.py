"""Lines of a file, for formats with one JSON value on each: damage in one is damage in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from .json_peek import peek
from .json_stream import LONGEST


def lines_with_json(head: bytes) -> bool:
    """Return whether a file is JSON Lines: its first line is an object, and another one stands on the next."""
    first, _, rest = head.lstrip().partition(b"\n")
    return first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{") and isinstance(peek(first), dict)


def numbered(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines with their numbers from 1, ``None`` for one that is longer than ``LONGEST``."""
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        if len(line) < LONGEST or line.endswith(b"\n"):
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            continue
        while (rest := file.readline(LONGEST)) and not rest.endswith(b"\n"):
            pass
        yield number, None
