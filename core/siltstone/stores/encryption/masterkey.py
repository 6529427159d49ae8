"""``MASTER``: the store key, wrapped by the master key, which is what the user gives: 32 bytes or a passphrase.

The store key wraps the users' keys, so that another master key means another ``MASTER`` and nothing else. While users
are moved to a fresh store key, the file holds the old one too.
"""

from __future__ import annotations

import os
import unicodedata
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ...errors import ConfigurationError, DecryptionError, StoreCorruptedError
from ..files import disk, twofold
from .crypto import KEY_SIZE, Box, stretched

NAME: Final = "MASTER"
_SCRYPT: Final = {"n": 1 << 15, "r": 8, "p": 3}
"""What OWASP's password storage cheat sheet asks for, in 32 MB."""
_MOST_MEMORY: Final = 1 << 30


@dataclass(frozen=True)
class StoreKey:
    """What wraps the keys of users, and the master key by which it was opened.

    ``ids`` and ``keys`` are the newest first: it wraps, any unwraps. ``stretch``: how a passphrase is made a key.
    """

    master: bytes
    stretch: Mapping[str, Any] | None
    ids: tuple[str, ...]
    keys: tuple[bytes, ...]
    damaged: bool = False

    def wrap(self, key: bytes, bound: bytes) -> dict[str, str]:
        """Return how a key lies on disk."""
        return {"key": Box(self.keys[:1]).seal(key, bound).hex(), "by": self.ids[0]}

    def unwrap(self, document: Mapping[str, Any], bound: bytes) -> bytes | None:
        """Return a key that lies on disk, or ``None`` if it was wrapped by another store key."""
        return Box(self.keys).open(bytes.fromhex(document["key"]), bound)

    def under(self, key: bytes | str) -> StoreKey:
        """Return the same under another master key."""
        given = in_one_spelling(key)
        stretch = None if isinstance(given, bytes) else {"salt": os.urandom(16).hex(), **_SCRYPT}
        return replace(self, master=_master_key(given, stretch, NAME), stretch=stretch)

    def with_fresh(self) -> StoreKey:
        """Return the same with a newer key in front."""
        return replace(self, ids=(os.urandom(8).hex(), *self.ids), keys=(os.urandom(KEY_SIZE), *self.keys))

    def newest_only(self) -> StoreKey:
        """Return the same without older keys."""
        return replace(self, ids=self.ids[:1], keys=self.keys[:1])


def fresh(key: bytes | str) -> StoreKey:
    """Return a new store key under a master key."""
    return StoreKey(b"", None, (), ()).with_fresh().under(key)


def path_in(folder: str) -> str:
    """Return where ``MASTER`` lies in a folder of keys."""
    return os.path.join(folder, NAME)


def unlock(folder: str, location: str, key: bytes | str) -> StoreKey:
    """Return the store key by what the user gave. ``DecryptionError`` for another master key than the store's."""
    path = path_in(folder)
    found = _opened(path, _master_key(in_one_spelling(key), _read(path)[0]["scrypt"], path))
    if found is None:
        raise DecryptionError(f"this is not the key of {location}; nothing was changed")
    return found


def again(folder: str, location: str, known: StoreKey) -> StoreKey:
    """Return the store key as it is now. ``DecryptionError`` if it has another master key since."""
    found = _opened(path_in(folder), known.master)
    if found is None:
        raise DecryptionError(
            f"{location} has another key since it was opened; nothing was changed: open it with that key"
        )
    return found


def ids(folder: str) -> tuple[str, ...]:
    """Return the ids of the store keys as they are now; no key is needed."""
    return tuple(id for id, _ in _read(path_in(folder))[0]["keys"])


def write(folder: str, store_key: StoreKey) -> None:
    """Replace ``MASTER``, atomically; on disk when it returns."""
    box = Box([store_key.master])
    pairs = zip(store_key.ids, store_key.keys, strict=True)
    sealed = [[id, box.seal(key, _bound(id)).hex()] for id, key in pairs]
    twofold.write(path_in(folder), {"format": 1, "scrypt": store_key.stretch, "keys": sealed})


def in_one_spelling(key: bytes | str) -> bytes | str:
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


def _read(path: str) -> tuple[dict[str, Any], bool]:
    if not disk.exists(path):
        raise StoreCorruptedError(
            f"{path} is missing, and nothing in the store can be read without it; nothing was changed: put its folder "
            "back (a backup of the store does not hold it)"
        )
    document, damaged = twofold.read(path)
    if document is None:
        raise StoreCorruptedError(
            f"{path} is damaged in both copies, and nothing in the store can be read without it; nothing was changed: "
            "put it back from your copy of its folder"
        )
    return document, damaged


def _opened(path: str, master: bytes) -> StoreKey | None:
    document, damaged = _read(path)
    box = Box([master])
    keys = [box.open(bytes.fromhex(sealed), _bound(id)) for id, sealed in document["keys"]]
    if None in keys:
        return None
    found = tuple(key for key in keys if key is not None)
    return StoreKey(master, document["scrypt"], tuple(id for id, _ in document["keys"]), found, damaged)


def _bound(id: str) -> bytes:
    return f"store key {id}".encode()


def _master_key(given: bytes | str, stretch: Mapping[str, Any] | None, path: str) -> bytes:
    """Return 32 bytes of what the user gave."""
    if isinstance(given, bytes):
        if stretch is not None:
            raise DecryptionError(f"{path} was made with a passphrase, and 32 bytes were given; nothing was changed")
        return given
    if stretch is None:
        raise DecryptionError(f"{path} was made with 32 bytes, and a passphrase was given; nothing was changed")
    if 128 * stretch["n"] * stretch["r"] > _MOST_MEMORY:
        raise StoreCorruptedError(f"{path} asks for {stretch['n']} rounds of scrypt; nothing was changed: restore it")
    return stretched(given.encode(), **{**stretch, "salt": bytes.fromhex(stretch["salt"])})
