"""One writer of a user at a time, across processes: ``flock`` on a file, freed by the kernel when a process dies."""

from __future__ import annotations

import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from weakref import WeakSet

from ...errors import ConfigurationError, StoreLockedError
from . import disk
from .disk import File

LOCK_TIMEOUT: Final = 10.0
"""Seconds that a writer waits for another one, unless the user says otherwise."""
_FIRST_WAIT: Final = 0.0005
_LONGEST_WAIT: Final = 0.02
_locks: WeakSet[FileLock] = WeakSet()


class FileLock:
    """An exclusive lock on ``path``; not reentrant, held by at most one thread of its owner.

    Without ``write`` it shuts writers out and no other readers, needs a file that is there and may be read, and leaves
    nothing in it.
    """

    def __init__(self, path: str, *, write: bool = True) -> None:
        self._path, self._write = path, write
        self._file: File | None = None
        _locks.add(self)

    def acquire(self, timeout: float) -> None:
        """Take the lock; ``StoreLockedError`` names the holder when ``timeout`` seconds were not enough.

        Raises ``FileNotFoundError`` when the folder is gone, or without ``write`` the file.
        """
        deadline = time.monotonic() + timeout
        wait = _FIRST_WAIT
        while not self.try_acquire():
            left = deadline - time.monotonic()
            if left <= 0:
                raise StoreLockedError(
                    f"{self._path} has been held for {timeout:g} s by process {self._holder()}; "
                    "nothing was stored: retry, or end that process (a killed one frees its lock)"
                )
            time.sleep(min(left, wait * (0.5 + random.random())))
            wait = min(_LONGEST_WAIT, wait * 2)

    def try_acquire(self) -> bool:
        """Take the lock if it is free."""
        while True:
            if self._file is None:
                self._file = File(self._path, write=self._write, create=self._write)
            try:
                fcntl.flock(self._file.fd, (fcntl.LOCK_EX if self._write else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            except OSError as exc:
                raise ConfigurationError(
                    f"{self._path} cannot be locked ({exc.strerror}): a store needs a file system with locks"
                ) from exc
            try:
                current = self._is_current(self._file)
            except BaseException:
                self._let_go()
                raise
            if current:
                if self._write:
                    with suppress(OSError):  # a full disk: the pid only helps the message
                        os.pwrite(self._file.fd, b"%-20d\n" % os.getpid(), 0)
                return True
            self._let_go()  # the folder was removed and made again meanwhile

    def is_free(self) -> bool:
        """Return whether nobody holds the lock; nothing is written, and nobody is kept waiting."""
        try:
            file = File(self._path)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(file.fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as exc:
            raise disk.translated(exc, self._path) from exc
        finally:
            file.close()
        return True

    @contextmanager
    def held(self, timeout: float) -> Iterator[None]:
        """Hold the lock for the block; see ``acquire``."""
        self.acquire(timeout)
        try:
            yield
        finally:
            self.release()

    @property
    def is_current(self) -> bool:
        """Whether what is held still is the lock of the path: its folder may have been moved away."""
        return self._file is not None and self._is_current(self._file)

    def release(self) -> None:
        """Free the lock."""
        if self._file is not None:
            try:
                fcntl.flock(self._file.fd, fcntl.LOCK_UN)
            except OSError:
                self._let_go()

    def _let_go(self) -> None:
        """Close the file. It frees the lock, but for a forked child, whose parent holds it still."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_current(self, file: File) -> bool:
        try:
            return disk.status(self._path).st_ino == file.inode
        except FileNotFoundError:
            return False

    def _holder(self) -> str:
        text = self._file.read(0, 20).decode("ascii", "replace").strip() if self._file is not None else ""
        return text or "unknown"


def _after_fork() -> None:
    for lock in list(_locks):
        lock._let_go()  # a child that kept it open would hold it after the parent


os.register_at_fork(after_in_child=_after_fork)
