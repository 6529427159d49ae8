"""``quarantine/``: copies of damaged pieces, taken before they are cut out. Nothing in it is ever overwritten.

A folder for each repair of a user, ``<time>-<name of the user's folder>-<random>``. A damaged piece may hold words that
are to be forgotten, so that all of a user's go with whatever is forgotten of theirs.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from datetime import datetime, timezone

from ..files import disk
from ..files.disk import File
from ..files.layout import QUARANTINE


def keep(root: str, owner: str, source: str, pieces: Sequence[tuple[str, int, int]]) -> str:
    """Copy pieces (name, start and end in the files of ``source``) aside, on disk when it returns; return where.

    ``owner``: the name of the user's folder, or ``store``.
    """
    now = datetime.now(timezone.utc)
    folder = os.path.join(root, QUARANTINE, f"{now:%Y%m%dT%H%M%S}-{owner}-{secrets.token_hex(4)}")
    disk.make_folder(folder)
    for name, start, end in pieces:
        data = File(os.path.join(source, name)).read(start, end - start)
        file = File(os.path.join(folder, f"{name}.{start}"), write=True, create=True, exclusive=True)
        file.write(data, 0)
        file.sync()
    disk.sync_folder(folder)
    return folder


def forget(root: str, owner: str) -> bool:
    """Remove all that is kept of a user; return whether there was anything."""
    kept = os.path.join(root, QUARANTINE)
    theirs = [n for n in disk.names(kept, missing_ok=True) if n.partition("-")[2].rpartition("-")[0] == owner]
    for name in theirs:
        disk.remove_tree(os.path.join(kept, name))
    return bool(theirs)
