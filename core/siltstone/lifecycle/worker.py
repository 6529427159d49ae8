"""The background worker: one thread that consolidates the users who have been written to, while they talk on.

It keeps no queue that could be lost: what is due follows from the store. A write only wakes it. Where the store keeps
a queue for many workers (``protocols.SharesWork``), it does its part of that, whoever has written.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Final

from ..errors import for_log
from ..protocols import SharesWork
from ..settings import Settings
from .consolidate import Consolidator
from .shared import MARGIN, Share

logger = logging.getLogger("siltstone")

EXIT_WAIT: Final = 30.0
"""Seconds that the end of a process waits for the run under way, which may be inside a model's native code."""
_POLL: Final = 0.2
"""Seconds, at least, between two looks at the queue of a store that many workers share."""


class Worker:
    """Consolidates users some time after they were written to. Thread-safe; a forked child has a worker of its own.

    A user is looked at ``Settings.worker_pause`` seconds after a write, and again when the session has been silent
    long enough to be compressed, and to be over. What fails is announced, and tried again.
    """

    def __init__(self, consolidator: Consolidator, settings: Settings, queue: SharesWork | None = None) -> None:
        """``queue``: of a store that many workers share."""
        self.last_error: str | None = None
        self._share = None if queue is None else Share(consolidator, queue, settings)
        self._consolidator = consolidator
        self._settings = settings
        self._condition = threading.Condition()
        self._due: dict[str, list[float]] = {}
        self._thread: threading.Thread | None = None
        self._closing = False
        _workers.add(self)

    def wake(self, user_id: str) -> None:
        """Have a user consolidated soon. O(1)."""
        settings = self._settings
        now = time.monotonic()
        with self._condition:
            if self._closing:
                return
            soon = min(self._due.get(user_id, [now + settings.worker_pause])[0], now + settings.worker_pause)
            silences = (settings.span_idle, settings.session_idle)
            if self._share is None:
                self._due[user_id] = sorted([soon, *(now + silence + MARGIN for silence in silences)])
            self._start()
            self._condition.notify_all()

    def take_part(self) -> None:
        """Begin with what others have left in the queue of a store that many workers share, if it is one."""
        with self._condition:
            if self._share is not None and not self._closing:
                self._start()

    def _start(self) -> None:
        if self._thread is None:
            work = self._work if self._share is None else self._work_along
            self._thread = threading.Thread(target=work, name="siltstone-worker", daemon=True)
            self._thread.start()

    def close(self, wait: float) -> None:
        """Stop after the run under way, for which at most ``wait`` seconds are waited; what it leaves stays due."""
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(wait, 0.0))

    def _work(self) -> None:
        while (user_id := self._next()) is not None:
            try:
                report = self._consolidator.run(user_id)
                put_off = self._consolidator.put_off(user_id)
            except Exception as exc:  # nobody to raise to: noted, announced, and tried again
                if self._closing:
                    return
                self._failed(exc)
                self._again(user_id)
            else:
                self.last_error = None
                if put_off is not None or report.count("fail") or report.count("wait"):
                    self._again(user_id, max(self._consolidator.wait, put_off or 0.0))

    def _work_along(self) -> None:
        """Take one user after the other from the queue; when nobody is due, look again after a while."""
        assert self._share is not None
        while not self._closing:
            try:
                found = self._share.run_next() is not None
            except Exception as exc:  # nobody to raise to: noted, announced, and tried again by whoever is first
                if self._closing:
                    return
                self._failed(exc)
                found = False
            else:
                if found:  # that nobody is due tells nothing of who failed
                    self.last_error = None
            with self._condition:
                if not (found or self._closing):
                    self._condition.wait(max(self._settings.worker_pause, _POLL))

    def _next(self) -> str | None:
        """Wait for a user who is due, and return them; ``None`` when closing."""
        with self._condition:
            while not self._closing:
                user_id = min(self._due, key=lambda user: self._due[user][0], default=None)
                if user_id is None:
                    self._condition.wait()
                    continue
                wait = self._due[user_id][0] - time.monotonic()
                if wait <= 0:
                    self._due[user_id].pop(0)
                    if not self._due[user_id]:
                        del self._due[user_id]
                    return user_id
                self._condition.wait(min(wait, threading.TIMEOUT_MAX))  # a silence may be infinite
        return None

    def _again(self, user_id: str, wait: float = 0.0) -> None:
        with self._condition:
            later = time.monotonic() + max(wait, self._settings.retry_wait)
            self._due[user_id] = sorted([*self._due.get(user_id, []), later])

    def _failed(self, exc: Exception) -> None:
        if self.last_error is None:
            logger.warning("consolidation failed, and is tried again: %s", for_log(exc))
        self.last_error = f"{type(exc).__name__}: {exc}"

    def forked(self) -> None:
        """Begin anew in a forked child, which has none of its parent's threads."""
        self._thread, self._condition, self._due = None, threading.Condition(), {}


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


def _living() -> Sequence[Worker]:
    return list(_workers)


def _forked() -> None:
    for worker in _living():
        worker.forked()


os.register_at_fork(after_in_child=_forked)


@atexit.register
def _settle_all() -> None:
    deadline = time.monotonic() + EXIT_WAIT
    for worker in _living():
        worker.close(deadline - time.monotonic())
