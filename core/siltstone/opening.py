"""From a location to an open store: a folder, ``:memory:``, a URL of an engine, or a ``Store`` of the caller's."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args
from urllib.parse import unquote

from .errors import ConfigurationError
from .forks import ForkSafeLock
from .protocols import Clock, SharedShortTermStore, ShortTermStore, Store
from .settings import Settings
from .stores.folder import FolderStore
from .stores.ram import LOCATION, RamStore
from .tiers.shared import SharedTurns
from .tiers.turns import KeptTurns, Turns

if TYPE_CHECKING:
    from .stores.sql.dialect import Database
    from .stores.sql.veil import Veils

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

    def __init__(self, store: Store, key: tuple[object, ...] | None, *, encrypted: bool = False) -> None:
        """``encrypted``: what was opened keeps all so, and nothing of it may lie elsewhere in the clear."""
        self.store = self._opened = store
        self._key = key
        self.encrypted = encrypted
        self._closed = False

    def put_over(self, store: Store) -> None:
        """Have another store, over the one that was opened, used in its place."""
        self.store = store

    def close(self) -> None:
        """Give the store back; the last handle of a folder closes it."""
        with _guard:
            if self._closed:
                return
            self._closed = True
            if self._key is not None:
                shared = _open.get(self._key)
                if shared is None or shared.store is not self._opened:
                    return
                shared.users -= 1
                if shared.users > 0:
                    return
                del _open[self._key]
            self._opened.close()


def open_store(
    location: str | os.PathLike[str] | Store,
    *,
    durability: Durability,
    read_only: bool,
    create: bool,
    lock_timeout: float,
    history: int,
    key: Key | None = None,
    replica: str | None = None,
    exact_vectors: int = Settings.exact_vectors,
) -> StoreHandle:
    """Open the store at a location: a folder, ``":memory:"``, a URL, or a store of the caller's own, used as it is.

    URLs are ``postgresql://…`` and ``sqlite:///file.db`` (``sqlite:////`` for an absolute path); ``?keys=FOLDER`` at
    their end says where the keys of an encrypted one lie. ``key`` ``None`` is what ``given_key`` finds. ``replica`` is
    for ``postgresql://``: the URL of a standby; ``exact_vectors`` is what ``Settings`` have.

    Raises ``ConfigurationError`` for a location that no store of this installation serves, and what the store
    raises at opening.
    """
    if durability not in get_args(Durability):
        raise ConfigurationError(f"durability must be 'fsync' or 'os', not {durability!r}")
    if key is not None and not (is_folder(location) or is_database(location)):
        raise ConfigurationError(
            "key= encrypts a folder or a database, and this location is neither: nothing was opened"
        )
    if replica is not None and not is_postgresql(location):
        raise ConfigurationError("Settings.replica is for a postgresql:// store, and this is none: nothing was opened")
    if not isinstance(location, (str, os.PathLike)):
        if not isinstance(location, Store):
            kind = type(location).__name__
            raise ConfigurationError(f"a location is a folder, ':memory:', a URL or a Store, not {kind}")
        return StoreHandle(location, None)
    text = os.fspath(location)
    if not text:
        raise ConfigurationError("the location is empty; pass a folder, e.g. './memory', or ':memory:'")
    if text == LOCATION:
        return StoreHandle(RamStore(history=history), None)
    if _URL.match(text):
        database, veils = database_at(
            text,
            key=given_key(key),
            durability=durability,
            read_only=read_only,
            create=create,
            lock_timeout=lock_timeout,
            replica=replica,
            exact_vectors=exact_vectors,
        )
        from .stores.sql.store import SqlStore

        engine = SqlStore(database, history=history, veils=veils)
        if not read_only:
            engine.shred()
        return StoreHandle(engine, None, encrypted=engine.encrypted)
    path = place_of(text)
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
        return StoreHandle(shared.store, place, encrypted=shared.store.encrypted)


def open_turns(
    short_term: ShortTermStore | str | None, handle: StoreHandle, *, settings: Settings, clock: Clock, read_only: bool
) -> Turns:
    """Return the way to recent turns: over the store itself, a short-term store, or one in Redis by its address.

    Raises ``ConfigurationError`` for anything else, and for a shared one beside an encrypted store;
    ``BackendUnavailableError`` where it does not answer and ``Settings.short_term_down`` refuses to go on.
    """
    store = handle.store
    if short_term is None:
        return Turns(store)
    if isinstance(short_term, str):
        from .stores.redis.turns import RedisShortTerm

        short_term = RedisShortTerm(
            short_term,
            ttl=timedelta(seconds=settings.short_term_ttl),
            turns=settings.short_term_turns,
            prefix=settings.short_term_prefix,
            clock=clock,
        )
    if not isinstance(short_term, ShortTermStore):
        kind = type(short_term).__name__
        raise ConfigurationError(
            f"short_term is a ShortTermStore, or an address as redis://HOST:PORT/0, not {kind}; nothing was opened"
        )
    if not isinstance(short_term, SharedShortTermStore):
        return KeptTurns(store, short_term)
    if handle.encrypted:
        raise ConfigurationError(
            f"the store is encrypted, and {short_term.location} would hold recent turns in the clear; nothing was "
            "opened: leave short_term out"
        )
    turns = SharedTurns(store, short_term, clock=clock, down=settings.short_term_down, read_only=read_only)
    turns.open()
    return turns


def is_folder(location: object) -> bool:
    """Return whether a location is a folder's, there or not."""
    if not isinstance(location, (str, os.PathLike)):
        return False
    text = os.fspath(location)
    return text != LOCATION and not _URL.match(text)


