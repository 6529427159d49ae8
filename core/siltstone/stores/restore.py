"""Putting a backup in the place of a store, without what was forgotten since it was taken.

``restoring/`` is filled, checked, and rid of what was forgotten; once it is whole its name is ``restored/``. From then
on the restore has happened, and ``files.restored`` moves the parts to their places, after a kill at the next open. The
folder of each user begins a new life, so that processes that had the old one open read it anew.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import orjson

from ..errors import ConfigurationError, NotFoundError, StoreCorruptedError
from ..reports import RestoreReport
from .files import auditfile, disk, manifest, restored, storefile
from .files.auditfile import Deed
from .files.codec import time_of
from .files.disk import File
from .files.frames import Damage, frame, parse
from .files.lock import FileLock
from .files.manifest import Copy, Entry
from .files.pinned import pin
from .folder import FolderStore

_BUILDING: Final = "restoring"
_BESIDE: Final = frozenset(("LOCK", "KEYS", "quarantine", _BUILDING))
"""What may lie where there is no store."""
Progress = Callable[[int, int], None]


@dataclass
class _Outcome:
    """What a restore has done so far: users copied, by folder; deeds done again, by key; what that removed."""

    copied: dict[str, int] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    forgotten: int = 0
    erased: set[str] = field(default_factory=set)


def put_back(source: str, root: str, *, timeout: float, progress: Progress | None) -> RestoreReport:
    """Restore the backup in ``source`` to ``root``; see ``upkeep.restore``."""
    origin = manifest.origin(source)
    if origin is None:
        raise NotFoundError(f"{source} holds no whole backup; nothing was changed")
    knew = _check_place(root, origin.store)
    building, lock = os.path.join(root, _BUILDING), FileLock(os.path.join(root, "LOCK"))
    disk.make_folder(building)
    with FileLock(os.path.join(building, "GUARD")).held(timeout):
        with lock.held(timeout):
            restored.finish(root)
        _clear(building)
        outcome = _copy(source, building, progress)
        before = {deed.key: start for start, deed in auditfile.placed(os.path.join(building, "before"))}
        while True:
            _do_again(building, _since(root, before, outcome), outcome)
            with lock.held(timeout):  # no forget comes to its end meanwhile
                if _since(root, before, outcome):
                    continue
                users = sum(1 for _ in FolderStore(building, read_only=True).users())
                _write_audit(building, origin.at, users)
                disk.rename(building, os.path.join(root, restored.FOLDER))
                restored.finish(root)
                break
    FolderStore(root).close()  # empties the trash
    return RestoreReport(
        source, root, time_of(origin.at), users, outcome.forgotten, tuple(sorted(outcome.erased)), (), knew
    )


def _check_place(root: str, store: str) -> str:
    """Return what is known there of the time since the backup. Raises ``ConfigurationError`` for any other place."""
    if os.path.exists(root) and not os.path.isdir(root):
        raise ConfigurationError(f"{root} is a file: a store is a folder")
    names = set(os.listdir(root)) if os.path.isdir(root) else set()
    if not names - _BESIDE:
        return "nothing"
    knew, found = "audit", auditfile.identity(root)
    if storefile.exists(root):
        with suppress(StoreCorruptedError):  # the audit names it too
            knew, found = "store", storefile.read(root).identity
    if found is None and restored.is_pending(root):
        found = storefile.read(os.path.join(root, restored.FOLDER)).identity
    if found != store:
        raise ConfigurationError(
            f"{root} holds something else than the store that was backed up; nothing was changed: "
            "restore to an empty folder, or to the store's own place"
        )
    if any(isinstance(piece, Damage) for piece in auditfile.pieces(root)):
        raise StoreCorruptedError(
            f"{root}/{auditfile.NAME} is damaged, so that what was forgotten since the backup is not known in full; "
            f"nothing was changed: siltstone verify --repair --store {root} sets the damaged lines aside"
        )
    return knew


def _clear(building: str) -> None:
    """Remove what a killed restore left."""
    for name in os.listdir(building):
        path = os.path.join(building, name)
        if os.path.isdir(path):
            disk.remove_tree(path)
        elif name != "GUARD":
            disk.unlink(path)


def _copy(source: str, building: str, progress: Progress | None) -> _Outcome:
    """Bring all files of the backup; each user's begin a new life."""
    outcome = _Outcome()
    entries = sum(1 for _ in manifest.read(source))
    for done, entry in enumerate(manifest.read(source), 1):
        for copy in entry.copies:
            if copy.name == auditfile.NAME:
                _bring(source, copy, os.path.join(building, "before", copy.name), b"")
            elif not entry.folder:
                _bring(source, copy, os.path.join(building, copy.name), b"")
        if entry.folder:
            _copy_user(source, building, entry)
            outcome.copied[os.path.basename(entry.folder)] = entry.audit
        if progress is not None:
            progress(done, entries)
    return outcome


