"""Forgetting a long session, and messages scattered over a store; rebuilding from the documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from clock import Times, fresh
from data import Known, Memories

from siltstone import NotFoundError, TieredMemory

GONE: Final = 10_000
"""Messages that are forgotten at once."""


def forget(folder: Path, ids: Sequence[str]) -> dict[str, Any]:
    """Return seconds to forget a session of ``GONE`` messages, and as many of ``ids`` (a tenth at most), scattered."""
    memories, embedder = Memories(), Known()
    long = memories.session(10**7, GONE)
    embedder.learn([long])
    scattered = ids[:: max(10, len(ids) // GONE)]
    with TieredMemory.open(folder, embedder=embedder) as memory:
        for n in range(0, GONE, 1_000):
            memory.add(long.messages[n : n + 1_000], session_id=long.id)
        memory.flush()
        session, apart = Times(), Times()
        with session.watch():
            report = memory.forget(session_id=long.id)
        assert len(report.messages) == GONE
        hidden = _Hidden(memory, scattered[-1])
        with apart.watch():
            report = memory.forget(ids=scattered)
        assert len(report.messages) == len(scattered)
    return {
        "session_of_10000": {"s": session.wall[0], "cpu_s": session.cpu[0], "limit_s": 10},
        "scattered": {
            "messages": len(scattered),
            "hidden_after_s": hidden.after(),
            "returned_after_s": apart.wall[0],
            "cpu_s": apart.cpu[0],
            "limit_s": 60,
        },
    }


class _Hidden:
    """Looks for a message again and again, on a thread of its own, until it is gone."""

    def __init__(self, memory: TieredMemory, id: str) -> None:
        self._memory, self._id, self._began, self._ended = memory, id, time.perf_counter(), 0.0
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        with suppress(NotFoundError):
            while self._memory.get(self._id):
                time.sleep(0.005)
        self._ended = time.perf_counter()

    def after(self) -> float:
        self._thread.join()
        return self._ended - self._began


def rebuild(folder: Path, count: int, sessions: int) -> dict[str, Any]:
    """Return what opening takes without the cache, and then from the documents alone."""
    found: dict[str, Any] = {}
    for what, names in (("without the cache", "cache"), ("from the documents alone", "[cv]*")):
        for path in folder.glob(f"users/*/*/{names}"):
            path.unlink()
        found[what] = fresh("opening", folder, "default", sessions)
        found[what]["records_per_second"] = count / found[what]["open_s"]
    return found
