"""From two locations to a migration: what can be moved, where to, and what is to be said before anything is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from .errors import ConfigurationError, DecryptionError, NotFoundError, SiltstoneError, StoreCorruptedError
from .opening import Key, database_at, given_key, is_folder, is_service, keys_apart, place_of
from .protocols import Progress
from .reports import MigrationReport
from .settings import Settings
from .stores.files import storefile
from .stores.files.mounts import check as check_mount
from .stores.movable import MovableFolder, found_in, wipe
from .stores.moving import Movable
from .stores.ram import LOCATION
from .text.addresses import shown_address
from .transfer.migrating import COUNTS, Migration

if TYPE_CHECKING:
    from .stores.sql.movable import MovableSql

State: TypeAlias = Literal["absent", "empty", "half done", "the same", "of this source", "other"]
_AGAIN: Final = "; to have the target's content deleted for good and the source moved there, pass replace (--replace)"


@dataclass(frozen=True)
class Place:
    """One side of a migration: where, with which key, and how it is opened."""

    location: str
    key: bytes | str | None
    settings: Settings

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder's."""
        return is_folder(self.location)

    @property
    def root(self) -> str:
        """The folder."""
        return os.path.abspath(place_of(self.location))

    def folder(self, *, secret: bytes | None = None, read_only: bool = False) -> MovableFolder:
        """Open the folder; ``secret``: of the store that is moved here."""
        return MovableFolder(
            self.root,
            read_only=read_only,
            create=secret is not None,
            lock_timeout=self.settings.lock_timeout,
            history=self.settings.history,
            key=self.key,
            secret=secret,
        )

    def engine(self, *, create: bool = False, read_only: bool = False, half_way: bool = False) -> MovableSql:
        """Open the store on an engine."""
        database, veils = database_at(
            self.location,
            key=self.key,
            read_only=read_only,
            create=create,
            lock_timeout=self.settings.lock_timeout,
        )
        from .stores.sql.movable import MovableSql

        store = MovableSql(database, history=self.settings.history, half_way=half_way, veils=veils)
        if not read_only:
            store.shred()
        return store


def migrate(
    source: Place, target: Place, *, replace: bool, plain: bool, dry_run: bool, progress: Progress | None
) -> MigrationReport:
    """Move everything; see ``upkeep.migrate``."""
    _check_apart(source, target)
    with closing(_opened(source)) as store:
        if store.encrypted and not plain and target.key is None:
            raise ConfigurationError(
                f"{source.location} is encrypted, and {target.location} would not be: nothing was written; give the "
                "target a key (--to-key-file), or say that it is to be plain (--plain)"
            )
        secret = store.secret
        was = _state(target, secret, lenient=replace)
        migration = Migration(store, progress=progress)
        audit = sum(1 for _ in store.deeds())
        whole = was in ("of this source", "other")
        if whole and not replace:
            return _compared(store, target, was, migration, audit)
        versions = migration.survey(1 if dry_run else 2)
        if dry_run:
            migration.count()
            return _report(source, target, migration, was, audit, written=versions, dry_run=True)
        if whole or (was == "empty" and target.is_folder):
            _wipe(target)
        with _filled(target, secret, begun=was == "half done") as half:
            migration.copy(half, fresh=was != "half done")
        with _filled(target, secret, begun=True) as half:  # what is on the disk, not what this process remembers
            migration.check(half)
            migration.check_source()
            half.settle()
        told = "replaced" if whole else was
        return _report(source, target, migration, told, audit, written=versions - migration.found)


def _compared(store: Movable, target: Place, was: State, migration: Migration, audit: int) -> MigrationReport:
    """Return the report of a target that is the source's copy already; raise for any other that holds something."""
    if was == "other":
        raise ConfigurationError(
            f"{target.location} holds a store that did not come from {store.location}: nothing was changed{_AGAIN}"
        )
    migration.survey(2)
    migration.count()
    with closing(_opened(target)) as there:
        try:
            migration.check(there)
        except StoreCorruptedError as exc:
            raise ConfigurationError(
                f"{target.location} has the same origin as {store.location}, and is not the same any more ({exc}): "
                f"nothing was changed{_AGAIN}"
            ) from exc
    return _report(Place(store.location, None, target.settings), target, migration, "the same", audit, written=0)


def _report(
    source: Place, target: Place, migration: Migration, was: str, audit: int, *, written: int, dry_run: bool = False
) -> MigrationReport:
    tallies = migration.tallies
    whole = blake2b(digest_size=16)
    for user_id in sorted(tallies):
        whole.update(user_id.encode() + b"\0" + tallies[user_id].checksum.encode())
    counts = {name: sum(getattr(tally, name) for tally in tallies.values()) for name in COUNTS}
    return MigrationReport(
        shown_address(source.location),
        shown_address(target.location),
        users=len(tallies),
        **counts,
        audit=audit,
        written=written,
        checksum=whole.hexdigest(),
        target_was=was,
        dry_run=dry_run,
    )


