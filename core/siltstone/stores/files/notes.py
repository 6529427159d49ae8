"""Notes among the documents of a user: what the store tells itself and other processes. Each has a letter on disk.

``f``     items are meant to be forgotten: the numbers of their frames; what rests on them is still to be looked for
``x``     items were removed: the numbers of their frames, and the hashes of what is refused since
``y``     a removal has come to its end
``g``     vectors were written; none were, where blanks follow: what lay there was forgotten and overwritten
``next``  another segment follows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import orjson


@dataclass(frozen=True)
class Meant:
    """Frames that nobody is to see any more, while it is looked for what goes with them; a ``Removal`` follows.

    ``ids`` and ``named`` are what the caller meant, as ``cascade.plan`` takes it.
    """

    numbers: Sequence[int]
    ids: Sequence[str]
    named: bool


@dataclass(frozen=True)
class Removal:
    """Frames that nobody is to see any more, and hashes of what is refused from now on.

    ``ids``: of the items that were removed, and ``hashed`` those of them that follow from words, ``None`` in a note by
    a release that did not tell them apart; ``at``: when, in microseconds since 1970, where it has a line of its own in
    the audit; ``meant``: the number of the note by which some of them were hidden before.
    """

    numbers: Sequence[int] = ()
    hashes: Sequence[str] = ()
    ids: Sequence[str] = ()
    at: int | None = None
    meant: int | None = None
    hashed: Sequence[str] | None = ()

    @property
    def is_told(self) -> bool:
        """Whether it is to have a line of its own in the audit: until a ``Finished`` says so, that is still due."""
        return bool(self.numbers) or self.at is not None


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


_BLANK: Final = b'{"g":0 '
Note: TypeAlias = Meant | Removal | Finished | Embedded | Successor


def pack(note: Note) -> bytes:
    """Return the document of a note."""
    if isinstance(note, Meant):
        return orjson.dumps({"f": list(note.numbers), "ids": list(note.ids), "n": note.named})
    if isinstance(note, Removal):
        is_dated = note.ids or note.hashed or note.at is not None
        names = {"ids": note.ids, "k": note.hashed, "t": note.at} if is_dated else {}
        before = {} if note.meant is None else {"f": note.meant}
        return orjson.dumps({"x": list(note.numbers), "h": list(note.hashes), **names, **before})
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
        ids, at, meant = document.get("ids", ()), document.get("t"), document.get("f")
        return Removal(document["x"], document["h"], ids, at, meant, document.get("k"))
    if "f" in document:
        return Meant(document["f"], document["ids"], document["n"])
    if "y" in document:
        return Finished(document["y"])
    if "g" in document:
        return Embedded(document["g"])
    return Successor(document["next"]) if "next" in document else None


def blank(size: int) -> bytes:
    """Return a note of ``size`` bytes that tells nothing, 8 at the least: other releases read it as ``Embedded(0)``."""
    return _BLANK + b" " * (size - len(_BLANK) - 1) + b"}"


def is_blank(document: bytes) -> bool:
    """Return whether a document is what ``blank`` left of a forgotten one."""
    return document.startswith(_BLANK)


def is_item(document: bytes) -> bool:
    """Return whether a document holds an item, without reading it."""
    return document.startswith(b'{"i":')


def is_removal(document: bytes) -> bool:
    """Return whether a document holds a removal, without reading it."""
    return document.startswith(b'{"x":')


def is_successor(document: bytes) -> bool:
    """Return whether a document names the segment that follows, without reading it."""
    return document.startswith(b'{"next":')
