"""Notes of what has to go from the engine: written before a text goes from the store, removed when its vector has gone.

A note is a record of the hidden kind ``job``, as durable as the store; it holds names, no ids and no words. What is
named in one and still in use is left alone: its forgetting is under way, or was given up by a killed process.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Final

from ...protocols import Put, Store, Where
from ...records import JOB_PREFIX, Record
from ...text.keys import dense_key
from .engine import Line
from .registry import Registry

_PREFIX: Final = f"{JOB_PREFIX}vectors:"
_NAMES: Final = "names"
_EVERYTHING: Final = "everything"
_MOST: Final = 1_000
"""Names in one note."""
_GIVEN_UP: Final = timedelta(days=1)
"""After this long whoever wrote a note about names in use is not going to come back to it."""


@dataclass(frozen=True)
class Note:
    """Names of vectors that have to go; with ``everything`` nothing of the user is to be left."""

    id: str
    names: tuple[str, ...]
    everything: bool
    given_up: bool


def notes(store: Store, user_id: str) -> Iterator[Note]:
    """Yield the notes of a user, in order of writing."""
    now = datetime.now(timezone.utc)
    for record in store.scan(user_id, Where(kinds=("job",))):
        if record.id.startswith(_PREFIX):
            noted = record.metadata
            yield Note(record.id, tuple(noted[_NAMES]), noted[_EVERYTHING], now - record.created_at > _GIVEN_UP)


def writing(user_id: str, names: Sequence[str], *, everything: bool = False) -> list[Put]:
    """Return what notes that names have to go; nothing where there are none."""
    now = datetime.now(timezone.utc)
    return [
        Put(
            Record(
                id=_PREFIX + secrets.token_hex(10),
                text="",
                kind="job",
                user_id=user_id,
                created_at=now,
                stored_at=now,
                metadata={_NAMES: list(names[start : start + _MOST]), _EVERYTHING: everything},
            )
        )
        for start in range(0, len(names), _MOST)
    ]


class Going:
    """Notes what has to go from the engine, and has it go. What it raises says that the engine did not answer."""

    def __init__(self, store: Store, registry: Registry, line: Line) -> None:
        self._store = store
        self._registry = registry
        self._line = line

    def leaving(self, user_id: str, puts: Sequence[Put], expect: Mapping[str, int], remove: Sequence[str]) -> list[str]:
        """Return the names of the vectors that a commit makes obsolete."""
        last = {put.id: put for put in puts}
        known = [id for id in last if expect.get(id) != 0]
        changed = []
        for id, stored in zip(known, self._store.fetch(user_id, known), strict=True) if known else ():
            record = last[id].record
            before = None if stored is None else stored.record
            if before is not None and (record is None or dense_key(before) != dense_key(record)):
                changed.append(id)
        return list(self._registry.current(user_id, [*remove, *changed]).values())

    def note(self, user_id: str, names: Sequence[str], *, everything: bool = False) -> None:
        """Note in the store that names have to go, before their texts do."""
        if names:
            self._store.commit(user_id, writing(user_id, names, everything=everything))

    def settle(self, user_id: str, *, patient: bool) -> None:
        """Delete what the notes of a user name, and remove them. Raises ``VectorStoreUnavailableError``."""
        due = list(notes(self._store, user_id))
        if not due:
            return
        going = self._unused(user_id, due)
        self._line.ask(f"delete {len(going)} vectors", lambda engine: engine.delete(going), patient=patient)
        named = set(going)
        done = [note for note in due if note.given_up or named.issuperset(note.names)]
        self._store.remove(user_id, [note.id for note in done])
        if any(note.everything for note in done) and next(self._store.items(user_id), None) is None:
            self._store.remove(user_id, (), everything=True)

    def left(self, user_id: str) -> list[str]:
        """Return the names that are noted and have not gone yet."""
        due = list(notes(self._store, user_id))
        return self._unused(user_id, due) if due else []

    def _unused(self, user_id: str, due: Sequence[Note]) -> list[str]:
        """Return what notes name and nothing in the store uses any more."""
        used = set(self._registry.all(user_id).values())
        return [name for note in due for name in note.names if name not in used]
