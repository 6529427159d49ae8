"""The contract of a reader: one format of one program, turned into what a memory can store.

A reader knows its format by looking inside, reads it in a stream, and decides nothing: what is stored already, what
was forgotten, what has changed, is for ``siltstone.transfer``. What it cannot read it yields as ``Unreadable``, so
that it is counted and named. A new format is one file with one reader, and its line in ``formats.READERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Final, Protocol, TypeAlias

from ..protocols import Floats, Stored
from ..records import Message, Record
from .source import Source


@dataclass(frozen=True)
class Copied:
    """An item of a siltstone store, all its versions, the oldest first. Whose it was (``user_id``) does not count.

    ``vector`` is that of the newest version's ``dense_key``, in an embedding space that is still to be proven.
    ``evicted`` are sources that it rests on though they are not there any more.
    """

    versions: tuple[Stored, ...]
    vector: Floats | None = None
    evicted: tuple[str, ...] = ()


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


UNTIMED: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""Stands in the record of a ``Noted`` for the times that are set when it is stored."""


@dataclass(frozen=True)
class Unreadable:
    """Something in the source that is not what the format promises, and why."""

    reason: str


@dataclass(frozen=True)
class PassedOver:
    """Something that says nothing worth remembering (a notice of the program, a picture), and why."""

    reason: str


@dataclass(frozen=True)
class Whole:
    """The end of something whose parts are known by their place: ``prefix`` and a number from 1 to ``count``.

    What an earlier reading found behind that is no longer in the source.
    """

    prefix: str
    count: int


@dataclass(frozen=True)
class Part:
    """A piece of a source that its reader can read alone: a conversation, a message, a line.

    ``about`` is what the reader must know besides of what stands around it, as JSON; ``value`` the piece itself, as
    JSON, or ``text`` where it is none.
    """

    format: str
    where: str
    about: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    text: str | None = None


@dataclass(frozen=True)
class Found:
    """One thing in a source: where it stands (``line 12``), what it is, and the part that it was read from."""

    where: str
    item: Copied | Said | Noted | Unreadable | PassedOver | Whole
    part: Part | None = None


Items: TypeAlias = Iterator[Found]


@dataclass(frozen=True)
class Reading:
    """What a reader makes of a source: its items, as a stream, and how many there will be, if that is known.

    Where it is not, ``share`` says how much of the source has been read by now, 0 to 1. ``notes`` are sentences on the
    source as a whole, complete when the items have been read. ``format`` is what the source turned out to be, where
    it holds another format than its reader's.
    """

    items: Items
    total: int | None = None
    share: Callable[[], float] | None = None
    notes: list[str] = field(default_factory=list)
    format: str | None = None

    def expected(self, done: int) -> int:
        """Return how many items there will be, ``done`` at least, as far as that can be told after so many."""
        share = self.share() if self.total is None and self.share is not None else 0.0
        return max(done, self.total or 0, round(done / share) if share else 0)


class Reader(Protocol):
    """Reads one format."""

    @property
    def format(self) -> str:
        """What ``format=`` calls it."""

    def recognises(self, source: Source) -> bool:
        """Return whether the source looks like this format from inside. Reads little."""

    def read(self, source: Source) -> Reading:
        """Read the source. Raises ``InvalidInputError`` where it is not this format as a whole."""

    def again(self, part: Part) -> Items:
        """Read a part of an earlier reading alone."""
