"""The contract of a reader: one format of one program, turned into what a memory can store.

A reader knows its format by looking inside, reads it in a stream, and decides nothing: what is stored already, what
was forgotten, what has changed, is for ``siltstone.transfer``. What it cannot read it yields as ``Unreadable``, so
that it is counted and named. A new format is one file with one reader, and its line in ``formats.READERS``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ..protocols import Floats, Stored
from ..records import Message, Record
from .source import Source


@dataclass(frozen=True)
class Copied:
    """An item of a siltstone store, all its versions, the oldest first. Whose it was (``user_id``) does not count.

    ``vector`` is that of the newest version's ``dense_key``, in an embedding space that is still to be proven.
    """

    versions: tuple[Stored, ...]
    vector: Floats | None = None


@dataclass(frozen=True)
class Said:
    """A message of another program, with the session and the id by which it is known when it is read again."""

    message: Message


@dataclass(frozen=True)
class Noted:
    """A text of another program that is no message, as a record with an id of its own; ``vector`` as in ``Copied``.

    ``made_by`` names the program; whose it is and when it was created and stored are set when it is stored.
    """

    record: Record
    vector: Floats | None = None


@dataclass(frozen=True)
class Unreadable:
    """Something in the source that is not what the format promises, and why."""

    reason: str


@dataclass(frozen=True)
class Found:
    """One thing in a source: where it stands (``line 12``), and what it is."""

    where: str
    item: Copied | Said | Noted | Unreadable


Items: TypeAlias = Iterator[Found]


@dataclass(frozen=True)
class Reading:
    """What a reader makes of a source: its items, as a stream, and how many there will be, if that is known."""

    items: Items
    total: int | None = None


class Reader(Protocol):
    """Reads one format."""

    @property
    def format(self) -> str:
        """What ``format=`` calls it."""

    def recognises(self, source: Source) -> bool:
        """Return whether the source looks like this format from inside. Reads little."""

    def read(self, source: Source) -> Reading:
        """Read the source. Raises ``InvalidInputError`` where it is not this format as a whole."""
