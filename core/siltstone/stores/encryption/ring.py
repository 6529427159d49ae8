"""A folder of keys: the store key, and a key per user that it wraps.

::

    MASTER             the store key, see ``masterkey``
    LOCK               taken while a key is added or ``MASTER`` replaced
    ab/<key id>        the key of one user, wrapped by the store key
    DESTROYED          the ids of keys that went with their users, see ``destroyed``

Without the file of a user's key, every copy of what they had is noise. A wrapped key is bound to its id and to the
name by which the store knows its user.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from ...errors import BackendUnavailableError, StoreCorruptedError
from ..files import disk, twofold
from ..files.lock import FileLock
from . import destroyed, masterkey
from .crypto import Box
from .masterkey import StoreKey


class KeyRing:
    """The keys of the store at a location, in a folder."""

    def __init__(self, folder: str, location: str, key: bytes | str, *, lock_timeout: float) -> None:
        """Open what lies in ``folder``; ``lock_timeout`` is how many seconds ``LOCK`` is waited for.

        Raises ``DecryptionError`` for a wrong key, ``StoreCorruptedError`` where ``MASTER`` is damaged or gone.
        """
        self.folder, self.location = folder, location
        self._lock_timeout = lock_timeout
        self._known = masterkey.unlock(folder, location, key)

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged."""
        name = f"{os.path.basename(self.folder)}/{masterkey.NAME}"
        return (f"{name}: one of its two copies is damaged",) if self._known.damaged else ()

    # --- the store key

    def newest(self) -> StoreKey:
        """Return the store key to wrap and seal with, whatever other processes did."""
        return self._known if masterkey.ids(self.folder) == self._known.ids else self.renewed()

    def renewed(self) -> StoreKey:
        """Return the store key as it is on disk; under ``LOCK`` it is what may be replaced.

        Raises ``DecryptionError`` if it has another master key since.
        """
        self._known = masterkey.again(self.folder, self.location, self._known)
        return self._known

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold ``LOCK``; a user's may be held already."""
        with FileLock(os.path.join(self.folder, "LOCK")).held(self._lock_timeout):
            yield

    def replace(self, store_key: StoreKey) -> None:
        """Put another ``MASTER`` in the place of the present one. Needs ``LOCK``, and ``renewed`` under it."""
        masterkey.write(self.folder, store_key)
        self._known = store_key

    def seal(self, data: bytes, bound: bytes) -> bytes:
        """Seal what belongs to no user."""
        return Box(self.newest().keys).seal(data, bound)

    def open(self, sealed: bytes, bound: bytes) -> bytes | None:
        """Return what ``seal`` was given, or ``None`` where the keys are not of what was sealed."""
        return Box(self._known.keys).open(sealed, bound) or Box(self.renewed().keys).open(sealed, bound)

    # --- the keys of users

    def keep(self, id: str, key: bytes, name: str) -> None:
        """Write a user's key; on disk when it returns. Needs ``LOCK``."""
        disk.make_folder(os.path.dirname(self._path(id)))
        twofold.write(self._path(id), self.newest().wrap(key, _bound(id, name)))

    def find(self, id: str, name: str) -> tuple[bytes, bool]:
        """Return a user's key, and whether a copy of it is damaged. Raises ``FileNotFoundError``."""
        path = self._path(id)
        document, damaged = twofold.read(path)
        if document is None:
            raise lost(path)
        key = self._known.unwrap(document, _bound(id, name)) or self.renewed().unwrap(document, _bound(id, name))
        if key is None:
            raise StoreCorruptedError(f"{path} is not a key of {name}; nothing was changed: put it back as it was")
        return key, damaged

    def wrapped_by(self, id: str) -> str | None:
        """Return the id of the store key that a user's key was wrapped by; ``None`` where it is not there."""
        try:
            document, _ = twofold.read(self._path(id))
        except FileNotFoundError:
            return None
        if document is None:
            raise lost(self._path(id))
        return str(document["by"])

    def shred(self, ids: Iterable[str]) -> None:
        """Destroy keys of users, and note it; on disk when it returns."""
        ids = list(ids)
        with suppress(BackendUnavailableError), self.locked():  # a full disk: the key goes without a note
            destroyed.add(self.folder, ids)
        self.drop(ids)

    def are_shredded(self, ids: Iterable[str]) -> bool:
        """Return whether these keys, at least one, were all destroyed."""
        ids = list(ids)
        if not ids or any(disk.exists(self._path(id)) for id in ids):
            return False
        return destroyed.destroyed(self.folder).issuperset(ids)

    def drop(self, ids: Iterable[str]) -> None:
        """Remove keys for good."""
        for id in ids:
            path = self._path(id)
            if disk.exists(path):
                disk.unlink(path)
                disk.sync_folder(os.path.dirname(path))

    def all(self) -> Iterator[str]:
        """Yield the ids of all users' keys, and the names of what killed processes left of some."""
        for group in disk.names(self.folder):
            if len(group) == 2:
                yield from disk.names(os.path.join(self.folder, group))

    def _path(self, id: str) -> str:
        return os.path.join(self.folder, id[:2], id)


def lost(path: str) -> StoreCorruptedError:
    """Return the error of a small file of keys that is damaged."""
    return StoreCorruptedError(
        f"{path} is damaged in both copies, and nothing of one user can be read without it; nothing was changed, the "
        "other users are safe: put this file back (a key from your copy of the keys, the rest from a backup)"
    )


def _bound(id: str, name: str) -> bytes:
    return f"user key {id} {name}".encode()
