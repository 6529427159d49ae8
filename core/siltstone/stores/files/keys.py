"""``KEYS``: the folder of an encrypted store that its keys lie in, and that no backup of it should hold.

::

    KEYS/
      MASTER             the store key, wrapped by the master key, and how that is made of a passphrase
      LOCK               taken while a key is added or ``MASTER`` replaced
      ab/<key id>        the key of one user, wrapped by the store key
    users/ab/<name>/
      KEY                the ids of the user's keys, the one to seal with first

Another master key means another ``MASTER`` and nothing else. Without the file of a user's key, every copy of what
they had is noise. A wrapped key is bound to its id and to the name of the user's folder.
"""

from __future__ import annotations

import os
import unicodedata
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ...errors import ConfigurationError, DecryptionError, StoreCorruptedError
from . import disk, twofold
from .cipher import Cipher, missing
from .crypto import KEY_SIZE, Box, Held, Sealed, stretched
from .lock import FileLock
from .storefile import KEYS as FOLDER

POINTER: Final = "KEY"
_MASTER: Final = "MASTER"
_SCRYPT: Final = {"n": 1 << 15, "r": 8, "p": 3}
"""What OWASP's password storage cheat sheet asks for, in 32 MB."""
_MOST_MEMORY: Final = 1 << 30
_LOCK_TIMEOUT: Final = 10.0


@dataclass(frozen=True)
class _Master:
    """What ``MASTER`` says: how a passphrase is stretched, and ids and keys to wrap users' keys with, newest first."""

    seen: tuple[int, ...]
    stretch: Mapping[str, Any] | None
    ids: tuple[str, ...]
    keys: tuple[bytes, ...]
    damaged: bool

    def wrap(self, key: bytes, id: str, name: str) -> dict[str, str]:
        return {"key": Box(self.keys[:1]).seal(key, _bound(id, name)).hex()}

    def unwrap(self, document: Mapping[str, Any], id: str, name: str) -> bytes | None:
        return Box(self.keys).open(bytes.fromhex(document["key"]), _bound(id, name))


class KeyFolder:
    """The keys of an encrypted store. See ``cipher.Keys``."""

    def __init__(self, root: str, key: bytes | str) -> None:
        """Open what lies in ``root``.

        Raises ``DecryptionError`` for a wrong key, ``StoreCorruptedError`` where ``MASTER`` is damaged or gone.
        """
        self.root = root
        path = os.path.join(root, FOLDER, _MASTER)
        document, _, _ = _read_master(path)
        self._key = _master_key(key, document["scrypt"], path)
        self._master = _unlocked(path, self._key)
        self.store: Cipher = Sealed(KeysOfStore(self))

    @classmethod
    def create(cls, root: str, key: bytes | str) -> KeyFolder:
        """Make the keys of a new store. Needs the store's lock."""
        path = os.path.join(root, FOLDER, _MASTER)
        stretch = None if isinstance(_given(key), bytes) else {"salt": os.urandom(16).hex(), **_SCRYPT}
        master = _master_key(key, stretch, path)
        disk.make_folder(os.path.join(root, FOLDER))
        _write_master(path, master, stretch, [(os.urandom(8).hex(), os.urandom(KEY_SIZE))])
        return cls(root, key)

    def check(self, root: str, key: bytes | str | None) -> None:
        """Raise ``DecryptionError`` unless the key opens the store."""
        if key is None:
            raise missing(root)
        KeyFolder(root, key)

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged."""
        return (f"{FOLDER}/{_MASTER}: one of its two copies is damaged",) if self._master.damaged else ()

    # --- the store's own secret

    def hidden(self, secret: bytes) -> dict[str, str]:
        """Return the secret sealed by the store key."""
        return {"sealed": Box(self.newest().keys).seal(secret, b"secret").hex()}

    def secret(self, document: Mapping[str, Any]) -> bytes:
        """Return the secret that ``STORE`` holds sealed."""
        sealed = bytes.fromhex(document["sealed"])
        found = Box(self._master.keys).open(sealed, b"secret") or Box(self._renewed().keys).open(sealed, b"secret")
        if found is None:
            raise StoreCorruptedError(
                f"{self.root}: STORE and {FOLDER} are not of one store; nothing was changed: restore both as they were"
            )
        return found

    # --- users

    def cipher(self, folder: str, *, removed: bool = False) -> Cipher:
        """Return the cipher of a user's folder."""
        return Sealed(KeysOfUser(self, folder, removed=removed))

    def destroy(self, folder: str) -> None:
        """Destroy the keys that a folder names; on disk when it returns."""
        try:
            document, _ = twofold.read(os.path.join(folder, POINTER))
        except FileNotFoundError:
            return
        if document is None:
            raise StoreCorruptedError(f"{folder}/{POINTER} is damaged in both copies: its key is not known")
        self.drop(document["keys"])

    def drop(self, ids: Iterable[str]) -> None:
        """Remove keys for good."""
        for id in ids:
            path = self._path(id)
            if disk.exists(path):
                disk.unlink(path)
                disk.sync_folder(os.path.dirname(path))

    def draw(self, name: str) -> str:
        """Make a key for the folder of a name; return its id. On disk when it returns."""
        id = os.urandom(16).hex()
        lock = FileLock(os.path.join(self.root, FOLDER, "LOCK"))
        lock.acquire(_LOCK_TIMEOUT)
        try:
            wrapped = self.newest().wrap(os.urandom(KEY_SIZE), id, name)
            disk.make_folder(os.path.dirname(self._path(id)))
            twofold.write(self._path(id), wrapped)
        finally:
            lock.release()
        return id

    def find(self, id: str, name: str) -> tuple[bytes, bool]:
        """Return a user's key, and whether a copy of it is damaged. Raises ``FileNotFoundError``."""
        path = self._path(id)
        document, damaged = twofold.read(path)
        if document is None:
            raise StoreCorruptedError(
                f"{path} is damaged in both copies, and nothing of one user can be read without it; nothing was "
                "changed, the other users are safe: put this file back from your copy of KEYS"
            )
        key = self._master.unwrap(document, id, name) or self._renewed().unwrap(document, id, name)
        if key is None:
            raise StoreCorruptedError(f"{path} is not a key of {name}; nothing was changed: put it back as it was")
        return key, damaged

    def _path(self, id: str) -> str:
        return os.path.join(self.root, FOLDER, id[:2], id)

    # --- the master key

    def newest(self) -> _Master:
        """Return a state whose first key is the one to wrap with, whatever other processes did."""
        path = os.path.join(self.root, FOLDER, _MASTER)
        document, _, seen = _read_master(path)
        if seen != self._master.seen and tuple(id for id, _ in document["keys"]) != self._master.ids:
            return self._renewed()
        return self._master

    def _renewed(self) -> _Master:
        self._master = _unlocked(os.path.join(self.root, FOLDER, _MASTER), self._key)
        return self._master


