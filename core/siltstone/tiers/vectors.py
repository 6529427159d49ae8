"""Vectors that come late: a write waits for its vectors a moment, and the rest follows in the background.

What has no vector is a fact of the store (``Store.pending``), not a list of ours: a killed process forgets nothing.
The embedder is only ever called on threads of ours, so that one that hangs holds up nobody for long.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from ..errors import BackendUnavailableError, SiltstoneError, for_log
from ..protocols import PROBE, Embedder, Fingerprint, Floats, KeepsVectorsElsewhere, Store
from ..records import Record
from ..stores.vectorstore.engine import VectorStoreUnavailableError
from ..text.keys import dense_key
from .threads import LastingThreads

logger = logging.getLogger("siltstone")

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds between attempts with an embedder that fails; each pause is twice the one before."""
MUTED: Final = 30.0
"""Seconds for which questions are not put to an embedder that failed."""
EXIT_WAIT: Final = 30.0
"""Seconds that the end of a process waits for the batches under way: the interpreter aborts when it goes down while a
thread is inside a model's native code."""


class VectorQueue:
    """Embeds what is written, at once where the embedder is quick, later where it is not.

    ``wait`` is how many seconds a write waits; ``batch`` how many texts go to the embedder at once; ``writes``
    whether vectors may be written at all; ``space`` tells what the embedder's vectors are made in, as far as it is
    known: the store refuses them once it is in another one. Thread-safe.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        wait: float,
        batch: int,
        writes: bool,
        space: Callable[[], Fingerprint | None],
    ) -> None:
        self.space = space
        self.store = store
        self.embedder = embedder
        self.wait = wait
        self.batch = batch
        self.closing = not writes
        self.last_error: str | None = None
        self._error: Exception | None = None
        self._failures = 0
        self._warned = False
        self._muted_until = 0.0
        self._resumed: set[str] = set()
        self._due: dict[str, None] = {}
        self.late: dict[str, Embedding] = {}
        self._hurry = False
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._writes = LastingThreads("siltstone-embed")
        _queues.add(self)

    def embed(self, texts: Sequence[str]) -> Embedding:
        """Start embedding texts; the caller asks ``ready`` and later says where rows belong by ``deliver``."""
        embedding = Embedding(self, texts)
        if texts:
            self._writes.do(embedding.run)
        return embedding

    def embed_query(self, text: str) -> Floats | None:
        """Return the vector of a question, or ``None`` where the embedder fails: announced, not raised.

        After a failure it is not asked again for ``MUTED`` seconds, or until it has answered the queue. Raises what
        siltstone knows to be wrong with it, as ``Embedding.ready`` does.
        """
        if time.monotonic() < self._muted_until:
            return None
        try:
            return self.embedder.embed_query(text)
        except Exception as exc:  # the words are searched without it
            if _is_wrong(exc):
                raise
            self.failed(exc)
            return None

    def resume(self, user_id: str) -> None:
        """Have what an earlier process left pending embedded, once per user and opening."""
        if user_id not in self._resumed:
            self._resumed.add(user_id)
            if self._lacks(user_id):
                self.wake(user_id)

    def wake(self, user_id: str) -> None:
        """Have what this user still lacks embedded in the background."""
        with self._condition:
            if self.closing:
                return
            self._due[user_id] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="siltstone-vectors", daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def catch_up(self, user_id: str) -> None:
        """Give the few texts that were just written up to ``wait`` seconds to be embedded, before a search.

        More than a batch is not waited for, nor is an embedder that fails.
        """
        late = self.late.get(user_id)
        if self.last_error is None and late is not None and late.lacking <= self.batch:
            late.attached.wait(self.wait)

    def flush(self, user_id: str, timeout: float | None) -> None:
        """Wait until every text of the user can be found by meaning.

        Raises ``BackendUnavailableError`` when ``timeout`` (seconds) is over, and what the embedder raises.
        """
        if isinstance(self.store, KeepsVectorsElsewhere):
            self.store.reconcile(user_id)
        if not self._lacks(user_id):
            return
        self.wake(user_id)
        if not self._wait_for(user_id, timeout):
            left = self.store.stats(user_id).pending_vectors
            raise BackendUnavailableError(
                f"{left} texts still lack a vector after {timeout} s; they are stored, found by their words, "
                "and stay queued"
            )

    def failed(self, exc: Exception) -> None:
        """Note a failure of the embedder; the first one is logged as a warning."""
        self.last_error = f"{type(exc).__name__}: {exc}"
        if not (_is_wrong(exc) or isinstance(exc, (TextsRefusedError, VectorStoreUnavailableError))):
            self._muted_until = time.monotonic() + MUTED
        if not self._warned:
            self._warned = True
            if isinstance(exc, VectorStoreUnavailableError):
                logger.warning("%s", exc)
                return
            logger.warning(
                "the embedder failed (%s); texts are stored, queued for it, and found by words", for_log(exc)
            )

    def close(self, wait: float) -> None:
        """Give queued vectors up to ``wait`` seconds, then stop; the rest stays pending in the store."""
        deadline = time.monotonic() + wait
        self._writes.wait(wait)  # what comes of them is in ``_due`` then
        for user_id in list(self._due):
            try:
                self._wait_for(user_id, deadline - time.monotonic())
            except Exception:  # noted and announced by ``failed``; they stay pending, and are resumed at the next open
                break
        self.settle(max(deadline - time.monotonic(), 0.1))

    def settle(self, wait: float) -> None:
        """Stop after the batches under way, and wait for these at most ``wait`` seconds."""
        deadline = time.monotonic() + wait
        with self._condition:
            self.closing = True
            self._condition.notify_all()
        self._writes.wait(wait)
        self._writes.close()
        if self._thread is not None:
            self._thread.join(max(deadline - time.monotonic(), 0.0))

    def _lacks(self, user_id: str) -> bool:
        """Return whether anything of the user is pending; all that can be counted takes long on a server."""
        if isinstance(self.store, KeepsVectorsElsewhere):  # what is to be deleted there is pending, too
            return self.store.stats(user_id).pending_vectors > 0
        return bool(self.store.pending(user_id, 1))

    def _wait_for(self, user_id: str, timeout: float | None) -> bool:
        """Return whether the user's texts all got vectors in time; raise what the embedder raised meanwhile."""
        with self._condition:
            before = self._failures
            self._hurry = True
            self._condition.notify_all()
            done = self._condition.wait_for(lambda: user_id not in self._due or self._failures > before, timeout)
            if self._failures > before and self._error is not None:
                raise self._error
            return done

    def _work(self) -> None:
        pause = FIRST_PAUSE
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._due or self.closing)
                if self.closing:
                    return
                user_id = next(iter(self._due))
                self._hurry = False
            try:
                complete = self._drain(user_id)
            except Exception as exc:  # nobody to raise to: noted, announced, and tried again
                self.failed(exc)
                with self._condition:
                    self._error, self._failures = exc, self._failures + 1
                    self._due[user_id] = self._due.pop(user_id)  # the others' turn first
                    self._condition.notify_all()
                    self._condition.wait_for(lambda: self.closing or self._hurry, pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE
                with self._condition:
                    if complete:
                        self._due.pop(user_id, None)
                    self._condition.notify_all()

    def _drain(self, user_id: str) -> bool:
        """Embed what is pending now; return whether nothing is left.

        Raises ``TextsRefusedError`` at the end where the embedder works and refuses some texts: they hold up no other.
        """
        refused: dict[str, Exception] = {}
        while records := self._lacking(user_id, refused):
            rows, failures = self._rows_of(records)
            if self.closing:
                return False
            if rows:
                made = [record for record in records if record.id in rows]
                self.store.put_vectors(user_id, made, np.stack(list(rows.values())), space=self.space())
                self.last_error, self._muted_until = None, 0.0
            refused |= failures
        if refused:
            raise TextsRefusedError(
                f"the embedder refuses {len(refused)} texts ({next(iter(refused.values()))}); they are stored, found "
                "by their words, and tried again"
            ).quoting(next(iter(refused.values())))
        return True

    def _lacking(self, user_id: str, refused: Mapping[str, Exception]) -> list[Record]:
        """Return the next batch of records without a vector, but for those that are refused."""
        pending = self.store.pending(user_id, self.batch + len(refused))
        return [record for record in pending if record.id not in refused][: self.batch]

    def _rows_of(self, records: Sequence[Record]) -> tuple[dict[str, Floats], dict[str, Exception]]:
        """Return the vectors of records by id, and what the embedder said to those that it refuses while it works."""
        try:
            return self._embedded(records), {}
        except Exception as exc:
            if _is_wrong(exc):
                raise
            try:
                self.embedder.embed_documents([PROBE])
            except Exception:
                raise exc from None  # it refuses everything
            self._muted_until = 0.0
        rows: dict[str, Floats] = {}
        refused: dict[str, Exception] = {}
        halves = [records]
        while halves and not self.closing:
            some = halves.pop()
            try:
                rows |= self._embedded(some)
            except Exception as exc:
                if len(some) == 1:
                    refused[some[0].id] = exc
                else:
                    halves += [some[len(some) // 2 :], some[: len(some) // 2]]
        return {record.id: rows[record.id] for record in records if record.id in rows}, refused

    def _embedded(self, records: Sequence[Record]) -> dict[str, Floats]:
        rows = self.embedder.embed_documents([dense_key(record) for record in records])
        return {record.id: row for record, row in zip(records, rows, strict=True)}

    def forked(self) -> None:
        """Begin anew in a forked child, which has none of its parent's threads."""
        self._thread, self._writes, self._condition = None, LastingThreads("siltstone-embed"), threading.Condition()
        self.late.clear()


class TextsRefusedError(BackendUnavailableError):
    """The embedder works, and refuses some texts."""


def _is_wrong(exc: Exception) -> bool:
    """Return whether siltstone knows what is wrong, so that it would be wrong again; all else may pass by itself."""
    return isinstance(exc, SiltstoneError) and not isinstance(exc, BackendUnavailableError)


_queues: weakref.WeakSet[VectorQueue] = weakref.WeakSet()


def _forked() -> None:
    for queue in list(_queues):
        queue.forked()


os.register_at_fork(after_in_child=_forked)


@atexit.register
def _settle_all() -> None:
    deadline = time.monotonic() + EXIT_WAIT
    for queue in list(_queues):
        queue.settle(deadline - time.monotonic())


class Embedding:
    """The vectors of one write, computed batch by batch on a thread that has nothing else to do.

    The write takes what is ready when its wait is over; the batch under way is attached when it comes, and the
    queue does the rest.
    """

    def __init__(self, queue: VectorQueue, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self._queue = queue
        self._rows: list[Floats] = []
        self._error: Exception | None = None
        self._finished = threading.Event()
        self.attached = threading.Event()
        self._lock = threading.Lock()
        self._taken = 0
        self._target: tuple[str, Sequence[Record]] | None = None
        if not texts:
            self._finished.set()

    def run(self) -> None:
        """Compute batch after batch, until all are there or the write has been committed without them."""
        try:
            for start in range(0, len(self.texts), self._queue.batch):
                rows = self._queue.embedder.embed_documents(self.texts[start : start + self._queue.batch])
                with self._lock:
                    self._rows.extend(rows)
                if self._queue.closing or self._target is not None:
                    break
        except Exception as exc:  # raised, or queued and announced, by whoever waits
            self._error = exc
        finally:
            self._finished.set()
            self._finish()

    def ready(self) -> list[Floats]:
        """Return the leading rows that are there within the wait.

        Raises what siltstone knows to be wrong with the embedder (NaN, another width or space, a missing
        package): nothing was stored then. One that cannot be reached, or that fails in its own way, leaves its
        texts to the queue.
        """
        self._finished.wait(self._queue.wait)
        if self._error is not None and _is_wrong(self._error):
            raise self._error
        with self._lock:
            self._taken = len(self._rows)
            return list(self._rows)

    @property
    def lacking(self) -> int:
        """How many texts had no vector when the write was committed."""
        return len(self.texts) - self._taken

    def deliver(self, user_id: str, records: Sequence[Record]) -> None:
        """Say which committed records the rows belong to, so that late ones can be attached."""
        if self._taken < len(records):
            self._queue.late[user_id] = self
            self._target = (user_id, records)
            if self._finished.is_set():
                self._finish()

    def _finish(self) -> None:
        """Attach the rows that came after the write was committed, and leave what is missing to the queue."""
        with self._lock:
            if self._target is None or self._queue.closing:
                return
            (user_id, records), self._target = self._target, None
            late = self._rows[self._taken :]
        if self._error is not None:
            self._queue.failed(self._error)
        try:
            if late:
                written = records[self._taken : self._taken + len(late)]
                self._queue.store.put_vectors(user_id, written, np.stack(late), space=self._queue.space())
        except Exception as exc:  # the write itself is acknowledged: announced, and left to the queue
            self._queue.failed(exc)
        finally:
            self.attached.set()
            if self._queue.late.get(user_id) is self:
                self._queue.late.pop(user_id, None)
            self._queue.wake(user_id)
