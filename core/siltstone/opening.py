"""From a location to an open store: a folder, ``:memory:`` or a ``Store`` of the caller's."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from .errors import ConfigurationError
from .forks import ForkSafeLock
from .protocols import Store
from .stores.folder import FolderStore
from .stores.ram import LOCATION, RamStore

Durability: TypeAlias = Literal["fsync", "os"]
Key: TypeAlias = bytes | str | Callable[[], bytes | str]
"""32 bytes, a passphrase, or a callable that gives either; ``base64:…`` and ``hex:…`` are bytes written as text."""
KEY_VARIABLE: Final = "SILTSTONE_KEY"
_URL: Final = re.compile(r"^([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


@dataclass
class _Shared:
    store: FolderStore
    users: int = 0


_open: dict[tuple[object, ...], _Shared] = {}
_guard = ForkSafeLock()


class StoreHandle:
    """One opening of a store. A folder opened twice in a process, alike, is one store, closed with its last handle."""

    def __init__(self, store: Store, key: tuple[object, ...] | None) -> None:
        self.store = store
        self._key = key
        self._closed = False

    def close(self) -> None:
        """Give the store back; the last handle of a folder closes it."""
        with _guard:
            if self._closed:
                return
            self._closed = True
            if self._key is not None:
                shared = _open.get(self._key)
                if shared is None or shared.store is not self.store:
                    return
                shared.users -= 1
                if shared.users > 0:
                    return
                del _open[self._key]
            self.store.close()


def open_store(
    location: str | os.PathLike[str] | Store,
    *,
    durability: Durability,
    read_only: bool,
    create: bool,
    lock_timeout: float,
    history: int,
    key: Key | None = None,
) -> StoreHandle:
    """Open the store at a location: a folder, ``":memory:"``, or a store of the caller's own, used as it is.

    ``key`` is for folders; ``None`` there is what ``given_key`` finds.

    Raises ``ConfigurationError`` for a location that no store of this installation serves, and what the store
    raises at opening.
    """
    if durability not in get_args(Durability):
        raise ConfigurationError(f"durability must be 'fsync' or 'os', not {durability!r}")
    if key is not None and (not isinstance(location, (str, os.PathLike)) or os.fspath(location) == LOCATION):
        raise ConfigurationError("key= encrypts a folder, and this location is none: nothing was opened")
    if not isinstance(location, (str, os.PathLike)):
        if not isinstance(location, Store):
            raise ConfigurationError(f"a location is a folder, ':memory:' or a Store, not {type(location).__name__}")
        return StoreHandle(location, None)
    text = os.fspath(location)
    if not text:
        raise ConfigurationError("the location is empty; pass a folder, e.g. './memory', or ':memory:'")
    if text == LOCATION:
        return StoreHandle(RamStore(history=history), None)
    url = _URL.match(text)
    if url is not None:
        raise ConfigurationError(
            f"{url.group(1)}:// locations are not served by this release; pass a folder or ':memory:'"
        )
    path = Path(text).expanduser()
    secret = given_key(key)
    with _guard:
        place = (os.getpid(), os.path.realpath(path), durability, read_only, lock_timeout, history)
        shared = _open.get(place)
        if shared is None:
            store = FolderStore(
                path,
                durability=durability,
                read_only=read_only,
                create=create,
                lock_timeout=lock_timeout,
                history=history,
                key=secret,
            )
            shared = _open[place] = _Shared(store)
        else:
            shared.store.check_key(secret)
        shared.users += 1
        return StoreHandle(shared.store, place)


def given_key(key: Key | None) -> bytes | str | None:
    """Return the key that a user gave, here or as ``SILTSTONE_KEY``; a callable is called once.

    Raises ``ConfigurationError`` for anything else than bytes or text.
    """
    if key is None:
        return os.environ.get(KEY_VARIABLE) or None
    given = key() if callable(key) else key
    if not isinstance(given, (bytes, str)):
        raise ConfigurationError(f"a key is 32 bytes or a passphrase, not {type(given).__name__}: nothing was opened")
    return given
