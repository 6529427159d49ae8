"""Where things lie in a store."""

from __future__ import annotations

import os
from collections.abc import Iterator

from . import disk


def user_folders(root: str) -> Iterator[str]:
    """Yield the folders of all users, readable or not."""
    return (path for path in _in_users(root) if disk.is_folder(path))


def strays(root: str) -> Iterator[str]:
    """Yield what lies among the folders of users and is none: a file manager's notes, say. Nobody minds it."""
    return (path for path in _in_users(root) if disk.exists(path) and not disk.is_folder(path))


def _in_users(root: str) -> Iterator[str]:
    users = os.path.join(root, "users")
    for group in disk.names(users, missing_ok=True):
        path = os.path.join(users, group)
        if disk.is_folder(path):
            yield from (os.path.join(path, name) for name in disk.names(path, missing_ok=True))
        else:
            yield path
