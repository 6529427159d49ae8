"""Moving a whole store into another one of any kind, as it is: what both sides give to ``transfer.migrating``.

A store that is moved takes its secret along, so that what it refuses as forgotten is recognised there by the same
hashes. Until the move has come to its end the target is half done: nobody else opens it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..errors import ConfigurationError, ConflictError, StoreCorruptedError
from ..index.vectors import Halves
from ..protocols import KeepsOwed, KeepsUsage, Store, Stored
from .files.auditfile import Deed


@dataclass(frozen=True)
class Kept:
    """One version of an item, whether it is the present one, and the vector of its record, bit for bit."""

    stored: Stored
    live: bool = True
    vector: Halves | None = None


@runtime_checkable
class Movable(Store, KeepsUsage, KeepsOwed, Protocol):
    """A store whose whole content can be read, and written, as it is."""

    @property
    def encrypted(self) -> bool:
        """Whether what it keeps is encrypted."""

    @property
    def secret(self) -> bytes:
        """What keys the hashes of the store, 16 bytes; whoever has it can try ids and texts on them."""

    def everybody(self) -> Iterator[str]:
        """Yield all who have anything, or to whom anything is refused; ``StoreCorruptedError`` for one without name."""

    def kept_count(self, user_id: str) -> int:
        """Return how many versions ``kept`` yields."""

    def kept(self, user_id: str) -> Iterator[Kept]:
        """Yield every version of every item, in the order in which they are to be written; see ``table.kept``.

        Raises ``StoreCorruptedError`` where one cannot be read, ``ConflictError`` where one goes meanwhile.
        """

    def refusing(self, user_id: str) -> set[str]:
        """Return the hashes of all that is refused to a user."""

    def deeds(self) -> Iterator[Deed]:
        """Yield the lines of the audit, the oldest first."""

    def load(self, user_id: str, kept: Sequence[Kept], after: int) -> None:
        """Write versions all or none, behind the ``after`` versions that are there; on disk when it returns.

        Nobody is asked whether they are refused. Raises ``ConflictError`` where there are more or fewer.
        """

    def refuse(self, user_id: str, hashes: Set[str]) -> None:
        """Refuse from now on what the hashes stand for."""

    def note(self, deeds: Iterable[Deed]) -> None:
        """Write lines of the audit that are not there yet."""

    def discard(self, user_id: str) -> None:
        """Take out all that a user has, as if it had never been written."""

    def settle(self) -> None:
        """Let others open the store: the move has come to its end."""


def half_done(location: str) -> ConfigurationError:
    """Return the error of opening a store that a migration is still to fill."""
    return ConfigurationError(
        f"a migration into {location} has not come to its end: nothing was opened, and its source is as it was; run "
        f"siltstone migrate FROM {location} again and it goes on, or go on using the source"
    )


def check_place(present: int, after: int, user_id: str) -> None:
    """Raise ``ConflictError`` where somebody else has written versions of a user meanwhile."""
    if present != after:
        raise ConflictError(
            f"another process writes what user {user_id!r} has, perhaps the same migration: this one stopped; wait for "
            "the other, or end it, and run the same command again"
        )


def unreadable(location: str, what: str) -> StoreCorruptedError:
    """Return the error of a source that cannot be read whole."""
    return StoreCorruptedError(
        f"{location} cannot be moved whole: {what}; it is as it was: siltstone verify --store {location} says what is "
        "lost, and with --repair mends what can be mended"
    )


def changed(location: str, user_id: str) -> ConflictError:
    """Return the error of a source that is written to while it is read."""
    return ConflictError(
        f"what user {user_id!r} has in {location} was changed while it was read: stop what writes to it, and run the "
        "same command again; it goes on"
    )
