"""What other processes do in tests of the store: started from a clean server process that has everything loaded."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path

from items import said
from siltstone.stores.files.lock import FileLock
from siltstone.stores.folder import FolderStore

PROCESSES: ForkServerContext = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["siltstone.stores.folder"])  # what takes a second to import


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
