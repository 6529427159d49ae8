"""Each user's own space, measured from a sample of vectors that lie in an engine; see ``index.whitening``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..forks import ForkSafeLock
from ..index.whitening import LEAST, Whitening, whitening
from ..protocols import Floats

MANY: Final = 256
"""Users whose spaces are kept in memory: up to 0.6 MB each at 384 numbers a vector."""


@dataclass(frozen=True)
class _Space:
    whitening: Whitening | None
    measured_at: int


class Spaces:
    """The spaces that this process has measured. Thread-safe."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._known: dict[str, _Space] = {}

    def clear(self) -> None:
        """Forget what was measured: the vectors are others."""
        with self._lock:
            self._known.clear()

    def drop(self, user_id: str) -> None:
        """Forget what was measured of a user."""
        with self._lock:
            self._known.pop(user_id, None)

    def whitened(self, user_id: str, count: int, query: Floats, sample: Callable[[], Floats]) -> Floats:
        """Return the query as it is compared in the user's own space, of unit length.

        ``count`` is how many vectors the user has; ``sample`` fetches some, when they have grown by a quarter.
        """
        with self._lock:
            known = self._known.get(user_id)
        at = 0 if known is None else known.measured_at
        if known is None or count >= at + (at >> 2) + LEAST or count < at // 4:
            known = _Space(whitening(sample()) if count >= LEAST else None, count)
            with self._lock:
                while len(self._known) >= MANY:
                    self._known.pop(next(iter(self._known)))
                self._known[user_id] = known
        return query if known.whitening is None else known.whitening(query)
