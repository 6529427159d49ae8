"""Vectors that come late: an add waits for its vectors a moment, and the rest follows.

What has no vector is a fact of the store (``Store.pending``), not a list of ours: a killed process forgets nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Sequence

import numpy as np

from ..errors import BackendUnavailableError, SiltstoneError
from ..protocols import Embedder, Floats, Store
from ..records import Record
from ..text.keys import dense_key

logger = logging.getLogger("siltstone")


class Embedding:
    """The vectors of one write, computed batch by batch on another thread."""

    def __init__(self, queue: VectorQueue, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self._queue = queue
        self._rows: list[Floats] = []
        self._error: Exception | None = None
        self._finished = threading.Event()
        self._lock = threading.Lock()
        self._taken = 0
        self._target: tuple[str, Sequence[Record]] | None = None

    def run(self) -> None:
        """Compute all batches; hand on what comes after the write was committed."""
        try:
            for start in range(0, len(self.texts), self._queue.batch):
                rows = self._queue.embedder.embed_documents(self.texts[start : start + self._queue.batch])
                with self._lock:
                    self._rows.extend(rows)
                self._hand_on()
                if self._queue.closing:
                    break
        except Exception as exc:  # kept, and raised or queued by whoever waits
            self._error = exc
            self._queue.failed(exc)
        finally:
            self._finished.set()
            if self._target is not None:
                self._queue.wake(self._target[0])

    def ready(self) -> list[Floats]:
        """Return the leading rows that are there within the wait.

        Raises what siltstone knows to be wrong with the embedder (NaN, another width or space, a missing
        package): nothing was stored then. One that cannot be reached, or that fails in its own way, leaves its
        texts to the queue.
        """
        self._finished.wait(self._queue.wait)
        with self._lock:
            if isinstance(self._error, SiltstoneError) and not isinstance(self._error, BackendUnavailableError):
                raise self._error
            self._taken = len(self._rows)
            return list(self._rows)

    def deliver(self, user_id: str, records: Sequence[Record]) -> None:
        """Say which committed records the rows belong to, so that late ones can be attached."""
        if self._taken == len(records):
            return
        self._target = (user_id, records)
        self._hand_on()
        if self._finished.is_set():
            self._queue.wake(user_id)

    def _hand_on(self) -> None:
        if self._target is None:
            return
        user_id, records = self._target
        with self._lock:
            start, rows = self._taken, self._rows[self._taken :]
            self._taken = len(self._rows)
        if rows and not self._queue.closing:
            self._queue.store.put_vectors(user_id, records[start : start + len(rows)], np.stack(rows))


class VectorQueue:
    """Embeds what is written, at once where the embedder is quick, later where it is not.

    ``wait`` in seconds is how long a write waits; ``batch`` how many texts go to the embedder at once. Retries
    back off from one second to a minute. Thread-safe.
    """

    def __init__(self, store: Store, embedder: Embedder, *, wait: float, batch: int, writes: bool) -> None:
        self.store = store
        self.embedder = embedder
        self.wait = wait
        self.batch = batch
        self.closing = not writes
        self._resumed: set[str] = set()
        self.last_error: str | None = None
        self._pid = os.getpid()
        self._users: dict[str, None] = {}
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._warned = False

    def embed(self, texts: Sequence[str]) -> Embedding:
        """Start embedding texts; the caller asks ``ready`` and later says where rows belong by ``deliver``."""
        embedding = Embedding(self, texts)
        if texts:  # a daemon, so that a hanging service cannot keep the process from ending
            threading.Thread(target=embedding.run, name="siltstone-embed", daemon=True).start()
        else:
            embedding.run()
        return embedding

    def resume(self, user_id: str) -> None:
        """Have what an earlier process left pending embedded, once per user and opening."""
        if user_id not in self._resumed:
            self._resumed.add(user_id)
            if self.store.stats(user_id).pending_vectors:
                self.wake(user_id)

    def wake(self, user_id: str) -> None:
        """Have what this user still lacks embedded in the background."""
        if self._pid != os.getpid():  # a forked child has none of its parent's threads
            self._pid, self._thread, self._condition = os.getpid(), None, threading.Condition()
        with self._condition:
            if self.closing:
                return
            self._users[user_id] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="siltstone-vectors", daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def drain(self, user_id: str, deadline: float | None = None) -> int:
        """Embed what is pending now, on this thread, until ``deadline`` (``time.monotonic``); return what is left.

        Raises what the embedder raises; nothing is lost by that.
        """
        while True:
            records = self.store.pending(user_id, self.batch)
            if not records:
                return 0
            if self.closing or (deadline is not None and time.monotonic() >= deadline):
                return self.store.stats(user_id).pending_vectors
            vectors = self.embedder.embed_documents([dense_key(record) for record in records])
            if self.closing:
                continue
            self.store.put_vectors(user_id, records, vectors)
            self.last_error = None

    def flush(self, user_id: str, timeout: float | None) -> None:
        """Wait until every text of the user can be found by meaning.

        Raises ``BackendUnavailableError`` when ``timeout`` (seconds) is over, and what the embedder raises.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        left = self.drain(user_id, deadline)
        if left:
            raise BackendUnavailableError(
                f"{left} texts still lack a vector after {timeout} s; they are stored, found by their words, "
                "and stay queued"
            )

    def failed(self, exc: Exception) -> None:
        """Note a failure of the embedder; the first one is logged as a warning."""
        self.last_error = f"{type(exc).__name__}: {exc}"
        if not self._warned:
            self._warned = True
            logger.warning("the embedder failed (%s); texts are stored and queued for it", self.last_error)

    def close(self, wait: float) -> None:
        """Give queued vectors up to ``wait`` seconds, then stop; the rest stays pending in the store."""
        deadline = time.monotonic() + wait
        with self._condition:
            users = list(self._users)
        for user_id in users:
            try:
                self.drain(user_id, deadline)
            except SiltstoneError as exc:
                self.failed(exc)  # they stay pending: counted by stats, resumed at the next open
                break
        with self._condition:
            self.closing = True
            self._condition.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(max(deadline - time.monotonic(), 1.0))

    def _work(self) -> None:
        pause = 1.0
        while True:
            with self._condition:
                while not self._users and not self.closing:
                    self._condition.wait()
                if self.closing:
                    return
                user_id = next(iter(self._users))
            try:
                self.drain(user_id)
            except Exception as exc:  # a background thread has nobody to raise to: noted, and tried again
                self.failed(exc)
                with self._condition:
                    if user_id in self._users:  # the others' turn first
                        self._users[user_id] = self._users.pop(user_id)
                    self._condition.wait_for(lambda: self.closing, timeout=pause)
                pause = min(pause * 2, 60.0)
            else:
                pause = 1.0
                with self._condition:
                    self._users.pop(user_id, None)
