"""Locks across a fork: a child has only the thread that forked, so that nobody is there to free what others held."""

from __future__ import annotations

import os
import threading
from weakref import WeakSet


class Guard:
    """A lock for ``with`` that a forked child finds free, whichever thread of its parent held it.

    What it guards has to make sense between any two steps: the child may have been forked there.
    """

    def __init__(self) -> None:
        self._lock = self._held = threading.Lock()
        _guards.add(self)

    def __enter__(self) -> None:
        lock = self._lock
        lock.acquire()
        self._held = lock

    def __exit__(self, *_: object) -> None:
        self._held.release()  # the one that was taken: who forks within the block leaves it twice


_guards: WeakSet[Guard] = WeakSet()


def _after_fork() -> None:
    for guard in list(_guards):
        guard._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