# --- the source


def _opened(place: Place) -> Movable:
    """Open a store to read it; nothing is written there."""
    return place.folder(read_only=True) if place.is_folder else place.engine(read_only=True)


# --- the target


def _state(place: Place, secret: bytes, *, lenient: bool) -> State:
    """Return what lies where the source is to go. Nothing is written.

    ``lenient``: what cannot be opened is another store, which is to be replaced.
    """
    if place.is_folder:
        check_mount(place.root)
        try:
            found = found_in(place.root, place.key)
        except SiltstoneError:
            if not lenient:
                raise
            return "other"
        if found is None:
            return "absent"
        settings, occupied = found
        return _judged(settings.secret == secret, settings.moving, occupied)
    try:
        store = place.engine(read_only=True, half_way=True)
    except NotFoundError:
        return "absent"
    with closing(store):
        try:
            same = store.secret == secret
        except NotFoundError:
            same = False
        return _judged(same, store.is_half_done, not store.is_empty)


def _judged(same: bool, moving: bool, occupied: bool) -> State:
    if same:
        return "half done" if moving else "of this source"
    return "other" if occupied or moving else "empty"


def _wipe(place: Place) -> None:
    if place.is_folder:
        wipe(place.root)
        return
    with closing(place.engine(half_way=True)) as store:
        store.wipe()


@contextmanager
def _filled(place: Place, secret: bytes, *, begun: bool) -> Iterator[Movable]:
    """Give the block the half-done target, made where it is not ``begun``."""
    if place.is_folder:
        with closing(place.folder(secret=secret)) as folder:
            yield folder
        return
    with closing(place.engine(create=True, half_way=True)) as store:
        if not begun:
            store.begin(secret)
        yield store


# --- both


def place(
    location: str | os.PathLike[str], key: Key | None, settings: Settings, *, what: str, plain: bool = False
) -> Place:
    """Return one side of a migration; ``what`` names it. ``plain``: no key from the environment.

    Raises ``ConfigurationError`` for what cannot be one, by its name.
    """
    text = os.fspath(location)
    if text == LOCATION:
        raise ConfigurationError(f"':memory:' cannot be {what}: it is gone with its process; nothing was written")
    if is_service(text):
        raise ConfigurationError(
            f"{text} cannot be {what}: a service gives and takes one user's memory at a time; nothing was written. Run "
            "the command where its store is, or use siltstone export and import"
        )
    if plain:
        return Place(text, None, settings)
    if not is_folder(text):
        given = given_key(key)
        if key is None and given is not None and is_sealed(text, settings) is False:
            given = None  # the key of the environment is the other side's
        return Place(text, given, settings)
    root = os.path.abspath(place_of(text))
    if key is None and storefile.exists(root) and "sealed" not in storefile.document(root):
        return Place(text, None, settings)  # the key of the environment is the other side's
    return Place(text, given_key(key), settings)


def is_sealed(location: str, settings: Settings) -> bool | None:
    """Return whether the store in a database is encrypted; ``None`` where there is none yet. No key is needed."""
    from .stores.sql import meta

    url, _ = keys_apart(location)
    try:
        database, _ = database_at(url, key=None, read_only=True, create=False, lock_timeout=settings.lock_timeout)
    except DecryptionError:
        return True
    except NotFoundError:
        return None
    with closing(database):
        return None if database.glance(lambda t: meta.read_value(t, "secret")) is None else False


def _check_apart(source: Place, target: Place) -> None:
    """Raise ``ConfigurationError`` where both are one store, or one lies in the other's folder."""
    paths = [os.path.realpath(path) for path in map(_path, (source, target)) if path is not None]
    same = keys_apart(source.location)[0] == keys_apart(target.location)[0]
    if len(paths) == 2:
        same = paths[0] == paths[1]
        common = os.path.commonpath(paths)
        for path, other in (paths, paths[::-1]):
            if not same and common == path:
                raise ConfigurationError(f"{other} lies in the folder of {path}: nothing was written; choose another")
    if same:
        raise ConfigurationError(f"{shown_address(source.location)} is both source and target: nothing was written")


def _path(place: Place) -> str | None:
    if place.is_folder:
        return place.root
    scheme, _, rest = keys_apart(place.location)[0].partition("://")
    return os.path.abspath(place_of(rest[1:])) if scheme.lower() == "sqlite" and rest[1:] else None
