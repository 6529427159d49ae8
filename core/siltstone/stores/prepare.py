"""Before a store is opened: is it one, may it be made here, and what opens it?"""

from __future__ import annotations

import os
import secrets

from ..errors import ConfigurationError
from .encryption.cipher import Keys
from .files import auditfile, disk, storefile
from .files.lock import FileLock
from .files.storefile import StoreFile


def prepare(root: str, key: bytes | str | None, *, create: bool, timeout: float, secret: bytes | None = None) -> Keys:
    """Make sure that ``root`` is a store, and return its keys.

    ``secret``: that of the store which is moved here, if it is made now.
    """
    if disk.exists(root) and not disk.is_folder(root):
        raise ConfigurationError(f"{root} is a file: a store is a folder")
    if storefile.exists(root):
        return storefile.unlock(root, key, lock_timeout=timeout)
    occupied = disk.is_folder(root) and any(
        name not in ("LOCK", storefile.KEYS) and not name.startswith("STORE.") for name in disk.names(root)
    )
    if occupied and storefile.exists(root):
        return storefile.unlock(root, key, lock_timeout=timeout)  # another process made it between the two looks
    if occupied:
        raise ConfigurationError(f"{root} holds something that is no siltstone store; nothing was changed")
    if not create:
        raise storefile.absent(root)
    storefile.check_new(root, key)
    disk.make_folder(root)
    with FileLock(os.path.join(root, "LOCK")).held(timeout):
        if storefile.exists(root):
            return storefile.unlock(root, key, lock_timeout=timeout)
        fresh = StoreFile(secret or secrets.token_bytes(16), moving=secret is not None)
        keys = storefile.create(root, fresh, key, lock_timeout=timeout)
        auditfile.append(root, [], keys)
        return keys
