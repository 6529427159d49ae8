"""Putting a backup in the place of a store, without what was forgotten since it was taken.

``restoring/`` is filled, checked, and rid of what was forgotten; once it is whole ``restored`` lets it take the place
of the store. The folder of each user begins a new life, so that processes that had the old one open read it anew.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Final

import orjson

from ...errors import ConfigurationError, NotFoundError, StoreCorruptedError
from ...protocols import Progress
from ...records import unique
from ...reports import RestoreReport
from ..encryption.cipher import Cipher, Keys
from ..files import auditfile, disk, links, mounts, storefile
from ..files.auditfile import Deed
from ..files.codec import time_of
from ..files.disk import File
from ..files.frames import Damage, frame, parse
from ..files.layout import QUARANTINE, USERS, segment_number
from ..files.lock import FileLock
from ..folder import FolderStore
from . import manifest, restored
from .forgotten import Replay, lacking
from .manifest import Copy, Entry, Origin, Sum
from .pinned import pin

_BESIDE: Final = frozenset(("LOCK", "KEYS", QUARANTINE, restored.FOLDER))
"""What may lie where there is no store."""
_HEAD: Final = 1 << 16
_BEFORE: Final = "before"
"""Where the audit that the backup holds lies meanwhile."""


@dataclass
class _Outcome:
    """What has been copied: how far the audit was written by then, by user's folder; whom no key opens."""

    copied: dict[str, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)


def put_back(
    source: str, root: str, key: bytes | str | None, *, timeout: float, progress: Progress | None
) -> RestoreReport:
    """Restore the backup in ``source`` to ``root``; see ``upkeep.restore``."""
    origin = manifest.origin(source)
    if origin is None:
        raise NotFoundError(f"{source} holds no whole backup; nothing was changed")
    _check_apart(source, root)
    mounts.check(root)
    links.refuse_any(root)
    _check_kind(root, origin)
    _check_keys(source, root, key, sealed=origin.sealed)
    keys = storefile.unlock(root, key, sealed=origin.sealed, lock_timeout=timeout)
    knew = _check_place(root, origin, keys)
    if restored.is_pending(root):
        restored.end(root, keys, timeout)
    if knew == "store":  # removals and erasures that were killed come to their end
        with suppress(StoreCorruptedError):  # damage is what a restore is for
            FolderStore(root, keys=keys, lock_timeout=timeout).close()
    with restored.building(root, timeout) as building:
        outcome = _copy(source, building, keys, progress)
        before = list(auditfile.placed(os.path.join(building, _BEFORE), keys))
        known = {deed.key: start for start, deed in before}
        replay = Replay(root, building, keys, outcome.copied, known, [deed for _, deed in before])
        replay.run()
        if knew == "store":
            replay.compare(timeout)
        restored.let_finish(root, timeout)  # whoever holds a user for too long is told of before anything has happened
        while True:
            replay.run()
            with FileLock(os.path.join(root, "LOCK")).held(timeout):  # no forget comes to its end meanwhile
                if replay.run():
                    continue
                with closing(FolderStore(building, read_only=True, keys=keys)) as copied:
                    users = len(list(copied.users()))
                knew = _in_part(root, keys, known) or knew
                _write_audit(building, keys, origin.at, users)
                restored.switch(root, keys)
                break
        restored.end(root, keys, timeout)
    FolderStore(root, keys=keys, lock_timeout=timeout).close()  # empties the trash
    unreadable = tuple(folder for folder in outcome.unreadable if disk.exists(os.path.join(root, USERS, folder)))
    erased = tuple(sorted(replay.erased))
    doubtful = {user_id: unique(ids) for user_id, ids in replay.doubtful.items()}
    return RestoreReport(source, root, time_of(origin.at), users, replay.forgotten, erased, unreadable, knew, doubtful)


def _in_part(root: str, keys: Keys, known: Collection[int]) -> str:
    """Return ``part`` where the audit does not name all that went since the backup.

    Lines of it have been lost, as a repair has noted; or what went could not be read, or not be named by a release.
    """
    since = (deed for deed in auditfile.read(root, keys) if deed.key not in known)
    return "part" if any(map(_is_incomplete, since)) else ""


def _is_incomplete(deed: Deed) -> bool:
    if deed.action == "repair":
        return bool(deed.counts.get("lost"))
    return deed.action == "forget" and deed.counts.get("versions", 0) > 0 and not (deed.ids or deed.hashed)


def _check_apart(source: str, root: str) -> None:
    """Raise ``ConfigurationError`` where backup and store lie in one another: a restore would damage the backup."""
    one, other = os.path.realpath(source), os.path.realpath(root)
    if os.path.commonpath([one, other]) in (one, other):
        raise ConfigurationError(
            f"{root} and the backup {source} are in one another; nothing was changed: choose a folder apart"
        )


def _check_kind(root: str, origin: Origin) -> None:
    """Raise ``ConfigurationError`` where a plain backup meets an encrypted store, or reversely."""
    if storefile.exists(root):
        with suppress(StoreCorruptedError):
            if ("sealed" in storefile.document(root)) != origin.sealed:
                raise _elsewhere(root)


