"""What the store and the engine have of each other, compared: an engine may have been restored, emptied or lost.

What the engine lacks is pending from then on, until it was sent again: this process remembers what that is. What the
store does not know is deleted in the engine.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Final

from ...forks import ForkSafeLock
from ...protocols import Store
from ...records import Record
from .engine import Line
from .registry import Registry

logger = logging.getLogger("siltstone")

_LOOKED_AT: Final = 16
"""Names of a user that are looked up at the first touch, to see whether the engine still has what it was sent."""


class Comparing:
    """Finds what either side has alone. What it raises says that the engine did not answer. Thread-safe."""

    def __init__(self, store: Store, registry: Registry, line: Line) -> None:
        self._store, self._registry, self._line = store, registry, line
        self._lock = ForkSafeLock()
        self._looked: set[str] = set()
        self._lost: dict[str, set[str]] = {}

    def reconcile(self, user_id: str, *, grace: float) -> int:
        """Compare all of a user, both ways; return how many differences there were.

        What the store does not know is deleted once it is older than ``grace`` seconds, for its write may be under way.
        """
        missing = self._missing(user_id, self._registry.all(user_id))
        user = self._registry.user(user_id)
        listed = self._line.ask("list a user's vectors", lambda engine: engine.listed(user))
        before = time.time() - grace
        used = set(self._registry.all(user_id).values())
        unknown = [name for name, sent in (listed or {}).items() if name not in used and sent <= before]
        if unknown:
            self._line.ask(f"delete {len(unknown)} vectors", lambda engine: engine.delete(unknown))
            logger.warning(
                "%d vectors in %s belonged to no text and were deleted", len(unknown), self._line.engine.name
            )
        return len(missing) + len(unknown)

    def look(self, user_id: str) -> None:
        """See at the first touch of a user, by a few names, whether the engine still has what it was sent."""
        if user_id in self._looked or self._registry.dim() is None:
            return
        self._looked.add(user_id)
        names = list(self._registry.all(user_id).items())
        step = max(1, len(names) // _LOOKED_AT)
        if names and self._missing(user_id, dict([*names[::step], names[-1]])):
            self._missing(user_id, dict(names))

    def _missing(self, user_id: str, names: Mapping[int, str]) -> list[str]:
        """Return the ids of records whose vectors the engine lacks, which are pending from now on."""
        there = self._line.ask("give vectors back", lambda engine: engine.fetch(list(names.values())))
        keys = [key for key, name in names.items() if name not in there]
        lost = [record.id for record in self._store.resolve(user_id, keys) if record is not None]
        if lost:
            logger.warning("%d vectors are missing in %s; they are made anew", len(lost), self._line.engine.name)
            with self._lock:
                self._lost.setdefault(user_id, set()).update(lost)
        return lost

    # --- what the engine was found to lack

    def lacking(self, user_id: str) -> dict[str, Record]:
        """Return the records whose vectors the engine lacks, by id, as far as they are still there."""
        with self._lock:
            lost = sorted(self._lost.get(user_id, ()))
        again = [stored.record for stored in self._store.fetch(user_id, lost) if stored is not None]
        known = {record.id: record for record in again if record is not None}
        with self._lock:
            self._lost.get(user_id, set()).intersection_update(known)
        return known

    def count(self, user_id: str) -> int:
        """Return how many these are."""
        with self._lock:
            return len(self._lost.get(user_id, ()))

    def sent(self, user_id: str, ids: Iterable[str]) -> None:
        """Take note that records' vectors were sent again."""
        with self._lock:
            self._lost.get(user_id, set()).difference_update(ids)
