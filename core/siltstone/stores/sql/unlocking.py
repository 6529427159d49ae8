"""From a key to the veils of a store: whether it is encrypted, and whether the key and the folder of keys are its own.

The folder holds ``STORE`` beside the keys: by which id the database knows them, and whether that has come to its end.
"""

from __future__ import annotations

import os
import secrets
from typing import Final

from ...errors import ConfigurationError, NotFoundError, StoreCorruptedError
from ..encryption.cipher import missing, superfluous
from ..files import disk, mounts, twofold
from ..files.lock import FileLock
from .dialect import Database, Transaction
from .meta import is_sealed, read_value, sealed_parts
from .veil import PlainVeils, Veils

STORE: Final = "STORE"


def check_key(key: bytes | str) -> None:
    """Raise ``ConfigurationError`` for what can be no key."""
    from ..encryption.masterkey import in_one_spelling  # loads cryptography

    in_one_spelling(key)


def unlocked(
    database: Database, key: bytes | str | None, folder: str | None, *, create: bool, lock_timeout: float
) -> Veils:
    """Return the veils of a store, which is encrypted from now on if it is new and there is a key.

    ``folder``: of its keys. Raises ``DecryptionError`` for a wrong or missing key, ``ConfigurationError`` for a key of
    a plain store, for no folder, or for that of another store, ``StoreCorruptedError`` where keys are gone,
    ``NotFoundError`` where an encrypted store would have to be made without ``create``. Nothing is changed then.
    """
    held = _held(database)
    if held is not None and not is_sealed(held):
        if key is not None:
            raise superfluous(database.location)
        return PlainVeils(database)
    if key is None:
        if held is not None:
            raise missing(database.location)
        return PlainVeils(database)
    if folder is None:
        raise ConfigurationError(
            f"the keys of an encrypted store lie outside its database: nothing was opened; name a folder for them: "
            f"{database.location}?keys=FOLDER"
        )
    if held is None:
        if not create:
            raise NotFoundError(f"there is no encrypted store at {database.location} yet: nothing was made")
        held = _made(database, key, folder, lock_timeout)
    from ..encryption.ring import KeyRing  # loads cryptography, which plain stores do without
    from .sealed import SealedVeils

    ring = KeyRing(folder, database.location, key, lock_timeout=lock_timeout)
    owner = _owner(folder)
    if owner is None or owner["id"] != sealed_parts(held)[0]:
        raise StoreCorruptedError(
            f"{folder} has the keys of another store than {database.location}; nothing was changed: name its own "
            "folder (?keys=FOLDER), or put that back"
        )
    return SealedVeils(database, ring, held)


def _made(database: Database, key: bytes | str, folder: str, lock_timeout: float) -> str:
    """Make the keys of a new store, and let the database know: from then on it is encrypted. Killed, it goes on."""
    from ..encryption import masterkey
    from ..encryption.ring import KeyRing
    from .sealed import NAMES_KEY, SECRET, sealed_secret

    mounts.check(folder)
    disk.make_folder(folder)
    with FileLock(os.path.join(folder, "LOCK")).held(lock_timeout):
        held = _held(database)
        if held is not None:  # another process was faster
            return held
        owner = _owner(folder)
        if owner is not None and owner["made"]:
            raise ConfigurationError(
                f"{folder} has the keys of another store than {database.location}, or of this one before its database "
                "was lost; nothing was changed: restore that, or name another folder (?keys=FOLDER) for a new store"
            )
        if not disk.exists(masterkey.path_in(folder)):
            masterkey.write(folder, masterkey.fresh(key))
        ring = KeyRing(folder, database.location, key, lock_timeout=lock_timeout)
        id = secrets.token_hex(8) if owner is None else str(owner["id"])
        twofold.write(os.path.join(folder, STORE), {"format": 1, "id": id, "made": False})
        sealed = sealed_secret(ring, id, secrets.token_bytes(SECRET + NAMES_KEY))

        def work(transaction: Transaction) -> str:
            transaction.run(
                "INSERT INTO siltstone_meta (name, value) VALUES ('secret', ?) ON CONFLICT DO NOTHING", sealed
            )
            return read_value(transaction, "secret") or ""

        held = database.write(None, work)
        if not is_sealed(held):
            raise superfluous(database.location)
        twofold.write(os.path.join(folder, STORE), {"format": 1, "id": id, "made": True})
        return held


def _held(database: Database) -> str | None:
    return database.glance(lambda t: read_value(t, "secret"))


def _owner(folder: str) -> dict[str, object] | None:
    path = os.path.join(folder, STORE)
    if not disk.exists(path):
        return None
    document, _ = twofold.read(path)
    if document is None:
        raise StoreCorruptedError(
            f"{path} is damaged in both copies; nothing was changed: put it back from your copy of the folder"
        )
    return document
