"""Locks across a fork: a child has only the thread that forked, so that nobody is there to free what others held.

``ForkSafeLock`` is for what a child may find half done; ``unforked`` for what it may not: a library with threads of its
own, as BLAS has for large products, waits for ever in a child that was forked while another thread was starting them.
"""

from __future__ import annotations

import os
import threading
from typing import Final
from weakref import WeakSet


class ForkSafeLock:
    """A lock for ``with`` that a forked child finds free, whichever thread of its parent held it.

    What it guards has to make sense between any two steps: the child may have been forked there.
    """

    def __init__(self) -> None:
        self._lock = self._held = threading.Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        lock = self._lock
        lock.acquire()
        self._held = lock

    def __exit__(self, *_: object) -> None:
        self._held.release()  # the one that was taken: who forks within the block leaves it twice


unforked: Final = threading.RLock()
"""``with unforked:`` around work during which this process must not be forked; a fork waits for its end."""

_locks: WeakSet[ForkSafeLock] = WeakSet()


def _in_child() -> None:
    for lock in list(_locks):
        lock._lock = threading.Lock()
    unforked.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=unforked.acquire, after_in_parent=unforked.release, after_in_child=_in_child)
