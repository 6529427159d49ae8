"""Operations on a whole embedded store, all users of it. Each opens what it needs, and takes a folder, not a memory.

``key`` is what ``TieredMemory.open`` takes.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from .errors import NotFoundError
from .lifecycle.reembed import make_vectors
from .models.checked import CheckedEmbedder
from .models.fingerprint import fingerprint_of
from .models.guarded import Guard
from .models.languages import LanguageWatch
from .models.resolve import resolve_embedder
from .opening import Key, given_key, open_store
from .protocols import Progress
from .reports import AuditEntry, BackupReport, RekeyReport, RestoreReport, VerifyReport
from .settings import Settings
from .stores.files import auditfile, disk, storefile
from .stores.files.auditfile import Deed
from .stores.files.codec import time_of
from .stores.folder import FolderStore
from .stores.maintenance import manifest
from .stores.maintenance.backup import back_up
from .stores.maintenance.checks.copies import look_at_backup
from .stores.maintenance.repair import mend
from .stores.maintenance.restore import put_back
from .stores.maintenance.verify import look

logger = logging.getLogger("siltstone")

_LOCK_TIMEOUT: Final = 30.0
"""Seconds that an operation waits for a lock; one on a whole store has more patience than a request."""


def verify(
    location: str | os.PathLike[str],
    *,
    repair: bool = False,
    user_id: str | None = None,
    key: Key | None = None,
    progress: Progress | None = None,
) -> VerifyReport:
    """Check every file of a store, and with ``repair`` mend what can be mended.

    Without ``repair`` nothing on disk is changed, and others may go on writing. It looks at each frame of each
    document, at each commit, at each vector and whether it belongs to its text, at each cache and whether it says what
    the documents say, at ``STORE``, at the audit, at what killed processes left and at who may read the files. Memory:
    one file of documents (64 MB) and some 40 bytes per document of the largest user. O(words): a core reads some 8,000
    documents of 50 words a second.

    A repair copies damaged pieces to ``quarantine/`` before it writes the files anew without them; the report holds
    what was there before and what is left. ``user_id`` is one to try where a folder does not name its user any more.
    ``progress(done, total)`` counts users, of a repair from the start in each of its three rounds.

    ``location`` may be a backup: each file is compared with the manifest; ``repair`` does nothing there, for the next
    backup copies anew what is damaged.

    Raises ``NotFoundError`` where there is no store, ``StoreVersionError`` for a newer format.
    """
    root = _folder(location)
    if not storefile.exists(root):
        if disk.exists(os.path.join(root, manifest.NAME)):
            return look_at_backup(root, progress=progress)
        raise NotFoundError(f"there is no store in {root}")
    secret = given_key(key)
    found = look(root, secret, timeout=_LOCK_TIMEOUT, progress=progress)
    if not repair or not any(finding.is_repairable for finding in found.findings):
        return found
    quarantine = mend(root, secret, user_id=user_id, timeout=_LOCK_TIMEOUT, progress=progress)
    after = look(root, secret, timeout=_LOCK_TIMEOUT, progress=progress)
    gone = tuple(finding for finding in found.findings if finding not in after.findings)
    return replace(after, repaired=gone, quarantine=quarantine)


def backup(
    location: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    key: Key | None = None,
    progress: Progress | None = None,
) -> BackupReport:
    """Copy a store to the folder ``target`` while others go on writing.

    Every commit that was acknowledged before is in it, whole; each user is as of one moment. ``target`` is empty, or
    holds an earlier backup of the same store, of which files that have not changed are kept. It holds no key and no
    cache. A backup that is killed leaves the one before. It keeps what is forgotten later until the next one into the
    same folder; ``restore`` does not bring that back. ``progress(done, total)`` counts users. O(bytes) to read, of the
    store what is new and of the backup what is kept, so that a damaged copy is noticed and made anew.

    Raises ``NotFoundError`` where there is no store, ``ConfigurationError`` for a ``target`` that cannot be one, and
    ``StoreCorruptedError``, with nothing changed, where an earlier backup would be replaced by a damaged one: documents
    do not check, or all of a user's are gone.
    """
    store = FolderStore(_folder(location), create=False, lock_timeout=_LOCK_TIMEOUT, key=given_key(key))
    try:
        return back_up(_folder(location), _folder(target), store.settings, timeout=_LOCK_TIMEOUT, progress=progress)
    finally:
        store.close()


def restore(
    source: str | os.PathLike[str],
    location: str | os.PathLike[str],
    *,
    key: Key | None = None,
    progress: Progress | None = None,
) -> RestoreReport:
    """Put the backup in ``source`` in the place of the store at ``location``, without what was forgotten since.

    ``location`` is empty or not there, or is what is left of the store that was backed up: as long as its ``AUDIT`` is
    there, what was forgotten or erased after the backup is taken out before anyone can read it. Where nothing is left,
    nothing is known of that time, and all that the backup holds comes back. What was written since the backup goes.
    A restore that is killed has happened whole or not at all. ``progress(done, total)`` counts users. O(bytes).

    An encrypted store needs its folder ``KEYS`` at ``location``, which no backup holds. Users whose key is not there
    any more stay unreadable, and are reported.

    Raises ``NotFoundError`` where ``source`` holds no whole backup, ``StoreCorruptedError`` where it is damaged,
    ``ConfigurationError`` where ``location`` holds anything else.
    """
    return put_back(_folder(source), _folder(location), given_key(key), timeout=_LOCK_TIMEOUT, progress=progress)


def backed_up_at(source: str | os.PathLike[str]) -> datetime:
    """Return when the backup in ``source`` was taken, in UTC; ``NotFoundError`` where it holds no whole one."""
    origin = manifest.origin(_folder(source))
    if origin is None:
        raise NotFoundError(f"{_folder(source)} holds no whole backup; nothing was changed")
    return time_of(origin.at)


def compact(
    location: str | os.PathLike[str],
    *,
    user_id: str | None = None,
    settings: Settings | None = None,
    key: Key | None = None,
) -> int:
    """Take all dead weight out of the files of one user, or of everybody; return the bytes given back.

    Dead are versions behind ``settings.history``, their vectors, and notes of what is finished. The store does this by
    itself where it is much; others read and write meanwhile. O(bytes). Of ``settings`` count ``history`` and
    ``lock_timeout``. Raises ``NotFoundError`` where there is no store.
    """
    settings = settings or Settings()
    store = FolderStore(
        _folder(location),
        create=False,
        lock_timeout=settings.lock_timeout,
        history=settings.history,
        key=given_key(key),
    )
    with closing(store):
        return store.compact(user_id)


def reembed(
    location: str | os.PathLike[str],
    *,
    embedder: Any = None,
    settings: Settings | None = None,
    key: Key | None = None,
    progress: Progress | None = None,
) -> int:
    """Move the store to another embedder; return the number of vectors made.

    The texts stay as they are; ``embedder`` is what ``TieredMemory.open`` takes, of ``settings`` count ``embed_batch``,
    ``lock_timeout`` and ``sensitive``. A run that was killed goes on where it stopped. ``progress(done, total)`` is
    called after each batch. While it runs, what has no vector yet is found by its words only.
    """
    settings = settings or Settings()
    guard = Guard(settings.sensitive, settings.on_sensitive)
    model = CheckedEmbedder(resolve_embedder(embedder))
    handle = open_store(
        location,
        durability="fsync",
        read_only=False,
        create=False,
        lock_timeout=settings.lock_timeout,
        history=settings.history,
        key=key,
    )
    try:
        stored, present = handle.store.fingerprint(), fingerprint_of(model)
        same = stored is not None and stored.same_space(present)
        return make_vectors(
            handle.store,
            LanguageWatch(guard.embedder(model)),
            present,
            same=same,
            batch=settings.embed_batch,
            progress=progress,
        )
    finally:
        handle.close()


def rekey(
    location: str | os.PathLike[str],
    *,
    key: Key | None = None,
    new_key: Key | None = None,
    data_keys: bool = False,
    progress: Progress | None = None,
) -> RekeyReport:
    """Give an encrypted store the key ``new_key``; with ``data_keys`` every user another key of their own, too.

    ``key`` and ``new_key`` are what ``TieredMemory.open`` takes; ``SILTSTONE_KEY`` stands for ``key`` alone. The new
    key alone takes one small file, and whoever has the store open goes on. ``data_keys`` writes everything anew, user
    after user, while others go on; where there is a new key as well, they have to open the store again with it, and
    are told so before anything is written. Backups from before can then be read only with the old key and a copy of
    ``KEYS`` from before: take one afterwards, and copy ``KEYS`` anew, as after each ``rekey``. Whoever had the old key
    and a copy of ``KEYS`` can read what was written under it until then; after ``data_keys`` nothing later. A run that
    was killed goes on when it is called again, with the same keys. O(bytes) with ``data_keys``, else O(1).

    Raises ``DecryptionError`` for a wrong key, ``ConfigurationError`` for a plain store, ``StoreCorruptedError`` for
    a user with damaged documents, who keeps the old key.
    """
    from .stores.encryption.rekey import rekey  # loads cryptography

    return rekey(
        _folder(location),
        given_key(key),
        None if new_key is None else given_key(new_key),
        data_keys=data_keys,
        timeout=_LOCK_TIMEOUT,
        progress=progress,
    )


def audit(
    location: str | os.PathLike[str], *, user_id: str | None = None, key: Key | None = None
) -> Iterator[AuditEntry]:
    """Yield what was done to a store for good, oldest first; with ``user_id`` only what concerns that user.

    What was forgotten stays listed, by ids and counts, when the user is gone. ``NotFoundError`` where there is no
    store and none has left its audit. ``key`` is what ``TieredMemory.open`` takes.
    """
    root = _folder(location)
    if not storefile.exists(root) and not os.path.exists(os.path.join(root, auditfile.NAME)):
        raise NotFoundError(f"there is no store in {root}")
    keys = storefile.unlock(root, given_key(key))
    return (_entry(deed) for deed in auditfile.read(root, keys) if user_id in (None, deed.user_id))


def is_encrypted(location: str | os.PathLike[str]) -> bool:
    """Return whether the store in a folder is encrypted; no key is needed. ``NotFoundError`` where there is none."""
    root = _folder(location)
    if not storefile.exists(root):
        raise NotFoundError(f"there is no store in {root}")
    return "sealed" in storefile.document(root)


def users(location: str | os.PathLike[str], *, key: Key | None = None) -> Iterator[str]:
    """Yield the ids of all who have a folder in the store, in no order; of some of them all may be forgotten.

    A folder that does not tell whose it is, damaged or without its key, is left out with a warning in the log.
    O(users), a small read each. ``key`` is what ``TieredMemory.open`` takes. Raises ``NotFoundError`` where there is
    no store.
    """
    store = FolderStore(_folder(location), create=False, read_only=True, key=given_key(key))
    with closing(store):
        named = 0
        for user_id in store.users():
            named += 1
            yield user_id
        if unnamed := sum(1 for _ in store.user_folders()) - named:
            logger.warning("users who cannot be named: %d; siltstone verify --store %s says why", unnamed, location)


def _entry(deed: Deed) -> AuditEntry:
    counts = dict(deed.counts)
    taken_at = counts.pop("taken_at", None)
    at = None if taken_at is None else time_of(taken_at)
    return AuditEntry(deed.action, time_of(deed.at), deed.user_id, deed.ids, counts, at)


def _folder(location: str | os.PathLike[str]) -> str:
    return os.path.abspath(Path(location).expanduser())
