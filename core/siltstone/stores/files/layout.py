"""Where things lie in a store."""

from __future__ import annotations

import os
from collections.abc import Iterator

from . import disk


def user_folders(root: str) -> Iterator[str]:
    """Yield the folders of all users, readable or not."""
    users = os.path.join(root, "users")
    for group in disk.names(users, missing_ok=True):
        for name in disk.names(os.path.join(users, group), missing_ok=True):
            yield os.path.join(users, group, name)
