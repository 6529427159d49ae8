"""The end of a restore: a folder ``restored/`` is whole, and its parts go to their places in the store around it.

Whoever opens the store for writing does what a killed process left. The folder goes last.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from . import auditfile, disk, storefile
from .cipher import Keys
from .layout import user_folders
from .lock import FileLock

FOLDER: Final = "restored"


def is_pending(root: str) -> bool:
    """Return whether parts of a restore are not in their places yet. One system call."""
    return disk.is_folder(os.path.join(root, FOLDER))


@contextmanager
def quiet(root: str, timeout: float) -> Iterator[None]:
    """Hold the locks of all users and then the store's, a file each, so that nobody is in the midst of a write.

    Whoever begins to write to a new user meanwhile finds afterwards that the folder has gone, and begins anew.
    """
    with ExitStack() as held:
        for folder in user_folders(root):
            with suppress(FileNotFoundError):  # removed meanwhile
                held.enter_context(FileLock(os.path.join(folder, "LOCK")).held(timeout))
        held.enter_context(FileLock(os.path.join(root, "LOCK")).held(timeout))
        yield


def finish(root: str, keys: Keys) -> None:
    """Move the parts to their places; what was there goes to ``trash/``. Needs ``quiet``."""
    done = os.path.join(root, FOLDER)
    if not disk.is_folder(done):
        return
    users = os.path.join(root, "users")
    if disk.is_folder(os.path.join(done, "users")):
        if disk.is_folder(users):
            trash = os.path.join(root, "trash")
            disk.make_folder(trash)
            disk.rename(users, os.path.join(trash, secrets.token_hex(8)))
        disk.rename(os.path.join(done, "users"), users)
    if storefile.exists(done):
        disk.rename(os.path.join(done, storefile.NAME), os.path.join(root, storefile.NAME))
    known = {deed.key for deed in auditfile.read(root, keys)}
    auditfile.append(root, [deed for deed in auditfile.read(done, keys) if deed.key not in known], keys)
    disk.remove_tree(done)
