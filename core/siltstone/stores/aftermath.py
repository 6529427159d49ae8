"""Errors from behind the point at which a write is on disk: they may not say that nothing was stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..errors import SiltstoneError

DONE: Final = (
    "what was asked for is on disk, and every reader sees it so; what it took out may still be in files, or lack its "
    "line in AUDIT, until the next write or opening makes up for it: there is no need to send it again"
)
BEFORE: Final = (
    "an earlier removal of this user could not be brought to its end, so nothing was stored; no reader sees what was "
    "removed: retry"
)


@contextmanager
def telling(state: str) -> Iterator[None]:
    """Let errors of the block say what failed in their own words, and what is safe in those of ``state``."""
    try:
        yield
    except SiltstoneError as exc:
        raise type(exc)(f"{str(exc).partition('; ')[0]}; {state}").quoting(exc.quoted) from exc
