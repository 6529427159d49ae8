"""Copying a store while others write: each user as of one moment, the whole under a manifest that is written last.

::

    backup/
      MANIFEST          what the backup holds: files with their hashes; renamed in when all of them are on disk
      000002/           what the second run copied; what has not changed since stays in the folder of an earlier run
        STORE AUDIT users/ab/<name>/docs.000001.jsonl ...
      LOCK

A run that is killed leaves the manifest of the run before, and the files that it names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ...errors import BackendUnavailableError, ConfigurationError, StoreCorruptedError
from ...protocols import Progress
from ...reports import BackupReport
from ..encryption.cipher import Keys
from ..files import auditfile, disk, storefile
from ..files.disk import File
from ..files.frames import committed
from ..files.layout import USERS, user_folders
from ..files.lock import FileLock
from ..files.storefile import StoreFile
from . import manifest
from .descent import check_descent
from .manifest import Copy, Entry, Origin, Sum
from .pinned import Pinned, pin, pin_user

_SETTLED: Final = 2_000_000_000
"""Nanoseconds after which a file that was changed again would have another time of change."""


@dataclass
class _Run:
    """One run: the number of its folder, what the run before it knew, and what this one counts."""

    target: str
    number: int
    known: Mapping[str, Copy]
    settled: int
    files: int = 0
    copied: int = 0
    bytes: int = 0
    copied_bytes: int = 0
    damaged: list[str] = field(default_factory=list)

    def had_documents(self, folder: str) -> bool:
        """Return whether the run before holds documents of a user."""
        below = os.path.join(USERS, folder, "docs.")
        return any(name.startswith(below) and copy.size for name, copy in self.known.items())


def _keeping(run: _Run, why: str) -> StoreCorruptedError:
    return StoreCorruptedError(
        f"{why}, and {run.target} may hold the last good copy; nothing in it was changed: run siltstone verify first, "
        "or back up into another folder"
    )


def back_up(
    root: str, target: str, store: StoreFile, keys: Keys, *, timeout: float, progress: Progress | None
) -> BackupReport:
    """Bring the backup in ``target`` up to date with the store in ``root``; see ``upkeep.backup``."""
    _check_target(root, target, store)
    disk.make_folder(target)
    with FileLock(os.path.join(target, "LOCK")).held(timeout):
        before = manifest.origin(target)
        entries_before = [] if before is None else list(manifest.read(target))
        if before is not None:
            check_descent(root, target, before, entries_before, store, keys)
        known = {copy.path[7:]: copy for entry in entries_before for copy in entry.copies}
        number = max((int(name) for name in disk.names(target) if manifest.RUN.fullmatch(name)), default=0) + 1
        run = _Run(target, number, known, 0 if before is None else before.at * 1_000 - _SETTLED)
        origin = Origin(store.identity, time.time_ns() // 1_000, store.format, store.sealed)
        folders = [os.path.relpath(folder, os.path.join(root, USERS)) for folder in user_folders(root)]
        kept: set[str] = set()
        users = 0

        def entries() -> Iterator[Entry]:
            nonlocal users
            whole = _copy(run, "", [pin(os.path.join(root, storefile.NAME))])
            kept.update(copy.path for copy in whole)
            for done, folder in enumerate(folders, 1):
                entry = _copy_user(run, root, folder, timeout)
                if entry is not None:
                    users += 1
                    kept.update(copy.path for copy in entry.copies)
                    yield entry
                if progress is not None:
                    progress(done, len(folders))
            if disk.exists(os.path.join(root, auditfile.NAME)):  # last: what users saw of it is in it
                whole += _copy(run, "", [pin(os.path.join(root, auditfile.NAME))])
                kept.update(copy.path for copy in whole)
            yield Entry("", 0, tuple(whole))

        try:
            manifest.write(target, origin, entries())
        except StoreCorruptedError:
            disk.unlink(os.path.join(target, f"{manifest.NAME}.new"))
            _drop_others(target, {copy.path for copy in known.values()})
            raise
        _drop_others(target, kept)
    return BackupReport(root, target, users, run.files, run.copied, run.bytes, run.copied_bytes, tuple(run.damaged))


def _check_target(root: str, target: str, store: StoreFile) -> None:
    inner, outer = os.path.realpath(target), os.path.realpath(root)
    if os.path.commonpath([inner, outer]) in (inner, outer):
        raise ConfigurationError(f"{target} and the store {root} are in one another: choose a folder apart")
    if disk.exists(target) and not disk.is_folder(target):
        raise ConfigurationError(f"{target} is a file: a backup is a folder")
    names = disk.names(target, missing_ok=True)
    ours = {"LOCK", manifest.NAME, f"{manifest.NAME}.new"}
    if any(name not in ours and not manifest.RUN.fullmatch(name) for name in names):
        raise ConfigurationError(
            f"{target} holds something that is no backup; nothing was changed: choose another folder"
        )
    before = manifest.origin(target)
    if before is not None and before.store != store.identity:
        raise ConfigurationError(f"{target} is the backup of another store; nothing was changed: choose another folder")


def _copy_user(run: _Run, root: str, folder: str, timeout: float) -> Entry | None:
    """Copy a user as of one moment; ``None`` for one who was removed."""
    path = os.path.join(root, USERS, folder)
    lock = FileLock(os.path.join(path, "LOCK"))
    try:
        with lock.held(timeout):
            audited = disk.size(os.path.join(root, auditfile.NAME))
            pinned = pin_user(path)
    except FileNotFoundError:
        return None
    if run.had_documents(folder) and not any(each.size for each in pinned if each.is_documents):
        raise _keeping(run, f"the documents of users/{folder} are gone")
    return Entry(folder, audited, tuple(_copy(run, folder, pinned)))


def _copy(run: _Run, folder: str, pinned: list[Pinned]) -> list[Copy]:
    copies = []
    below = os.path.join(USERS, folder) if folder else ""
    last = max((each.name for each in pinned if each.is_documents), default="")
    for each in pinned:
        name = os.path.join(below, each.name)
        copy = run.known.get(name)
        if copy is None or not _still_holds(run, copy, each):
            copy = _copy_file(run, name, each, is_last=each.name == last)
            run.copied += 1
            run.copied_bytes += copy.size
        run.files += 1
        run.bytes += copy.size
        copies.append(copy)
    return copies


def _still_holds(run: _Run, copy: Copy, each: Pinned) -> bool:
    """Return whether an earlier run's copy is of the file as it is now, and not damaged since."""
    unchanged = copy.seen == each.seen and max(each.seen[2:]) <= run.settled
    return unchanged and manifest.is_whole(run.target, copy)