class KeysOfStore:
    """The store key, for what belongs to no user. See ``crypto.UserKeys``."""

    def __init__(self, keys: KeyFolder) -> None:
        self._keys = keys

    def renewed(self, token: object) -> Held | None:
        """Return the keys as they are now, or ``None`` if they still are those of the token."""
        master = self._keys.newest()
        return None if master.ids == token else (master.ids, Box(master.keys))

    drawn = renewed

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged."""
        return self._keys.health()


class KeysOfUser:
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
            name = os.path.basename(self._folder)
            twofold.write(self._path, {"name": name, "keys": [self._keys.draw(name)]})
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
            raise StoreCorruptedError(
                f"{self._path} is damaged in both copies, and nothing of this user can be read without it; nothing was "
                "changed, the other users are safe: restore this file"
            )
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
    try:
        return any(name.startswith("docs.") for name in disk.names(folder))
    except FileNotFoundError:
        return False


def _bound(id: str, name: str) -> bytes:
    return f"user key {id} {name}".encode()


# --- MASTER


def _read_master(path: str) -> tuple[dict[str, Any], bool, tuple[int, ...]]:
    seen = _seen(path)
    if seen is None:
        raise StoreCorruptedError(
            f"{path} is missing, and nothing in the store can be read without it; nothing was changed: put the folder "
            f"{FOLDER} back (a backup of the store does not hold it)"
        )
    document, damaged = twofold.read(path)
    if document is None:
        raise StoreCorruptedError(
            f"{path} is damaged in both copies, and nothing in the store can be read without it; nothing was changed: "
            f"put it back from your copy of {FOLDER}"
        )
    return document, damaged, seen


def _unlocked(path: str, master: bytes) -> _Master:
    document, damaged, seen = _read_master(path)
    ids = tuple(id for id, _ in document["keys"])
    keys = [Box([master]).open(bytes.fromhex(sealed), f"store key {id}".encode()) for id, sealed in document["keys"]]
    if None in keys:
        raise DecryptionError(f"this is not the key of {os.path.dirname(os.path.dirname(path))}; nothing was changed")
    return _Master(seen, document["scrypt"], ids, tuple(key for key in keys if key is not None), damaged)


def _write_master(
    path: str, master: bytes, stretch: Mapping[str, Any] | None, keys: Iterable[tuple[str, bytes]]
) -> None:
    sealed = [[id, Box([master]).seal(key, f"store key {id}".encode()).hex()] for id, key in keys]
    twofold.write(path, {"format": 1, "scrypt": stretch, "keys": sealed})


def _master_key(key: bytes | str, stretch: Mapping[str, Any] | None, path: str) -> bytes:
    """Return 32 bytes of what the user gave."""
    given = _given(key)
    if isinstance(given, bytes):
        if stretch is not None:
            raise DecryptionError(f"{path} was made with a passphrase, and 32 bytes were given; nothing was changed")
        return given
    if stretch is None:
        raise DecryptionError(f"{path} was made with 32 bytes, and a passphrase was given; nothing was changed")
    if 128 * stretch["n"] * stretch["r"] > _MOST_MEMORY:
        raise StoreCorruptedError(f"{path} asks for {stretch['n']} rounds of scrypt; nothing was changed: restore it")
    return stretched(given.encode(), **{**stretch, "salt": bytes.fromhex(stretch["salt"])})


def _given(key: bytes | str) -> bytes | str:
    """Return 32 bytes, or a passphrase in one spelling. ``base64:`` and ``hex:`` before a text mean bytes."""
    if isinstance(key, str):
        scheme, colon, rest = key.partition(":")
        if colon and scheme in ("base64", "hex"):
            try:
                key = bytes.fromhex(rest) if scheme == "hex" else b64decode(rest, validate=True)
            except ValueError as exc:
                raise ConfigurationError(f"the key is not {scheme}: nothing was opened") from exc
        elif not key:
            raise ConfigurationError("the key is empty: nothing was opened")
        else:
            return unicodedata.normalize("NFKC", key)
    if len(key) != KEY_SIZE:
        raise ConfigurationError(
            f"a key in bytes has {KEY_SIZE}, not {len(key)}: nothing was opened; a str is taken as a passphrase"
        )
    return bytes(key)
