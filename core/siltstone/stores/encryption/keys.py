"""``KEYS``: the folder of an encrypted store that its keys lie in, and that no backup of it should hold.

::

    KEYS/                the keys, see ``ring``
    users/ab/<name>/
      KEY                the ids of the user's keys, the one to seal with first
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from ...errors import StoreCorruptedError
from ..files import disk, twofold
from ..files.layout import segment_numbers
from ..files.storefile import KEYS as FOLDER
from . import masterkey
from .cipher import Cipher, missing
from .crypto import KEY_SIZE, Box, Held, Sealed
from .ring import KeyRing, lost

POINTER: Final = "KEY"


class KeyFolder(KeyRing):
    """The keys of an encrypted store in a folder. See ``cipher.Keys``."""

    def __init__(self, root: str, key: bytes | str, *, lock_timeout: float) -> None:
        """Open what lies in ``root``, as ``KeyRing`` does."""
        super().__init__(os.path.join(root, FOLDER), root, key, lock_timeout=lock_timeout)
        self.root = root
        self.store: Cipher = Sealed(_KeysOfStore(self))

    @staticmethod
    def check_new(root: str, key: bytes | str) -> None:
        """Raise what stands against a new store with this key: it is none, or a killed process began with another."""
        masterkey.in_one_spelling(key)
        if disk.exists(masterkey.path_in(os.path.join(root, FOLDER))):
            masterkey.unlock(os.path.join(root, FOLDER), root, key)

    @classmethod
    def create(cls, root: str, key: bytes | str, *, lock_timeout: float) -> KeyFolder:
        """Make the keys of a new store, or take those that a killed process made. Needs the store's lock."""
        folder = os.path.join(root, FOLDER)
        if not disk.exists(masterkey.path_in(folder)):
            disk.make_folder(folder)
            masterkey.write(folder, masterkey.fresh(key))
        return cls(root, key, lock_timeout=lock_timeout)

    def check(self, root: str, key: bytes | str | None) -> None:
        """Raise ``DecryptionError`` unless the key opens the store."""
        if key is None:
            raise missing(root)
        masterkey.unlock(self.folder, root, key)

    # --- the store's own secret

    def hidden(self, secret: bytes) -> dict[str, str]:
        """Return the secret sealed by the store key."""
        return {"sealed": self.seal(secret, b"secret").hex()}

    def secret(self, document: Mapping[str, Any]) -> bytes:
        """Return the secret that ``STORE`` holds sealed."""
        found = self.open(bytes.fromhex(document["sealed"]), b"secret")
        if found is None:
            raise StoreCorruptedError(
                f"{self.root}: STORE and {FOLDER} are not of one store; nothing was changed: restore both as they were"
            )
        return found

    # --- users

    def cipher(self, folder: str, *, removed: bool = False) -> Cipher:
        """Return the cipher of a user's folder."""
        return Sealed(_KeysOfUser(self, folder, removed=removed))

    def named(self, folder: str) -> tuple[str, ...]:
        """Return the ids of a folder's keys, the newest first; none where it has none yet."""
        try:
            document, _ = twofold.read(os.path.join(folder, POINTER))
        except FileNotFoundError:
            return ()
        if document is None:
            raise lost(os.path.join(folder, POINTER))
        return tuple(document["keys"])

    def add(self, folder: str) -> None:
        """Give a folder another key, to be sealed with from now on. Needs the user's lock; on disk when it returns."""
        id = os.urandom(16).hex()
        with self.locked():
            self.keep(id, os.urandom(KEY_SIZE), os.path.basename(folder))
            self._name(folder, [id, *self.named(folder)])

    def turn(self, folder: str) -> bool:
        """Give a user a fresh key, unless the newest of theirs is of the newest store key; false if it is the only one.

        Needs the user's lock.
        """
        ids = self.named(folder)
        if not ids or self.wrapped_by(ids[0]) != self.newest().ids[0]:
            self.add(folder)
            return True
        return len(ids) > 1

    def settle(self, folder: str) -> None:
        """Destroy all keys of a user but the newest: nothing is sealed with them any more. Needs the user's lock."""
        newest, *older = self.named(folder)
        self._name(folder, [newest])
        self.drop(older)

    def destroy(self, folder: str) -> None:
        """Destroy the keys that a folder names, and note it; on disk when it returns."""
        self.shred(self.named(folder))

    def is_shredded(self, folder: str) -> bool:
        """Return whether all keys that a folder names were destroyed."""
        return self.are_shredded(self.named(folder))

    def _name(self, folder: str, ids: list[str]) -> None:
        twofold.write(os.path.join(folder, POINTER), {"name": os.path.basename(folder), "keys": ids})