def _copy_file(run: _Run, name: str, pinned: Pinned, *, is_last: bool) -> Copy:
    path = os.path.join(f"{run.number:06d}", name)
    made = os.path.join(run.target, path)
    disk.make_folder(os.path.dirname(made))
    out = File(made, write=True, create=True)
    sum = Sum()
    for piece in _whole_commits(run, name, pinned, is_last) if pinned.is_documents else pinned.pieces():
        out.write(piece, sum.size)
        sum.add(piece)
    if not pinned.is_documents and sum.size != pinned.size:
        raise BackendUnavailableError(f"{pinned.file.path} was cut while it was copied: run the backup again")
    out.sync()
    disk.sync_folder(os.path.dirname(made))
    return Copy(pinned.name, path, sum.size, sum.hash, pinned.seen)


def _whole_commits(run: _Run, name: str, pinned: Pinned, is_last: bool) -> Iterator[bytes]:
    """Yield a segment of documents, without what a killed writer left unfinished at its end."""
    data = pinned.read()
    end, damaged = committed(data)
    if damaged:
        data = pinned.read()  # a document that was being overwritten right then, since it is forgotten, is whole now
        end, damaged = committed(data)
    if damaged and run.known:
        raise _keeping(run, f"{name} holds pieces that do not check")
    if damaged:
        run.damaged.append(name)
    yield data[:end] if is_last else data


def _drop_others(target: str, kept: set[str]) -> None:
    """Remove the files that the manifest does not name."""
    for run in (name for name in disk.names(target) if manifest.RUN.fullmatch(name)):
        for folder, _, names in disk.walk(os.path.join(target, run), topdown=False):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, target) not in kept:
                    disk.unlink(path)
            disk.remove_empty(folder)
