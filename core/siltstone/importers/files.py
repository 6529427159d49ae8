"""Reads a folder or a zip archive: each file in it by the reader that recognises it.

Files that hold no conversation (pictures, pages, settings) are counted and named in the notes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..errors import InvalidInputError
from .archive import DamagedError
from .failed import ENDING
from .reader import Found, Items, Part, Reader, Reading, Unreadable
from .source import Source

_NAMED: Final = 5
_DEEP: Final = 8
"""Folders in folders that are looked into."""


@dataclass(frozen=True)
class _Member:
    """A file that will be read, not yet opened: thousands of them hold little."""

    name: str
    reader: Reader
    size: int


class Files:
    """The reader of what holds files of other formats; ``readers`` are those, in the order in which they are asked."""

    format = "files"

    def __init__(self, readers: Callable[[], Sequence[Reader]], only: str | None = None) -> None:
        self._readers, self._only = readers, only

    def recognises(self, source: Source) -> bool:
        """Return whether any file of the folder or archive is recognised, or too damaged to be."""
        damaged: list[Found] = []
        return source.folder and (any(True for _ in self._members(source, [], damaged)) or bool(damaged))

    def read(self, source: Source) -> Reading:
        """Read the files one after the other, by name. Raises ``InvalidInputError`` where none is recognised."""
        left, damaged = list[str](), list[Found]()
        members = list(self._members(source, left, damaged))
        if not members and not damaged:
            raise InvalidInputError(f"{source.name} holds no file that can be read: nothing was imported")
        notes = [_left(source.name, left)] if left else []
        total = sum(member.size for member in members) or 1
        done = 0
        current = source

        def items() -> Items:
            nonlocal done, current
            yield from damaged
            for member in members:
                current = source.member(member.name)
                yield from _items(member.name, current, member.reader, notes)
                done += member.size

        def share() -> float:
            return min((done + current.position) / total, 1.0)

        formats = dict.fromkeys(member.reader.format for member in members)
        return Reading(items(), share=share, notes=notes, format=", ".join(formats) or self.format)

    def again(self, part: Part) -> Items:
        """Raise ``InvalidInputError``: parts are those of the files' own formats."""
        raise InvalidInputError("a folder has no parts of its own")

    def _members(self, source: Source, left: list[str], damaged: list[Found]) -> Iterator[_Member]:
        """Yield what will be read; note in ``left`` what holds nothing to read, in ``damaged`` what cannot be."""
        for name in names_in(source):
            try:
                member = source.member(name)
            except DamagedError as exc:
                damaged.append(Found(name, Unreadable(str(exc))))
                continue
            except InvalidInputError as exc:
                left.append(f"{name} ({exc})")
                continue
            reader = None if member.folder else self._reader(member)
            if reader is None:
                left.append(name)
            else:
                yield _Member(name, reader, member.size or 0)

    def _reader(self, member: Source) -> Reader | None:
        wanted = (reader for reader in self._readers() if self._only in (None, reader.format))
        return next((reader for reader in wanted if reader.recognises(member)), None)


def _items(name: str, member: Source, reader: Reader, notes: list[str]) -> Items:
    try:
        reading = reader.read(member)
    except InvalidInputError as exc:
        yield Found(name, Unreadable(str(exc)))
        return
    for found in reading.items:
        part = None if found.part is None else replace(found.part, where=f"{name}, {found.part.where}")
        yield Found(f"{name}, {found.where}", found.item, part)
    notes += reading.notes


def names_in(source: Source) -> Iterator[str]:
    """Yield the names of the files, without those that are hidden; links are not followed."""
    if source.is_archive:
        yield from sorted(name for name in source.names if not _is_hidden(name))
        return
    root = source.place
    for folder, folders, files in os.walk(root):
        inside = os.path.relpath(folder, root)
        folders[:] = sorted(name for name in folders if not _is_hidden(name) and inside.count(os.sep) < _DEEP)
        for name in sorted(files):
            path = os.path.normpath(os.path.join(inside, name))
            if not _is_hidden(name) and os.path.isfile(os.path.join(root, path)):
                yield path


def _is_hidden(name: str) -> bool:
    """Return whether a file is none of the user's own: hidden, of macOS's making, or what failed before."""
    parts = [part for part in name.split("/") if part not in (".", "..")]
    return name.endswith(ENDING) or any(part.startswith((".", "__MACOSX")) for part in parts)


def _left(name: str, left: Sequence[str]) -> str:
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    files = "1 file holds" if len(left) == 1 else f"{len(left)} files hold"
    return f"{files} nothing that can be read, in {name}: {', '.join(left[:_NAMED])}{more}"
