"""Text files of any origin, line by line: UTF-8, and GB 18030, in which Chinese Windows still writes."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import Final

from ..errors import InvalidInputError
from .source import Source

LONGEST: Final = 1 << 20
"""Characters after which a line is taken for two."""
_BINARY: Final = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1a\x1b")


def encoding_of(head: bytes) -> str | None:
    """Return the encoding of a text from its beginning; ``None`` where that is no text."""
    if not head or _BINARY & set(head):
        return None
    for name in ("utf-8", "gb18030"):
        try:
            codecs.getincrementaldecoder(name)().decode(head)
            return name
        except UnicodeDecodeError:
            continue
    return None


def text_of(source: Source) -> str:
    """Return the beginning of a text file, empty where it is none."""
    encoding = encoding_of(source.head)
    return "" if encoding is None else codecs.getincrementaldecoder(encoding)("replace").decode(source.head)


def lines(source: Source, notes: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers from 1, without their ends.

    What is no character of the encoding becomes U+FFFD, and ``notes`` says so. Raises ``InvalidInputError`` where it
    is no text.
    """
    encoding = encoding_of(source.head)
    if encoding is None and source.head:
        raise InvalidInputError(f"{source.name} is no text: nothing was imported from it")
    damaged = 0
    with source.open() as file:
        text = io.TextIOWrapper(file, encoding or "utf-8", errors="replace")
        try:
            number = 0
            while line := text.readline(LONGEST):
                number += 1
                damaged += "\ufffd" in line
                yield number, line.rstrip("\n")
        finally:
            text.detach()
    if damaged:
        notes.append(f"{damaged} lines of {source.name} hold what is no {encoding}; U+FFFD stands for it")
