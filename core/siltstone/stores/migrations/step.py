"""What one step from a format to the next says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..encryption.cipher import Keys


def _no_files(root: str) -> Iterable[str]:
    return ()


def _nothing(root: str, keys: Keys) -> None:
    return None


@dataclass(frozen=True)
class Step:
    """The step to the format ``to`` from the one before.

    ``why``       what the older format cannot say, in a few words
    ``touches``   the files that ``apply`` is going to change, as paths below the store's folder; each is copied first
    ``apply``     changes them, with the store's keys. After a kill it runs again, on the files as they were; what it
                  made it may find there
    ``readable``  this release reads the older format as it is, without writing
    """

    to: int
    why: str
    touches: Callable[[str], Iterable[str]] = _no_files
    apply: Callable[[str, Keys], object] = _nothing
    readable: bool = False
