"""What one step from a format to the next says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


def _nothing(root: str) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Step:
    """The step to the format ``to`` from the one before.

    ``why``       what the older format cannot say, in a few words
    ``touches``   the files that ``apply`` is going to change, as paths below the store's folder; each is copied first
    ``apply``     changes them. After a kill it runs again, on the files as they were; what it made it may find there
    ``readable``  this release reads the older format as it is, without writing
    """

    to: int
    why: str
    touches: Callable[[str], Iterable[str]] = _nothing
    apply: Callable[[str], object] = _nothing
    readable: bool = False
