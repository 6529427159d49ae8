"""How much one caller, and all together, may ask of the service."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Final

_MOST_CALLERS: Final = 10_000


@dataclass(frozen=True)
class Limits:
    """What is refused, with 413, 408 or 429.

    ``max_body``      bytes of a request that is read whole
    ``max_import``    bytes of an import, which is read as a stream
    ``rate``          requests a second of one caller (a token; an address where there is none); ``None``: any number
    ``burst``         how many of them may come at once, after a pause
    ``concurrency``   requests that are worked on at once; one token leaves an eighth of them to others
    ``patience``      seconds for which the service waits for more of a body, or for one that comes by drops
    """

    max_body: int = 8 << 20
    max_import: int = 1 << 30
    rate: float | None = 100.0
    burst: int = 200
    concurrency: int = 64
    patience: float = 30.0


class Rates:
    """A bucket of tokens for each caller: it fills with time, and each request takes one. For one thread."""

    def __init__(self, limits: Limits) -> None:
        self._rate, self._burst = limits.rate, float(limits.burst)
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, caller: str, now: float) -> float:
        """Take one for a request of ``caller`` at ``now`` seconds; return 0, or how many seconds are to be waited."""
        if self._rate is None:
            return 0.0
        left, seen = self._buckets.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - seen) * self._rate)
        wait = 0.0 if left >= 1.0 else (1.0 - left) / self._rate
        self._buckets[caller] = (left - 1.0 if wait == 0.0 else left, now)
        if len(self._buckets) > _MOST_CALLERS:
            del self._buckets[next(iter(self._buckets))]  # who has asked least recently
        return wait


class Places:
    """Where requests are worked on: ``most`` at once; each caller leaves ``spared`` to others. For one thread."""

    def __init__(self, most: int, *, spared: int = 0) -> None:
        self._most, self._most_of_one = most, most - spared
        self._taken: Counter[str] = Counter()

    def enter(self, caller: str) -> bool:
        """Take a place for a request of ``caller``; return whether there was one."""
        if self._taken.total() >= self._most or self._taken[caller] >= self._most_of_one:
            return False
        self._taken[caller] += 1
        return True

    def leave(self, caller: str) -> None:
        """Give a place back."""
        self._taken[caller] -= 1
        self._taken += Counter()  # drops who has none


def retry_after(seconds: float) -> dict[str, str]:
    """Return the header that says when to try again."""
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
