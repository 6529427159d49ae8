"""Symbolic links where a store has its files and folders.

A file that is written anew takes the place of the link, and what the link leads to stays behind with words in it that
are forgotten later. So nothing is written to a user one of whose files is a link, and no restore replaces users that
lie elsewhere. Reading goes on. A linked folder of a user is nothing of the kind: what is done is done where it leads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from ...errors import ConfigurationError, StoreCorruptedError
from . import disk
from .layout import USERS, user_folders

_OURS: Final = re.compile(r"(docs\.\d{6}\.jsonl|vectors\.\d{4}x\d+\.\d{6}\.f16|cache|KEY)(\.new)?")
_PASSING: Final = re.compile(r"cache|.*\.new")
"""What nobody misses."""
_GROUP: Final = re.compile(r"[0-9a-f]{2}")


def in_user(folder: str) -> list[str]:
    """Return the paths of the files in a user's folder that are links, sorted; it is listed once."""
    return [os.path.join(folder, name) for name in disk.links(folder) if _OURS.fullmatch(name)]


def leads_nowhere(folder: str) -> bool:
    """Return whether one of a user's files is a link to nothing."""
    return not all(map(disk.exists, in_user(folder)))


def refuse(root: str, folder: str) -> None:
    """Raise ``StoreCorruptedError`` where one of a user's files is a link."""
    for path in in_user(folder):
        raise StoreCorruptedError(
            f"{path} is a symbolic link to {os.readlink(path)}, where words would stay that are forgotten; nothing was "
            f"changed, and everything can be read: siltstone verify --repair --store {root} puts a copy in its place"
        )


def refuse_moved_users(root: str) -> None:
    """Raise ``ConfigurationError`` where the folder of all users is a link, which nothing may take the place of."""
    users = os.path.join(root, USERS)
    if disk.is_link(users):
        raise ConfigurationError(
            f"{users} is a symbolic link to {os.readlink(users)}, and a restore would put a folder in its place; "
            f"nothing was changed: move that folder to {users}, or the whole store to the other disk with a link at "
            f"{root}, then restore again (siltstone restore)"
        )


def refuse_any(root: str) -> None:
    """Raise ``ConfigurationError`` where users, or some of their files, lie elsewhere: a restore leaves them there."""
    refuse_moved_users(root)
    for path in of_users(root):
        raise ConfigurationError(
            f"{path} is a symbolic link to {os.readlink(path)}, where a restore would leave what is there now; nothing "
            f"was changed: move that into its place, or remove the link if nothing is there, then restore again "
            f"(siltstone verify --store {root} names all links)"
        )


def of_users(root: str) -> Iterator[str]:
    """Yield the paths of all links in the places of users' folders and files, and of the folders above these."""
    users = os.path.join(root, USERS)
    if disk.is_link(users):
        yield users
    yield from (os.path.join(users, name) for name in disk.links(users) if _GROUP.fullmatch(name))
    for folder in user_folders(root):
        if disk.is_link(folder):
            yield folder
        yield from in_user(folder)


def resolve(folder: str) -> None:
    """Put copies of what links in a user's folder lead to in the places of these. Needs the user's lock.

    A link that leads to no documents stays. What the others led to stays where it is, for it may be another store's.
    """
    for path in sorted(in_user(folder), key=lambda path: not path.endswith(".new")):  # a copy passes through ``.new``
        if is_passing(path):
            disk.unlink(path)
        elif disk.exists(path):
            disk.copy(path, path)
        elif is_recomputable(path):
            disk.unlink(path)


def is_passing(path: str) -> bool:
    """Return whether a file of a user is one that is removed without a loss."""
    return _PASSING.fullmatch(os.path.basename(path)) is not None


def is_recomputable(path: str) -> bool:
    """Return whether a file of a user can be made anew from the documents."""
    return is_passing(path) or os.path.basename(path).startswith("vectors.")
