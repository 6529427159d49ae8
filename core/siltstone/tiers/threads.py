"""Threads that last: each does one piece of work after another, and ends when none has come for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias

IDLE: Final = 10.0
"""Seconds after which a thread without work ends."""

Work: TypeAlias = Callable[[], None]


class LastingThreads:
    """As many threads as there is work at once: no work waits for other work, which may hang. Thread-safe.

    They are daemons: what hangs must not keep the process. A forked child begins anew.
    """

    def __init__(self, name: str, *, idle: float = IDLE) -> None:
        self._name, self._most_idle = name, idle
        self._changed = threading.Condition()
        self._idle: list[SimpleQueue[Work | None]] = []
        self._busy = 0
        self._closed = False

    def do(self, work: Work) -> None:
        """Begin with some work, on a thread that has none."""
        with self._changed:
            if self._idle:
                inbox = self._idle.pop()
            else:
                inbox = SimpleQueue()
                threading.Thread(target=self._run, args=(inbox,), name=self._name, daemon=True).start()
            self._busy += 1
        inbox.put(work)

    def wait(self, timeout: float) -> None:
        """Return when nothing is under way, or after ``timeout`` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, max(timeout, 0.0))

    def close(self) -> None:
        """Have all threads end with what they are doing."""
        with self._changed:
            self._closed = True
            while self._idle:
                self._idle.pop().put(None)

    def _run(self, inbox: SimpleQueue[Work | None]) -> None:
        lasts = True
        while lasts:
            try:
                work = inbox.get(timeout=self._most_idle)
            except Empty:
                with self._changed:
                    if inbox not in self._idle:
                        continue  # taken a moment ago: there is work to come
                    self._idle.remove(inbox)
                return
            if work is None:
                return
            lasts = False
            try:
                work()
                lasts = True
            finally:
                del work  # or what it works for would be held until the next
                with self._changed:
                    lasts = lasts and not self._closed
                    if lasts:
                        self._idle.append(inbox)
                    self._busy -= 1
                    self._changed.notify_all()
