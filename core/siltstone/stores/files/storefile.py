"""``STORE``: what holds for a whole folder, as one small JSON line, written twice so that damage to one is mended."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from ...errors import ConfigurationError, NotFoundError, StoreCorruptedError, StoreVersionError
from ...protocols import Fingerprint
from ..encryption.cipher import NO_KEYS, Keys, missing, superfluous
from . import disk, layout, twofold
from .lock import LOCK_TIMEOUT

if TYPE_CHECKING:
    from ..encryption.keys import KeyFolder

FORMAT: Final = 4
"""Counts up with every change that an older release would misread; see ``migrations``."""
NAME: Final = "STORE"
KEYS: Final = "KEYS"
"""Folder of an encrypted store's keys, see ``keys``."""


@dataclass(frozen=True)
class StoreFile:
    """The settings of a folder: ``secret`` keys its hashes, ``space`` counts its embedding spaces.

    ``sealed``: the store is encrypted, and the names of its folders tell nothing. ``restoring``: it is being replaced
    by a backup, see ``restored``. ``moving``: a migration into it has not come to its end, see ``moving``.
    """

    secret: bytes
    space: int = 0
    fingerprint: Fingerprint | None = None
    format: int = FORMAT
    damaged: bool = False
    sealed: bool = False
    restoring: bool = False
    moving: bool = False

    @property
    def identity(self) -> str:
        """What tells this store, its copies and its backups from every other one; gives nothing away."""
        return blake2b(b"identity", key=self.secret, digest_size=8).hexdigest()

    def user_key(self, user_id: str) -> bytes:
        """Return the key of a user's hashes."""
        return user_key(self.secret, user_id)

    def user_folder(self, root: str, user_id: str) -> str:
        """Return a user's folder: named by a hash, so that ids never collide, whatever the disk's rules.

        A plain store puts a readable part in front; an encrypted one keys the hash, so that no one can try ids.
        """
        if self.sealed:
            key = blake2b(b"folders", key=self.secret).digest()
            return named_folder(root, blake2b(user_id.encode(), key=key, digest_size=16).hexdigest())
        hashed = blake2b(user_id.encode(), digest_size=16).hexdigest()
        readable = re.sub(r"[^a-z0-9]+", "-", user_id.lower())[:24].strip("-")
        return named_folder(root, f"{readable}-{hashed}" if readable else hashed)


def user_key(secret: bytes, user_id: str) -> bytes:
    """Return the key of a user's hashes: the same in every store of a secret, so that they can be moved."""
    return blake2b(user_id.encode(), key=secret, digest_size=16).digest()


def exists(folder: str) -> bool:
    """Return whether a folder is a store."""
    return disk.exists(os.path.join(folder, NAME))


def absent(folder: str) -> NotFoundError:
    """Return what is raised where a folder is no store and none is to be made."""
    return NotFoundError(f"there is no store in {folder}: siltstone doctor looks for one nearby")


def unlock(
    folder: str, key: bytes | str | None, *, sealed: bool | None = None, lock_timeout: float = LOCK_TIMEOUT
) -> Keys:
    """Return the keys of a store, or of what is left of one, encrypted or not; nothing is written.

    ``sealed``: whether it is encrypted, where ``STORE`` cannot tell. ``lock_timeout``: seconds that whoever adds a key
    waits for another one.

    Raises ``DecryptionError`` for a wrong or missing key, ``ConfigurationError`` for a key of a plain store, and what
    ``read`` raises.
    """
    if sealed is None:
        sealed = "sealed" in document(folder) if exists(folder) else disk.is_folder(os.path.join(folder, KEYS))
    if not sealed:
        NO_KEYS.check(folder, key)
        return NO_KEYS
    if key is None:
        raise missing(folder)
    return _key_folder()(folder, key, lock_timeout=lock_timeout)


