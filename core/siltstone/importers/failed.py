"""``FILE.failed.jsonl``: what an import could not take over, with the reason, to be looked at, mended and tried again.

::

    {"format": "siltstone-failed", "version": 1, "source": "conversations.json"}
    {"reason": "…", "where": "conversation 3", "format": "chatgpt", "about": {…}, "value": {…}}

Each line holds the part of the source as it was, in ``value``, or in ``text`` where it is no JSON; without either it
cannot be tried again alone. The file is the user's, in plain text: ``forget`` does not reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson

from ..errors import InvalidInputError
from .json_lines import numbered
from .json_stream import TOO_LONG, loads
from .parts import PartReader
from .reader import Found, Items, Part, Reader, Unreadable
from .source import Source
from .values import a_dict

FORMAT: Final = "siltstone-failed"
VERSION: Final = 1
ENDING: Final = ".failed.jsonl"


def header(source: str) -> bytes:
    """Return the first line."""
    return dumped({"format": FORMAT, "version": VERSION, "source": source})


def failed_line(where: str, reason: str, part: Part | None) -> bytes:
    """Return the line of one failure."""
    line: dict[str, Any] = {"reason": reason, "where": where}
    if part is not None:
        line |= {"where": part.where, "format": part.format, "about": part.about}
        line |= {"value": part.value} if part.text is None else {"text": part.text}
    return dumped(line)


def dumped(line: Mapping[str, Any]) -> bytes:
    """Return a line as it is written."""
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


class FailedParts(PartReader):
    """The reader of what failed before; ``readers`` are those of the formats."""

    format = "failed"

    def __init__(self, readers: Callable[[], Mapping[str, Reader]]) -> None:
        self._readers = readers

    def recognises(self, source: Source) -> bool:
        """Return whether the first line names the format."""
        return f'"{FORMAT}"'.encode() in source.head.partition(b"\n")[0]

    def parts(self, source: Source, notes: list[str]) -> Iterator[Part | Found]:
        """Yield the parts of other formats."""
        with source.open() as file:
            for number, line in numbered(file):
                where = f"line {number}"
                if number == 1:
                    _check(line, source.name)
                elif line is None:
                    yield Found(where, Unreadable(TOO_LONG))
                elif line.strip():
                    yield _part(where, line)

    def items(self, part: Part) -> Items:
        """Yield what is in a part, as the reader of its format does."""
        reader = self._readers().get(part.format)
        if reader is None:
            raise InvalidInputError(f"its format {part.format!r} is not known")
        try:
            yield from reader.again(part)
        except KeyError as exc:
            raise InvalidInputError(f'its "about" lacks {exc}, which an import had written') from exc


def _check(line: bytes | None, name: str) -> None:
    value = loads(line or b"")
    if value.get("version") != VERSION:
        raise InvalidInputError(f"{name} is of version {value.get('version')!r}, and this release reads {VERSION}")


def _part(where: str, line: bytes) -> Part | Found:
    try:
        value = loads(line)
        if not isinstance(value, dict):
            raise InvalidInputError("it is no object")
        at, reason = str(value.get("where") or where), value.get("reason")
        if not {"value", "text"} & set(value):
            return Found(at, Unreadable(f"{reason}; it cannot be tried again alone"))
        return Part(str(value.get("format")), at, a_dict(value.get("about")), value.get("value"), value.get("text"))
    except InvalidInputError as exc:
        return Found(where, Unreadable(str(exc)))
