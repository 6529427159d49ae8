"""Rows of a CSV file, whose fields may run over lines. Python's reader limits fields for the whole process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_FIELD: Final = re.compile(r'(?:"((?:[^"]|"")*)"[^,]*|([^,]*))(,|$)', re.S)
_MOST_LINES: Final = 5_000


def rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str] | None]]:
    """Yield the rows with the number of their first line; ``None`` for a quotation that never ends."""
    kept: list[str] = []
    first, is_open = 0, False
    for number, line in lines:
        if not kept:
            first = number
        kept.append(line)
        is_open ^= line.count('"') % 2 == 1
        if is_open and len(kept) < _MOST_LINES:
            continue
        if is_open or kept != [""]:
            yield first, None if is_open else fields("\n".join(kept))
        kept, is_open = [], False
    if kept:
        yield first, None


def fields(row: str) -> list[str]:
    """Return the fields of a row."""
    found, at = [], 0
    while match := _FIELD.match(row, at):
        quoted, plain, mark = match.groups()
        found.append(plain if quoted is None else quoted.replace('""', '"'))
        at = match.end()
        if mark != ",":
            break
    return found
