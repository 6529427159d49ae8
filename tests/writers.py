"""What other processes do in tests of the store: started from a clean server process that has everything loaded."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path

import numpy as np

from items import said, space, vector
from siltstone.stores.files.lock import FileLock
from siltstone.stores.folder import FolderStore

PROCESSES: ForkServerContext = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["siltstone.stores.folder"])  # what takes a second to import


def add_without_end(folder: Path, name: str, user: str, acknowledged: Path, durability: str) -> None:
    """Add messages one commit after the other, noting each that was acknowledged, until killed."""
    note = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store = FolderStore(folder, durability=durability)  # type: ignore[arg-type]
    n = 0
    while True:
        ids = [f"{name}-{n + i}" for i in range(1 + n % 3)]
        puts = [said(id, f"message {id} 深圳", user=user, seed=n, session=name) for id in ids]
        store.commit(user, puts)
        os.write(note, b"".join(b"%b\n" % id.encode() for id in ids))
        n += len(ids)


def add_some(folder: Path, name: str, user: str, count: int) -> None:
    """Add ``count`` messages, one commit each."""
    store = FolderStore(folder)
    for n in range(count):
        store.commit(user, [said(f"{name}-{n}", f"message {n} of {name}", user=user, seed=n, session=name)])
    store.close()


def hold_lock(path: Path, held: Path) -> None:
    """Take a lock, say so, and keep it until killed."""
    lock = FileLock(str(path))
    lock.acquire(10)
    held.touch()
    time.sleep(600)


def remove_until(folder: Path, ids: list[str] | None, step: int) -> None:
    """Remove items, or everything, and die at a step on disk."""
    store = FolderStore(folder)
    store.messages("u", "s")
    die_at(step)
    store.remove("u", ids or [], everything=ids is None)


def live_until(folder: Path, acknowledged: Path, step: int) -> None:
    """Open a store, write to it in every way, close it, and die at a step on disk; note what was acknowledged."""
    note = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    die_at(step)
    store = FolderStore(folder)
    store.set_fingerprint(space())
    for n in range(3):
        store.commit("u", [said(f"a{n}-{i}", f"text {n}", seed=n if n else None, minute=n) for i in range(2)])
        os.write(note, b"a%d-0\na%d-1\n" % (n, n))
    store.put_vectors("u", store.pending("u", 9), np.stack([vector(1), vector(2)]))
    store.commit("u", [said(f"b{n:03}", "many", seed=n, minute=n) for n in range(300)])
    os.write(note, b"".join(b"b%03d\n" % n for n in range(300)))
    store.close()


def die_at(step: int) -> None:
    """Be killed at a change on disk: ``step`` counts the moments before and after each."""
    left = step

    def die(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        if event == "siltstone.disk":
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(die)
