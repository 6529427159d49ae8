"""The switch of a restore: a whole store lies in ``restoring/``, and takes the place of the one around it.

One file is replaced for it: from the moment that ``STORE`` says ``restoring`` the restore has happened, and every
process that has the store open knows, for it looks at ``STORE`` in all it does. Whoever comes next moves the parts to
their places if the one who began was killed. A ``restoring/`` of which ``STORE`` says nothing is a copy that nobody
reads: it goes as soon as nobody works on it, for it may hold what is forgotten meanwhile.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from ...errors import BackendUnavailableError, SiltstoneError, StoreLockedError
from ..encryption.cipher import Keys
from ..files import auditfile, disk, links, storefile, twofold
from ..files.hashedids import hash_older
from ..files.layout import TRASH, USERS, user_folders
from ..files.lock import FileLock

FOLDER: Final = "restoring"
GUARD: Final = "GUARD"
"""Lock of whoever fills the folder."""
_PAUSE: Final = 0.02


@contextmanager
def building(root: str, timeout: float) -> Iterator[str]:
    """Hold the folder in which a restore is made ready, empty; one restore at a time.

    A restore that does not happen leaves nothing: where there was no store, the place is as it was.
    """
    absent = list(_absent(os.path.join(root, "LOCK")))
    try:
        with _guarded(os.path.join(root, FOLDER), timeout) as folder:
            try:
                if is_pending(root):
                    raise StoreLockedError(
                        f"{root} has been restored by another process meanwhile; nothing was changed: retry"
                    )
                _clear(folder)
                yield folder
            finally:
                if not is_pending(root):
                    disk.remove_tree(folder)
    finally:
        _leave_as_found(root, absent)


@contextmanager
def _guarded(folder: str, timeout: float) -> Iterator[str]:
    lock = FileLock(os.path.join(folder, GUARD))
    while True:
        with suppress(FileNotFoundError):  # another one's was swept away meanwhile
            disk.make_folder(folder)
            lock.acquire(timeout)
            break
    try:
        yield folder
    finally:
        lock.release()


def switch(root: str, keys: Keys) -> None:
    """Let what lies in ``restoring/`` be the store from now on. Needs the store's lock, and ``building``; then ``end``.

    What is forgotten has a line in the audit before it is acknowledged, and none is written under the store's lock:
    whoever forgets meanwhile writes it afterwards, sees that the store is another one, and forgets again.
    """
    store = storefile.read(os.path.join(root, FOLDER), keys)
    storefile.write(root, dataclasses.replace(store, restoring=True, damaged=False), keys)


def is_pending(root: str) -> bool:
    """Return whether a restore has happened of which parts are not in their places yet."""
    try:
        found, _ = twofold.read(os.path.join(root, storefile.NAME))
    except FileNotFoundError:
        return False
    return found is not None and "restoring" in found


def is_abandoned(root: str) -> bool:
    """Return whether a restore that never happened has left its copy, and nobody works on it. Nothing is written."""
    folder = os.path.join(root, FOLDER)
    return disk.is_folder(folder) and not is_pending(root) and FileLock(os.path.join(folder, GUARD)).is_free()


def sweep(root: str) -> None:
    """Remove the copy that a killed restore left, unless the restore has happened. One system call where there is none.

    Whoever finds one at work leaves it alone: it forgets again what was forgotten since before anyone reads it.
    """
    folder = os.path.join(root, FOLDER)
    if not disk.is_folder(folder):
        return
    lock = FileLock(os.path.join(folder, GUARD))
    with suppress(FileNotFoundError):  # another one was faster
        if lock.try_acquire():
            try:
                if not is_pending(root):
                    disk.remove_tree(folder)
            finally:
                lock.release()


def end(root: str, keys: Keys, timeout: float) -> None:
    """Do what a killed process has left of a switch, or wait for a living one."""
    let_finish(root, timeout)
    with FileLock(os.path.join(root, "LOCK")).held(timeout):
        if is_pending(root):
            finish(root, keys)


def wait(root: str, timeout: float) -> None:
    """Return when a switch has come to its end; for those who may not write.

    Raises ``BackendUnavailableError`` where nobody is at it.
    """
    deadline = time.monotonic() + timeout
    locks = FileLock(os.path.join(root, FOLDER, GUARD)), FileLock(os.path.join(root, "LOCK"))
    while is_pending(root):
        if all(lock.is_free() for lock in locks) and is_pending(root):
            raise BackendUnavailableError(
                f"a restore to {root} has not come to its end; nothing is lost: open it for writing, which ends it"
            )
        if time.monotonic() > deadline:
            raise StoreLockedError(f"{root} has been restored for {timeout:g} s by another process: retry")
        time.sleep(_PAUSE)


def let_finish(root: str, timeout: float) -> None:
    """Return when all who are in the midst of a write are done with it: each user's lock is taken once, one at a time.

    Whoever begins to write looks at ``STORE`` when they have the user's lock, and again when they are done, and begins
    anew.
    """
    for folder in user_folders(root):
        with suppress(FileNotFoundError), FileLock(os.path.join(folder, "LOCK")).held(timeout):  # removed meanwhile
            pass


def finish(root: str, keys: Keys) -> None:
    """Move the parts to their places; what was there goes to ``trash/``. Twice is as good as once.

    Needs the store's lock, after ``let_finish``.
    """
    done = os.path.join(root, FOLDER)
    users, restored = os.path.join(root, USERS), os.path.join(done, USERS)
    while disk.is_folder(restored):
        links.refuse_moved_users(root)
        if disk.is_folder(users):
            trash = os.path.join(root, TRASH)
            disk.make_folder(trash)
            disk.rename(users, os.path.join(trash, secrets.token_hex(8)))
        try:
            disk.rename(restored, users)
        except BackendUnavailableError as exc:
            if not _is_occupied(exc):  # by a writer who had not looked yet: they write nothing there
                raise
    known = {deed.key for deed in auditfile.read(root, keys)}
    auditfile.append(root, [deed for deed in auditfile.read(done, keys) if deed.key not in known], keys)
    store = storefile.read(root, keys)
    hash_older(root, keys, store)  # of an older backup, or an audit that was kept apart
    storefile.write(root, dataclasses.replace(store, restoring=False), keys)
    disk.remove_tree(done)


def _is_occupied(exc: BackendUnavailableError) -> bool:
    return isinstance(exc.__cause__, OSError) and exc.__cause__.errno in (errno.ENOTEMPTY, errno.EEXIST)


def _absent(path: str) -> Iterator[str]:
    """Yield a path and the folders above it, the innermost first, as far as they are not there."""
    while not disk.exists(path):
        yield path
        path = os.path.dirname(path)


def _leave_as_found(root: str, absent: Sequence[str]) -> None:
    """Take away what was made for a store that did not come to be, unless others are at work there."""
    if not absent or storefile.exists(root):
        return
    own, *folders = absent
    lock = FileLock(own)
    with suppress(SiltstoneError, FileNotFoundError):
        disk.remove_empty(os.path.join(root, FOLDER))
    with suppress(SiltstoneError, FileNotFoundError):
        if not disk.exists(os.path.join(root, FOLDER)) and lock.try_acquire():
            try:
                if not storefile.exists(root):
                    disk.unlink(own)
            finally:
                lock.release()
    for folder in folders:
        with suppress(SiltstoneError, FileNotFoundError):
            disk.remove_empty(folder)


def _clear(folder: str) -> None:
    """Remove what a killed restore left, but for the lock that is held."""
    for name in disk.names(folder):
        path = os.path.join(folder, name)
        if disk.is_folder(path):
            disk.remove_tree(path)
        elif name != GUARD:
            disk.unlink(path)
