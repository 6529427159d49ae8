"""Reads what ``TieredMemory.export_to`` wrote; the format is in ``lines``."""

from __future__ import annotations

from typing import Any, BinaryIO

import orjson

from ..errors import InvalidInputError
from .json_lines import numbered
from .json_stream import TOO_LONG, loads
from .lines import FORMAT, VERSION, evicted_in, from_line
from .reader import Copied, Found, Items, Part, Reading, Unreadable
from .source import Source


class ExportFile:
    """The reader of siltstone's own files."""

    format = "siltstone"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line names the format."""
        return f'"{FORMAT}"'.encode() in source.head.partition(b"\n")[0]

    def read(self, source: Source) -> Reading:
        """Read the header, then the items as a stream. Raises ``InvalidInputError`` for a header that is not ours."""
        header = _header(source.head.partition(b"\n")[0], source.name)
        counts = [count for count in (header.get("messages"), header.get("records")) if isinstance(count, int)]
        return Reading(_items(source), sum(counts) if counts else None)

    def again(self, part: Part) -> Items:
        """Read the line of an item."""
        try:
            value = part.value if part.text is None else loads(part.text)
            yield Found(part.where, _copied(value), part)
        except InvalidInputError as exc:
            yield Found(part.where, Unreadable(str(exc)), part)


def _header(line: bytes, name: str) -> dict[str, Any]:
    try:
        header = orjson.loads(line)
    except ValueError as exc:
        raise InvalidInputError(f"the first line of {name} is no JSON ({exc}): nothing was imported") from exc
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InvalidInputError(f'the first line of {name} is no header of the format "{FORMAT}": nothing was imported')
    if header.get("version") != VERSION:
        raise InvalidInputError(
            f"{name} has version {header.get('version')!r} of the format, and this release reads version {VERSION}: "
            "nothing was imported; import it with the release that wrote it, or a newer one"
        )
    return header


def _items(source: Source) -> Items:
    with source.open() as file:
        yield from _lines(file)


def _lines(file: BinaryIO) -> Items:
    number, items, ended = 1, 0, False
    for number, line in numbered(file):
        where = f"line {number}"
        if number == 1:
            continue  # the header
        if ended:
            yield Found(where, Unreadable("it stands after the file's last line"))
        elif line is None:
            yield Found(where, Unreadable(TOO_LONG))
        elif line.strip():
            found = _found(where, line)
            if isinstance(found, int):
                ended = True
                if found != items:
                    yield Found(where, Unreadable(f"the file was written with {found} items, and {items} are left"))
                continue
            items += 1
            yield found
            if not line.endswith(b"\n") and isinstance(found.item, Unreadable):
                return  # torn: that it has no last line is no other loss
    if not ended:
        reason = f'the last line, {{"end": …}}, is missing: the file was cut off after {items} items'
        yield Found(f"line {number + 1}", Unreadable(reason))


def _copied(line: Any) -> Copied:
    return Copied(from_line(line), evicted=evicted_in(line))


def _found(where: str, line: bytes) -> Found | int:
    """Return what a line holds; the number of items for the last line."""
    try:
        value = orjson.loads(line)
    except ValueError as exc:
        torn = "the file was cut off in the middle of it" if not line.endswith(b"\n") else f"it is no JSON ({exc})"
        return Found(where, Unreadable(torn), Part(ExportFile.format, where, text=line.decode("utf-8", "replace")))
    if isinstance(value, dict) and isinstance(end := value.get("end"), int):
        return end
    try:
        return Found(where, _copied(value), Part(ExportFile.format, where, value=value))
    except InvalidInputError as exc:
        return Found(where, Unreadable(str(exc)), Part(ExportFile.format, where, value=value))