def check_new(folder: str, key: bytes | str | None) -> None:
    """Raise what stands against a new store in a folder with this key; nothing is written.

    Users' keys belong to a store that is elsewhere. ``KEYS`` without any is what a killed process began.
    """
    path = os.path.join(folder, KEYS)
    begun = disk.is_folder(path)
    if begun and any(len(name) == 2 for name in disk.names(path)) and not exists(folder):
        raise ConfigurationError(
            f"{folder} holds the {KEYS} of an encrypted store, and not the store; nothing was changed: restore its "
            "backup here (siltstone restore), or choose another folder for a new store"
        )
    if key is not None:
        _key_folder().check_new(folder, key)
    elif begun:
        raise missing(folder)


def create(folder: str, store: StoreFile, key: bytes | str | None, *, lock_timeout: float = LOCK_TIMEOUT) -> Keys:
    """Make a folder a store, encrypted if there is a key. Needs the folder's lock, and ``check_new`` before."""
    keys: Keys = NO_KEYS if key is None else _key_folder().create(folder, key, lock_timeout=lock_timeout)
    write(folder, store, keys)
    return keys


def _key_folder() -> type[KeyFolder]:
    from ..encryption.keys import KeyFolder  # loads cryptography, which plain stores do without

    return KeyFolder


def write(folder: str, store: StoreFile, keys: Keys = NO_KEYS) -> None:
    """Replace the settings of a folder, atomically."""
    fingerprint = None if store.fingerprint is None else dataclasses.asdict(store.fingerprint)
    secret = keys.hidden(store.secret)
    under_way = {name: True for name in ("restoring", "moving") if getattr(store, name)}
    replace(folder, {"format": store.format, **secret, "space": store.space, "fingerprint": fingerprint, **under_way})


def replace(folder: str, document: Mapping[str, Any]) -> None:
    """Replace ``STORE`` by a document of any format, atomically."""
    twofold.write(os.path.join(folder, NAME), document)


def read(folder: str, keys: Keys = NO_KEYS) -> StoreFile:
    """Return the settings of a folder.

    Raises ``StoreVersionError`` for a newer format and while a migration is under way, ``StoreCorruptedError`` when
    neither copy checks, and what ``unlock`` raises where another store lies there than the one with these keys.
    """
    document, damaged = _read(folder)
    if ("sealed" in document) == (keys is NO_KEYS):
        raise missing(folder) if keys is NO_KEYS else superfluous(folder)
    if "step" in document:
        raise StoreVersionError(f"{folder} is being migrated by another process; nothing was changed: retry")
    return settings(document, keys, damaged=damaged)


def settings(document: Mapping[str, Any], keys: Keys, *, damaged: bool = False) -> StoreFile:
    """Return what a document of ``STORE`` says."""
    found = document["fingerprint"]
    return StoreFile(
        secret=keys.secret(document),
        space=document["space"],
        fingerprint=Fingerprint(**{**found, "probe": tuple(found["probe"])}) if found else None,
        format=document["format"],
        damaged=damaged,
        sealed="sealed" in document,
        restoring="restoring" in document,
        moving="moving" in document,
    )


def document(folder: str) -> dict[str, Any]:
    """Return what ``STORE`` holds, of any format that is known. Raises like ``read``."""
    return _read(folder)[0]


def _read(folder: str) -> tuple[dict[str, Any], bool]:
    path = os.path.join(folder, NAME)
    found, damaged = twofold.read(path)
    if found is None:
        raise StoreCorruptedError(f"{path} is damaged in both copies; nothing was changed: restore it from a backup")
    if found["format"] > FORMAT:
        raise StoreVersionError(
            f"{folder} has format {found['format']}, this release reads up to {FORMAT}: install a newer siltstone"
        )
    return found, damaged


def named_folder(root: str, name: str) -> str:
    """Return where the user's folder of a name lies: spread over 256 folders by the first digits of the hash."""
    return os.path.join(root, layout.USERS, name[-32:-30], name)
