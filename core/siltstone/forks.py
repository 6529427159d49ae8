"""Locks across a fork: a child has only the thread that forked, so that nobody is there to free what others held.

``ForkSafeLock`` is for what a child may find half done; ``unforked`` for what it may not: a library with threads of its
own, as BLAS has for large products, waits for ever in a child that was forked while another thread was starting them,
and so does an import that another thread was amid.
``ForkSafeEvent`` is for what a child tells or asks, too: an event of ``threading`` holds a lock within.
``cached`` is for what is computed once: until Python 3.12 ``functools.cached_property`` holds a lock, which a child
finds held where another thread was amid it. ``ForkSafeThreads`` is for threads, which a child has to start anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload
from weakref import WeakSet

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


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


class ForkSafeEvent:
    """An event that a forked child can set and wait for, whichever thread of its parent was amid that.

    One that was set still is.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        _events.add(self)

    def is_set(self) -> bool:
        """Return whether it has been set."""
        return self._event.is_set()

    def set(self) -> None:
        """Set it for good, and let go whoever waits."""
        self._event.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Return when it is set, or after ``timeout`` seconds; whether it is set."""
        return self._event.wait(timeout)


class ForkSafeThreads:
    """At most ``count`` threads, started as they are needed; a forked child gets its own."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._made: tuple[int, ThreadPoolExecutor] | None = None

    @property
    def pool(self) -> ThreadPoolExecutor:
        """The threads of this process."""
        if self._made is None or self._made[0] != os.getpid():
            self._made = (os.getpid(), ThreadPoolExecutor(self._count, thread_name_prefix="siltstone"))
        return self._made[1]

    def close(self) -> None:
        """Let the threads of this process end with what they are doing; nobody waits for them."""
        if self._made is not None and self._made[0] == os.getpid():
            self._made[1].shutdown(wait=False)


class cached(Generic[T]):
    """A property that is computed once for an object, without a lock: by two threads at once it is computed twice."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)  # found there from now on
        return value


unforked: Final = threading.RLock()
"""``with unforked:`` around work during which this process must not be forked; a fork waits for its end."""

_locks: WeakSet[ForkSafeLock] = WeakSet()
_events: WeakSet[ForkSafeEvent] = WeakSet()


def _in_child() -> None:
    for lock in list(_locks):
        lock._lock = threading.Lock()
    for event in list(_events):
        was_set, event._event = event.is_set(), threading.Event()
        if was_set:
            event.set()
    unforked.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=unforked.acquire, after_in_parent=unforked.release, after_in_child=_in_child)
