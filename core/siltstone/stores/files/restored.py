"""The end of a restore: a folder ``restored/`` is whole, and its parts go to their places in the store around it.

Whoever opens the store for writing does what a killed process left. The folder goes last.
"""

from __future__ import annotations

import os
import secrets
from typing import Final

from . import auditfile, disk, storefile
from .cipher import Keys

FOLDER: Final = "restored"


def is_pending(root: str) -> bool:
    """Return whether parts of a restore are not in their places yet. One system call."""
    return os.path.isdir(os.path.join(root, FOLDER))


def finish(root: str, keys: Keys) -> None:
    """Move the parts to their places; what was there goes to ``trash/``. Needs the store's lock."""
    done = os.path.join(root, FOLDER)
    if not os.path.isdir(done):
        return
    users = os.path.join(root, "users")
    if os.path.isdir(os.path.join(done, "users")):
        if os.path.isdir(users):
            trash = os.path.join(root, "trash")
            disk.make_folder(trash)
            disk.rename(users, os.path.join(trash, secrets.token_hex(8)))
        disk.rename(os.path.join(done, "users"), users)
    if storefile.exists(done):
        disk.rename(os.path.join(done, storefile.NAME), os.path.join(root, storefile.NAME))
    known = {deed.key for deed in auditfile.read(root, keys)}
    auditfile.write(root, [deed for deed in auditfile.read(done, keys) if deed.key not in known], keys)
    disk.remove_tree(done)