def is_postgresql(location: object) -> bool:
    """Return whether a location is a PostgreSQL server's."""
    return isinstance(location, str) and location.lower().startswith(("postgresql://", "postgres://"))


def is_database(location: object) -> bool:
    """Return whether a location is a database's."""
    return is_postgresql(location) or (isinstance(location, str) and location.lower().startswith("sqlite://"))


def is_service(location: object) -> bool:
    """Return whether a location is the address of a service."""
    return isinstance(location, str) and location.lower().startswith(("http://", "https://"))


def place_of(text: str) -> Path:
    """Return where a file or folder is meant to lie; raises ``ConfigurationError`` for what no disk can hold."""
    try:
        os.fsencode(text)
        path = Path(text).expanduser()
        os.path.abspath(path)
    except UnicodeEncodeError as exc:
        raise ConfigurationError(f"{text!r} holds a lone surrogate, which no name may: nothing was opened") from exc
    except RuntimeError as exc:
        raise ConfigurationError(
            f"{text} begins with ~, and that home is not known: nothing was opened; write the folder in full"
        ) from exc
    except FileNotFoundError as exc:
        raise ConfigurationError(
            f"{text} is meant from the current folder, which has been deleted: nothing was opened; change to another "
            "one, or write the folder in full"
        ) from exc
    if "\0" in text:
        raise ConfigurationError(f"{text!r} holds a NUL character, which no name may: nothing was opened")
    return path


def database_at(
    location: str,
    *,
    key: bytes | str | None,
    durability: Durability = "fsync",
    read_only: bool,
    create: bool,
    lock_timeout: float,
    replica: str | None = None,
    exact_vectors: int = Settings.exact_vectors,
) -> tuple[Database, Veils]:
    """Return the database at a location, and what hides its content if there is a key; engines are loaded when needed.

    Raises ``ConfigurationError``, with nothing made, for what cannot be a location or a key.
    """
    url, folder = keys_apart(location)
    if key is not None:
        from .stores.sql.unlocking import check_key

        check_key(key)
    database = _database(
        url,
        durability=durability,
        read_only=read_only,
        create=create,
        lock_timeout=lock_timeout,
        replica=replica,
        exact_vectors=exact_vectors,
    )
    from .stores.sql.unlocking import unlocked

    try:
        return database, unlocked(database, key, folder, create=not read_only, lock_timeout=lock_timeout)
    except BaseException:
        database.close()
        raise


def keys_apart(location: str) -> tuple[str, str | None]:
    """Return the URL of a database, and the folder of its keys: ``?keys=FOLDER``, or else beside a SQLite file."""
    url, _, query = location.partition("?")
    parameters = query.split("&")
    named = [one for one in parameters if one.startswith("keys=")]
    if named:
        kept = "&".join(one for one in parameters if one not in named)
        url = f"{url}?{kept}" if kept else url
        return url, os.path.abspath(place_of(unquote(named[-1].removeprefix("keys="))))
    if is_postgresql(location):
        return location, None
    return location, f"{os.path.abspath(place_of(location.partition('://')[2][1:]))}.keys"


def _database(
    url: str,
    *,
    durability: Durability,
    read_only: bool,
    create: bool,
    lock_timeout: float,
    replica: str | None,
    exact_vectors: int,
) -> Database:
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme == "sqlite":
        from .stores.sql.sqlite import SqliteDatabase

        if not rest.startswith("/") or rest == "/":
            raise ConfigurationError(f"{url} names no file: write sqlite:///file.db, or sqlite:////folder/file.db")
        return SqliteDatabase(
            place_of(rest[1:]),
            url,
            durability=durability,
            read_only=read_only,
            create=create,
            lock_timeout=lock_timeout,
        )
    if is_postgresql(url):
        from .stores.sql.postgres import PostgresDatabase

        return PostgresDatabase(
            url,
            read_only=read_only,
            create=create,
            lock_timeout=lock_timeout,
            replica=replica,
            exact_vectors=exact_vectors,
        )
    raise ConfigurationError(
        f"{scheme}:// locations are not served by this release; pass a folder, ':memory:', sqlite:///FILE or "
        "postgresql://SERVER"
    )


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