def _copy_user(source: str, building: str, entry: Entry) -> None:
    born = secrets.token_hex(4)
    for copy in entry.copies:
        path = os.path.join(source, copy.path)
        head = pin(path).file.read(0, 1 << 16)
        found = parse(head)
        introduction = b""
        if copy.name.startswith("docs.") and found is not None and not found.number:
            introduction = frame(0, orjson.dumps(orjson.loads(found.document) | {"born": born}), True)
            head = head[: found.end]
        _bring(source, copy, os.path.join(building, "users", entry.folder, copy.name), introduction, len(head))


def _bring(source: str, copy: Copy, path: str, head: bytes, skip: int = 0) -> None:
    """Copy a file, checked, with ``head`` in the place of its first ``skip`` bytes; on disk when it returns."""
    disk.make_folder(os.path.dirname(path))
    out = File(path, write=True, create=True)
    hashed, size, at = blake2b(digest_size=16), 0, len(head)
    if head:
        out.write(head, 0)
    else:
        skip = 0
    for piece in pin(os.path.join(source, copy.path)).pieces():
        hashed.update(piece)
        size += len(piece)
        kept = piece[skip:]
        skip = 0
        if kept:
            out.write(kept, at)
        at += len(kept)
    if (size, hashed.hexdigest()) != (copy.size, copy.hash):
        raise StoreCorruptedError(
            f"{source}/{copy.path} is not what was backed up; nothing was changed: restore from another backup"
        )
    out.sync()
    disk.sync_folder(os.path.dirname(path))


def _since(root: str, before: dict[int, int], outcome: _Outcome) -> list[Deed]:
    """Return what was forgotten after its user had been copied and has not been done again yet."""
    return list(_undone(auditfile.read(root), root, before, outcome))


def _undone(deeds: Iterable[Deed], root: str, before: dict[int, int], outcome: _Outcome) -> Iterator[Deed]:
    store = storefile.read(os.path.join(root, _BUILDING))
    for deed in deeds:
        if deed.user_id is None or deed.action not in ("forget", "erase") or deed.key in outcome.again:
            continue
        audited = outcome.copied.get(os.path.basename(store.user_folder(root, deed.user_id)), 0)
        if before.get(deed.key, audited) >= audited:
            yield deed


def _do_again(building: str, deeds: list[Deed], outcome: _Outcome) -> None:
    """Forget again, and for good, in the copy."""
    for deed in deeds:
        if deed.action == "erase" and deed.user_id is not None:
            folder = storefile.read(building).user_folder(building, deed.user_id)
            if os.path.isdir(folder):
                disk.remove_tree(folder)
                outcome.erased.add(deed.user_id)
    store = FolderStore(building, create=False)
    for deed in deeds:
        assert deed.user_id is not None
        outcome.forgotten += store.remove_again(deed.user_id, deed.ids, deed.hashes)
        outcome.again.add(deed.key)
    store.close()


def _write_audit(building: str, at: int, users: int) -> None:
    """Make the audit that goes along: what the backup knew, and the restore itself."""
    disk.unlink(os.path.join(building, auditfile.NAME))  # what was forgotten again stands in the store's own
    known = [deed for _, deed in auditfile.placed(os.path.join(building, "before"))]
    auditfile.write(building, [*known, Deed("restore", counts={"users": users, "taken_at": at})])
