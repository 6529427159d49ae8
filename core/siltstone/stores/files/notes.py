"""Notes among the documents of a user: what the store tells itself and other processes. Each has a letter on disk.

``x``     items were removed: the numbers of their frames, and the hashes of what is refused since
``y``     a removal has come to its end
``g``     vectors were written
``next``  another segment follows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson


@dataclass(frozen=True)
class Removal:
    """Frames that nobody is to see any more, and hashes of what is refused from now on.

    ``ids``: of the items that were removed; ``at``: when, in microseconds since 1970, where there are any.
    """

    numbers: Sequence[int] = ()
    hashes: Sequence[str] = ()
    ids: Sequence[str] = ()
    at: int | None = None


@dataclass(frozen=True)
class Finished:
    """The removal of this number is out of all files."""

    removal: int


@dataclass(frozen=True)
class Embedded:
    """So many vectors have come, of documents that are there already."""

    vectors: int


@dataclass(frozen=True)
class Successor:
    """The segment that follows; the last frame of the one before."""

    segment: int


Note: TypeAlias = Removal | Finished | Embedded | Successor


def pack(note: Note) -> bytes:
    """Return the document of a note."""
    if isinstance(note, Removal):
        names = {"ids": note.ids, "t": note.at} if note.ids else {}
        return orjson.dumps({"x": list(note.numbers), "h": list(note.hashes), **names})
    if isinstance(note, Finished):
        return orjson.dumps({"y": note.removal})
    if isinstance(note, Embedded):
        return orjson.dumps({"g": note.vectors})
    return orjson.dumps({"next": note.segment})


def unpack(document: Mapping[str, Any]) -> Note | None:
    """Return the note that a document holds, ``None`` where it is an item, or none that is known."""
    if "i" in document:
        return None
    if "x" in document:
        return Removal(document["x"], document["h"], document.get("ids", ()), document.get("t"))
    if "y" in document:
        return Finished(document["y"])
    if "g" in document:
        return Embedded(document["g"])
    return Successor(document["next"]) if "next" in document else None


def is_item(document: bytes) -> bool:
    """Return whether a document holds an item, without reading it."""
    return document.startswith(b'{"i":')


def is_removal(document: bytes) -> bool:
    """Return whether a document holds a removal, without reading it."""
    return document.startswith(b'{"x":')


def is_successor(document: bytes) -> bool:
    """Return whether a document names the segment that follows, without reading it."""
    return document.startswith(b'{"next":')