def _check_keys(source: str, root: str, key: bytes | str | None, *, sealed: bool) -> None:
    """Raise what stands against a restore to where there is no store yet, in words of the backup."""
    if storefile.exists(root):
        return
    if key is not None and not sealed:
        raise ConfigurationError(
            f"the backup {source} is not encrypted, and a key was given (key=, SILTSTONE_KEY or --key-file): nothing "
            "was changed; restore it without a key"
        )
    if key is not None and not disk.is_folder(os.path.join(root, storefile.KEYS)):
        raise StoreCorruptedError(
            f"the backup {source} is encrypted, and no backup holds keys; nothing was changed: put your copy of the "
            f"folder KEYS at {os.path.join(root, storefile.KEYS)}, then restore again"
        )


def _elsewhere(root: str) -> ConfigurationError:
    return ConfigurationError(
        f"{root} holds something else than the store that was backed up; nothing was changed: "
        "restore to an empty folder, or to the store's own place"
    )


def _check_place(root: str, origin: Origin, keys: Keys) -> str:
    """Return what is known there of the time since the backup. Raises ``ConfigurationError`` for any other place."""
    if disk.exists(root) and not disk.is_folder(root):
        raise ConfigurationError(f"{root} is a file: a store is a folder")
    names = set(disk.names(root, missing_ok=True))
    if not names - _BESIDE:
        return "nothing"
    knew, found = "audit", auditfile.identity(root, keys)
    if storefile.exists(root):
        with suppress(StoreCorruptedError):  # the audit names it too
            knew, found = "store", storefile.read(root, keys).identity
    if found != origin.store:
        raise _elsewhere(root)
    pieces = list(auditfile.pieces(root, keys))
    if not pieces:
        raise lacking(root)
    if any(isinstance(piece, Damage) for piece in pieces):
        raise StoreCorruptedError(
            f"{root}/{auditfile.NAME} is damaged, so that what was forgotten since the backup is not known in full; "
            f"nothing was changed: siltstone verify --repair --store {root} sets the damaged lines aside"
        )
    return knew


def _copy(source: str, building: str, keys: Keys, progress: Progress | None) -> _Outcome:
    """Bring all files of the backup; each user's begin a new life."""
    outcome = _Outcome()
    disk.make_folder(os.path.join(building, USERS))  # of a backup without users, too
    entries = sum(1 for _ in manifest.read(source))
    for done, entry in enumerate(manifest.read(source), 1):
        for copy in entry.copies:
            if copy.name == auditfile.NAME:
                _bring(source, copy, os.path.join(building, _BEFORE, copy.name))
            elif not entry.folder:
                _bring(source, copy, os.path.join(building, copy.name))
        if entry.folder:
            if not _copy_user(source, building, entry, keys):
                outcome.unreadable.append(entry.folder)
            outcome.copied[os.path.basename(entry.folder)] = entry.audit
        if progress is not None:
            progress(done, entries)
    return outcome


def _copy_user(source: str, building: str, entry: Entry, keys: Keys) -> bool:
    """Bring a user's files; return whether they can be read. Of one whose key is not there they come as they are."""
    folder = os.path.join(building, USERS, entry.folder)
    born = secrets.token_hex(4)
    readable = True
    for copy in entry.copies:  # KEY, which names the keys, is the first by name
        head, skip = b"", 0
        if segment_number(copy.name) is not None and readable:
            try:
                head, skip = _reborn(
                    pin(os.path.join(source, copy.path)).file.read(0, _HEAD), born, keys.cipher(folder)
                )
            except StoreCorruptedError:
                readable = False
        _bring(source, copy, os.path.join(folder, copy.name), head, skip)
    return readable


def _reborn(data: bytes, born: str, cipher: Cipher) -> tuple[bytes, int]:
    """Return the head of a segment for a new life, and how many bytes it had before; nothing where there is none."""
    found = parse(data, cipher=cipher)
    if found is None or found.number:
        return b"", 0
    cipher.ready()
    document = orjson.dumps(orjson.loads(found.document) | {"born": born})
    return frame(0, cipher.seal_document(0, document), True), found.end


def _bring(source: str, copy: Copy, path: str, head: bytes = b"", skip: int = 0) -> None:
    """Copy a file, checked, with ``head`` in the place of its first ``skip`` bytes; on disk when it returns."""
    disk.make_folder(os.path.dirname(path))
    out = File(path, write=True, create=True)
    sum, at = Sum(), len(head)
    if head:
        out.write(head, 0)
    for piece in pin(os.path.join(source, copy.path)).pieces():
        sum.add(piece)
        kept = piece[skip:]
        skip = 0
        if kept:
            out.write(kept, at)
        at += len(kept)
    if not sum.fits(copy):
        raise StoreCorruptedError(
            f"{source}/{copy.path} is not what was backed up; nothing was changed: restore from another backup"
        )
    out.sync()
    disk.sync_folder(os.path.dirname(path))


def _write_audit(building: str, keys: Keys, at: int, users: int) -> None:
    """Make the audit that goes along: what the backup knew, and the restore itself."""
    disk.unlink(os.path.join(building, auditfile.NAME))  # what was forgotten again stands in the store's own
    known = [deed for _, deed in auditfile.placed(os.path.join(building, _BEFORE), keys)]
    auditfile.append(building, [*known, Deed("restore", counts={"users": users, "taken_at": at})], keys)
