"""Operations on a whole embedded store, all users of it. Each opens what it needs, and takes a folder, not a memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from .errors import NotFoundError
from .opening import Key, given_key
from .reports import AuditEntry, BackupReport, RestoreReport
from .stores.backup import back_up
from .stores.files import auditfile, storefile
from .stores.files.codec import time_of
from .stores.folder import FolderStore
from .stores.restore import put_back

_LOCK_TIMEOUT: Final = 30.0
"""Seconds that an operation waits for a lock; one on a whole store has more patience than a request."""
Progress: TypeAlias = Callable[[int, int], None]


def backup(
    location: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: Progress | None = None
) -> BackupReport:
    """Copy a store to the folder ``target`` while others go on writing.

    Every commit that was acknowledged before is in it, whole; each user is as of one moment. ``target`` is empty, or
    holds an earlier backup of the same store, of which files that have not changed are kept. It holds no key and no
    cache. A backup that is killed leaves the one before. It keeps what is forgotten later until the next one into the
    same folder; ``restore`` does not bring that back. ``progress(done, total)`` counts users. O(what is new).

    Raises ``NotFoundError`` where there is no store, ``ConfigurationError`` for a ``target`` that cannot be one.
    """
    store = FolderStore(_folder(location), create=False, lock_timeout=_LOCK_TIMEOUT)
    try:
        return back_up(_folder(location), _folder(target), store.settings, timeout=_LOCK_TIMEOUT, progress=progress)
    finally:
        store.close()


def restore(
    source: str | os.PathLike[str], location: str | os.PathLike[str], *, progress: Progress | None = None
) -> RestoreReport:
    """Put the backup in ``source`` in the place of the store at ``location``, without what was forgotten since.

    ``location`` is empty or not there, or is what is left of the store that was backed up: as long as its ``AUDIT`` is
    there, what was forgotten or erased after the backup is taken out before anyone can read it. Where nothing is left,
    nothing is known of that time, and all that the backup holds comes back. What was written since the backup goes.
    A restore that is killed has happened whole or not at all. ``progress(done, total)`` counts users. O(bytes).

    Raises ``NotFoundError`` where ``source`` holds no whole backup, ``StoreCorruptedError`` where it is damaged,
    ``ConfigurationError`` where ``location`` holds anything else.
    """
    return put_back(_folder(source), _folder(location), timeout=_LOCK_TIMEOUT, progress=progress)


def audit(
    location: str | os.PathLike[str], *, user_id: str | None = None, key: Key | None = None
) -> Iterator[AuditEntry]:
    """Yield what was done to a store for good, oldest first; with ``user_id`` only what concerns that user.

    What was forgotten stays listed, by ids and counts, when the user is gone. ``NotFoundError`` where there is no
    store and none has left its audit. ``key`` is what ``TieredMemory.open`` takes.
    """
    root = _folder(location)
    if not storefile.exists(root) and not os.path.exists(os.path.join(root, auditfile.NAME)):
        raise NotFoundError(f"there is no store in {root}")
    keys = storefile.unlock(root, given_key(key))
    return (
        AuditEntry(deed.action, time_of(deed.at), deed.user_id, deed.ids, deed.counts)
        for deed in auditfile.read(root, keys)
        if user_id in (None, deed.user_id)
    )


def _folder(location: str | os.PathLike[str]) -> str:
    return os.path.abspath(Path(location).expanduser())
