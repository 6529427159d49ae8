"""Where things lie in a store, and what its files are called; the drawing is in ``folder``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from . import disk

USERS: Final = "users"
"""Folder of the users' own folders."""
TRASH: Final = "trash"
"""Folder of removed users that are being deleted."""
UNFINISHED: Final = "unfinished"
"""Folder that names the users whose removals are under way."""
QUARANTINE: Final = "quarantine"
"""Folder of damaged pieces that a repair took out."""


_SEGMENT: Final = re.compile(r"docs\.(\d{6})\.jsonl")


def segment_name(number: int) -> str:
    """Return the name of a segment of documents."""
    return f"docs.{number:06d}.jsonl"


def segment_number(name: str) -> int | None:
    """Return the number of a segment of documents, ``None`` where a file is none."""
    found = _SEGMENT.fullmatch(name)
    return None if found is None else int(found[1])


def segment_numbers(folder: str) -> list[int]:
    """Return the numbers of the segments in a user's folder, ascending; none where there is no folder."""
    numbers = map(segment_number, disk.names(folder, missing_ok=True))
    return sorted(number for number in numbers if number is not None)


def user_folders(root: str) -> Iterator[str]:
    """Yield the folders of all users, readable or not."""
    return (path for path in _in_users(root) if disk.is_folder(path))


def strays(root: str) -> Iterator[str]:
    """Yield what lies among the folders of users and is none: a file manager's notes, say. Nobody minds it."""
    return (path for path in _in_users(root) if disk.exists(path) and not disk.is_folder(path))


def _in_users(root: str) -> Iterator[str]:
    users = os.path.join(root, USERS)
    for group in disk.names(users, missing_ok=True):
        path = os.path.join(users, group)
        if disk.is_folder(path):
            yield from (os.path.join(path, name) for name in disk.names(path, missing_ok=True))
        else:
            yield path
