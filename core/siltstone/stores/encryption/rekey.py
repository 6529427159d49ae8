"""Giving a store another master key, and its users other keys.

Another master key is one file replaced. For other users' keys the store gets a fresh store key beside the old one;
user after user is written anew under a key of their own that the fresh one wraps; when nothing is left of the old one,
it goes. Killed at any moment, everything can be read with the new master key, and the next run goes on.
"""

from __future__ import annotations

import os

from ...errors import ConfigurationError, DecryptionError, StoreCorruptedError
from ...protocols import Progress
from ...reports import RekeyReport
from ..files import auditfile, disk, storefile
from ..files.auditfile import Deed
from ..files.headers import read_user
from ..files.layout import segment_name, segment_numbers
from ..files.lock import FileLock
from ..folder import FolderStore
from .cipher import not_encrypted
from .keys import KeyFolder
from .ring import KeyRing


def rekey(
    root: str,
    old: bytes | str | None,
    new: bytes | str | None,
    *,
    data_keys: bool,
    timeout: float,
    progress: Progress | None,
) -> RekeyReport:
    """Change the keys of the store in ``root``; see ``upkeep.rekey``."""
    keys, master = _opened(root, old, new, timeout)
    if new is None and not data_keys:
        raise ConfigurationError("there is no new key, and data_keys=True was not asked for: nothing was changed")
    going_on = turned(keys, master, new, data_keys=data_keys)
    master = master if new is None else new
    users = _move_users(root, master, keys, timeout, progress) if data_keys or going_on else 0
    auditfile.append_locked(root, [Deed("rekey", counts={"users": users})], keys, durable=True, timeout=timeout)
    return RekeyReport(root, new is not None, users)


def turned(keys: KeyRing, opened: bytes | str | None, new: bytes | str | None, *, data_keys: bool) -> bool:
    """Put another master key, and with ``data_keys`` a fresh store key, in its place.

    ``opened``: the key by which it was opened, perhaps the new one already. Return whether an earlier run has left
    users who are to be moved.
    """
    with keys.locked():
        store_key = keys.renewed()  # another run may have been faster
        going_on = len(store_key.ids) > 1
        if data_keys and not going_on:
            store_key = store_key.with_fresh()
        if new is not None and opened is not new:
            store_key = store_key.under(new)
        keys.replace(store_key)
    return going_on


def _opened(
    root: str, old: bytes | str | None, new: bytes | str | None, timeout: float
) -> tuple[KeyFolder, bytes | str | None]:
    """Return the keys and what opened them: the new key where a killed run has put it in its place already."""
    try:
        keys = storefile.unlock(root, old, lock_timeout=timeout)
    except DecryptionError:
        if new is None or old is None:
            raise
        try:
            keys, old = storefile.unlock(root, new, lock_timeout=timeout), new
        except DecryptionError:
            raise DecryptionError(f"the old key is not the key of {root}; nothing was changed") from None
    if not isinstance(keys, KeyFolder):
        raise not_encrypted(root)
    return keys, old


def _move_users(root: str, key: bytes | str | None, keys: KeyFolder, timeout: float, progress: Progress | None) -> int:
    """Bring everything under the newest store key, and let the older ones go; return how many users that took."""
    with FileLock(os.path.join(root, "LOCK")).held(timeout):
        storefile.write(root, storefile.read(root, keys), keys)
        auditfile.reseal(root, keys)
    store = FolderStore(root, key=key, lock_timeout=timeout)
    moved: set[str] = set()
    try:
        while True:
            folders = list(store.user_folders())
            for done, folder in enumerate(folders, 1):
                if _move(store, keys, folder, timeout):
                    moved.add(folder)
                if progress is not None:
                    progress(done, len(folders))
            with keys.locked():
                newest = keys.renewed().newest_only()
                named = {id for folder in store.user_folders() for id in keys.named(folder)}
                if all(keys.wrapped_by(id) in (None, newest.ids[0]) for id in named):  # else one was begun meanwhile
                    keys.drop(id for id in list(keys.all()) if id not in named)  # what killed processes left
                    keys.replace(newest)
                    return len(moved)
    finally:
        store.close()


def _move(store: FolderStore, keys: KeyFolder, folder: str, timeout: float) -> bool:
    """Bring one user under a fresh key; false if they are, or were forgotten together with theirs."""
    if keys.is_shredded(folder):
        return False
    user_id = read_user(folder, keys.cipher(folder))
    if user_id is not None:
        return store.reseal(user_id)
    if not disk.exists(folder):
        return False
    if any(disk.size(os.path.join(folder, segment_name(number))) for number in segment_numbers(folder)):
        raise StoreCorruptedError(
            f"{folder}: whose it is cannot be read; they and the store keep the old key, and nothing is lost: "
            f"siltstone verify --repair --store {store.location}, then rekey again"
        )
    with FileLock(os.path.join(folder, "LOCK")).held(timeout):  # begun, and nothing written yet
        if keys.named(folder) and keys.turn(folder):
            keys.settle(folder)
            return True
    return False
