"""What a store knows of vectors that lie elsewhere: their space, and their names by row. Read from it each time."""

from __future__ import annotations

from collections.abc import Iterable

from ...protocols import Fingerprint, Query, Store
from ...records import unique
from .names import is_elsewhere, names_of, told_of, user_of


class Registry:
    """The names that a store holds in the place of vectors."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def told(self) -> tuple[str, Fingerprint] | None:
        """Return the scope and the space that the store was told; ``None`` where its vectors are not elsewhere yet."""
        stored = self._store.fingerprint()
        return told_of(stored) if stored is not None and is_elsewhere(stored) else None

    def dim(self) -> int | None:
        """Return the width of the vectors, if there are any yet."""
        told = self.told()
        return None if told is None else told[1].dim

    def user(self, user_id: str) -> str:
        """Return what the engine knows a user by."""
        told = self.told()
        return user_of(user_id, "" if told is None else told[0])

    def current(self, user_id: str, ids: Iterable[str]) -> dict[int, str]:
        """Return the names of the records among the items that have one, by their rows."""
        return self._named(user_id, [one.row for one in self._store.fetch(user_id, unique(ids)) if one is not None])

    def all(self, user_id: str) -> dict[int, str]:
        """Return the names of all of a user's records that have one, by their rows. O(records)."""
        found = self._store.candidates(user_id, Query((), None))
        return self._named(user_id, found.keys[found.eligible].tolist())

    def _named(self, user_id: str, rows: list[int]) -> dict[int, str]:
        names = names_of(self._store.vectors(user_id, rows)) if rows else ()
        return {row: name for row, name in zip(rows, names, strict=True) if name is not None}