class _KeysOfStore:
    """The store key, for what belongs to no user. See ``crypto.UserKeys``."""

    def __init__(self, keys: KeyFolder) -> None:
        self._keys = keys

    def renewed(self, token: object) -> Held | None:
        """Return the keys as they are now, or ``None`` if they still are those of the token."""
        store_key = self._keys.newest()
        return None if store_key.ids == token else (store_key.ids, Box(store_key.keys))

    drawn = renewed

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged."""
        return self._keys.health()


class _KeysOfUser:
    """The keys of one user's folder, as it names them. See ``crypto.UserKeys``."""

    def __init__(self, keys: KeyFolder, folder: str, *, removed: bool) -> None:
        self._keys, self._folder, self._removed = keys, folder, removed
        self._path = os.path.join(folder, POINTER)
        self._damaged = False

    def renewed(self, token: object) -> Held | None:
        """Return the keys as they are now, or ``None`` if they still are those of the token."""
        seen = _seen(self._path)
        if seen is None and _has_documents(self._folder):
            seen = _seen(self._path)  # both may have come between
            if seen is None:
                raise StoreCorruptedError(
                    f"{self._path} is gone, and nothing of this user can be read without it; nothing was changed, the "
                    "other users are safe: restore this file"
                )
        if seen == token:
            return None
        return seen, None if seen is None else self._box()

    def drawn(self, token: object) -> Held | None:
        """Give the user a key if they have none; the rest as ``renewed``."""
        if token is not None and _seen(self._path) == token:
            return None
        held = self.renewed(object())
        assert held is not None
        if held[1] is None:
            self._keys.add(self._folder)
            held = _seen(self._path), self._box()
        return held

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged."""
        return (f"{POINTER}: one copy of it, or of a key, is damaged",) if self._damaged else ()

    def _box(self) -> Box | None:
        try:
            document, damaged = twofold.read(self._path)
        except FileNotFoundError:
            return None  # removed meanwhile
        if document is None:
            raise lost(self._path)
        name = document["name"]
        if not self._removed and name != os.path.basename(self._folder):
            raise StoreCorruptedError(f"{self._folder} is the folder {name}; nothing was changed: move it back")
        found = []
        for id in document["keys"]:
            try:
                key, worn = self._keys.find(id, name)
            except FileNotFoundError:
                continue
            found.append(key)
            damaged = damaged or worn
        self._damaged = damaged
        if not found and self._keys.is_shredded(self._folder):
            raise StoreCorruptedError(
                f"{self._folder} is a copy of a user who was forgotten for good: the key was destroyed, and nobody can "
                f"read it; nothing was changed: siltstone verify --repair --store {self._keys.root} removes it"
            )
        if not found and disk.exists(self._path):
            raise StoreCorruptedError(
                f"the key of {self._folder} is not in {FOLDER}: it was destroyed when the user was forgotten, or "
                f"{FOLDER} is older than this folder; nothing was changed: put the newer {FOLDER} back"
            )
        return Box(found) if found else None


def _seen(path: str) -> tuple[int, ...] | None:
    try:
        found = disk.status(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _has_documents(folder: str) -> bool:
    return bool(segment_numbers(folder))
