"""Operations on a whole store, all users of it. Each opens what it needs, and none takes a memory; those of one
place take a folder, and ``migrate``, ``reembed``, ``rekey``, ``audit``, ``users`` and ``is_encrypted`` a URL, too.

``key`` is what ``TieredMemory.open`` takes.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any, Final

from . import moving
from .errors import ConfigurationError, DecryptionError, NotFoundError
from .importers.formats import reader_for
from .importers.source import Source
from .lifecycle.reembed import make_vectors
from .models.checked import CheckedEmbedder
from .models.fingerprint import fingerprint_of
from .models.guarded import Guard
from .models.languages import LanguageWatch
from .models.resolve import resolve_embedder
from .opening import Key, database_at, given_key, is_database, is_folder, keys_apart, open_store
from .protocols import Progress
from .reports import AuditEntry, BackupReport, EmbedReport, MigrationReport, RekeyReport, RestoreReport, VerifyReport
from .settings import Settings, checked_settings
from .stores.encryption.cipher import not_encrypted
from .stores.files import auditfile, disk, storefile
from .stores.files.auditfile import Deed
from .stores.files.codec import time_of
from .stores.folder import FolderStore
from .stores.maintenance import manifest
from .stores.maintenance.backup import back_up
from .stores.maintenance.checks.copies import look_at_backup
from .stores.maintenance.repair import mend
from .stores.maintenance.restore import put_back
from .stores.maintenance.sizes import sizes as sizes_of
from .stores.maintenance.verify import look
from .text.addresses import shown_address, without_secrets
from .transfer.decide import Rules
from .transfer.embedding import embed_reading
from .transfer.vector_cache import VectorCache

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
        raise storefile.absent(root)
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

    Raises ``NotFoundError`` where there is no store, ``ConfigurationError`` for a ``target`` that cannot be one, or
    whose backup holds what this store does not go on from: it was taken of a copy that has gone its own way, or of a
    later state. Raises ``StoreCorruptedError``, with nothing changed, where an earlier backup would be replaced by a
    damaged one: documents do not check, or all of a user's are gone.
    """
    store = FolderStore(_folder(location), create=False, lock_timeout=_LOCK_TIMEOUT, key=given_key(key))
    try:
        root, to = _folder(location), _folder(target)
        return back_up(root, to, store.settings, store.keys, timeout=_LOCK_TIMEOUT, progress=progress)
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
    there, what was forgotten or erased after the backup is taken out before anyone can read it, and so is what a
    ``replace_session`` left out, unless it came again. Where only ``AUDIT`` tells, ids decide, and the report names
    what is ``doubtful``. Where nothing is left, nothing is known of that time, and all that the backup holds comes
    back. What was written since the backup goes. A restore that is killed has happened whole or not at all.
    ``progress(done, total)`` counts users. O(bytes).

    An encrypted store needs its folder ``KEYS`` at ``location``, which no backup holds. Users whose key is not there
    any more stay unreadable, and are reported.

    Raises ``NotFoundError`` where ``source`` holds no whole backup, ``StoreCorruptedError`` where it is damaged,
    ``ConfigurationError`` where ``location`` holds anything else.
    """
    return put_back(_folder(source), _folder(location), given_key(key), timeout=_LOCK_TIMEOUT, progress=progress)


def migrate(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    key: Key | None = None,
    target_key: Key | None = None,
    plain: bool = False,
    replace: bool = False,
    dry_run: bool = False,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> MigrationReport:
    """Move everything in a store into another one of any kind: folders, ``sqlite:///FILE``, ``postgresql://…``.

    All that users have goes along as it is: messages, memories, every version that ``settings.history`` keeps, sources,
    vectors bit for bit, work that waits, what is refused as forgotten, lines of the audit, the embedding space, what
    language models were used for, and whose recent turns are still to be removed elsewhere. Short-term turns are no
    part of a store and stay where they are. The source is only read. In the end both are compared, by count and
    checksum, user by user; until then nobody else can open the target. A run that was killed goes on when it is called
    again; one that had come to its end compares once more.

    ``key`` and ``target_key`` are what ``TieredMemory.open`` takes; ``SILTSTONE_KEY`` stands for either where a store
    is encrypted or new. An encrypted source goes into a place without encryption only with ``plain``. ``replace``: a
    target that holds anything else is emptied for good first. ``dry_run`` counts, and writes nothing.
    ``progress(done, total)`` counts versions, each once when it is written and once when it is compared. Memory: of a
    folder the indexes of the users last used, a batch of 2,000 versions or 8 MB, and some hundred bytes per user.
    O(words).

    Raises ``NotFoundError`` where there is no source, ``ConfigurationError`` for what cannot be a source or a target,
    or for a target that holds something, ``StoreCorruptedError`` for a source with damage or where the two differ in
    the end, ``ConflictError`` where the source was written to meanwhile: stop what writes there, and call it again.
    """
    settings = checked_settings(settings)
    return moving.migrate(
        moving.place(source, key, settings, what="the source"),
        moving.place(target, target_key, settings, what="the target", plain=plain and target_key is None),
        replace=replace,
        plain=plain,
        dry_run=dry_run,
        progress=progress,
    )


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
    progress: Progress | None = None,
) -> int:
    """Take all dead weight out of the files of one user, or of everybody; return the bytes given back.

    Dead are versions behind ``settings.history``, their vectors, and notes of what is finished. The store does this by
    itself where it is much; others read and write meanwhile. O(bytes). Of ``settings`` count ``history`` and
    ``lock_timeout``. ``progress(done, total)`` counts users. Raises ``NotFoundError`` where there is no store.
    """
    settings = checked_settings(settings)
    store = FolderStore(
        _folder(location),
        create=False,
        lock_timeout=settings.lock_timeout,
        history=settings.history,
        key=given_key(key),
    )
    with closing(store):
        return store.compact(user_id, progress=progress)


def reembed(
    location: str | os.PathLike[str],
    *,
    embedder: Any = None,
    settings: Settings | None = None,
    key: Key | None = None,
    progress: Progress | None = None,
    vector_store: Any = None,
) -> int:
    """Move the store to another embedder, or its vectors elsewhere or back; return the number of vectors made.

    The texts stay as they are; ``embedder`` and ``vector_store`` are what ``TieredMemory.open`` takes, of
    ``settings`` count ``embed_batch``, ``lock_timeout`` and ``sensitive``. A run that was killed goes on where it
    stopped. ``progress(done, total)`` is called after each batch. While it runs, what has no vector yet is
    found by its words only.
    """
    settings = checked_settings(settings)
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
        if vector_store is not None:
            from .stores.vectorstore.opening import over

            handle.put_over(over(handle.store, vector_store, model, outage="refuse", writes=True, moving=True))
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


def embed_source(
    path_or_file: str | os.PathLike[str] | IO[Any],
    vectors: str | os.PathLike[str],
    *,
    embedder: Any = None,
    format: str | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> EmbedReport:
    """Embed what an import would, into the file ``vectors``, and store nothing; return the counts.

    For a machine with a better processor: take the file where the store is, and ``import_from(…, vectors=…)`` with the
    same embedder embeds nothing. What is in the file already is not embedded again, so a run that was killed goes on.
    ``settings`` count as far as they shape what is embedded (``embed_batch``, ``max_message_chars``, ``sensitive``).
    The file holds hashes and vectors, no words; it is yours to keep safe and to delete.
    """
    settings = checked_settings(settings)
    guard = Guard(settings.sensitive, settings.on_sensitive)
    model = LanguageWatch(guard.embedder(CheckedEmbedder(resolve_embedder(embedder))))
    source = Source(path_or_file)
    reading = reader_for(source, format).read(source)
    now = datetime.now(timezone.utc)
    rules = Rules("default", now, source.modified or now, settings.max_message_chars)
    with closing(VectorCache(vectors, model)) as cache:
        return embed_reading(reading, rules, cache, batch=settings.embed_batch, progress=progress)


def rekey(
    location: str | os.PathLike[str],
    *,
    key: Key | None = None,
    new_key: Key | None = None,
    data_keys: bool = False,
    progress: Progress | None = None,
) -> RekeyReport:
    """Give an encrypted store the key ``new_key``; with ``data_keys`` every user another key of their own, too.

    ``location`` is a folder, or a database, whose keys lie in a folder of their own (``?keys=FOLDER``).
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
    old, new = given_key(key), None if new_key is None else given_key(new_key)
    if is_database(location):
        return _rekey_engine(os.fspath(location), old, new, data_keys=data_keys, progress=progress)
    from .stores.encryption.rekey import rekey  # loads cryptography

    return rekey(_folder(location), old, new, data_keys=data_keys, timeout=_LOCK_TIMEOUT, progress=progress)


def _rekey_engine(
    url: str,
    old: bytes | str | None,
    new: bytes | str | None,
    *,
    data_keys: bool,
    progress: Progress | None,
) -> RekeyReport:
    shown = keys_apart(url)[0]
    if not is_encrypted(url):
        raise not_encrypted(shown)
    if new is None and not data_keys:
        raise ConfigurationError("there is no new key, and data_keys=True was not asked for: nothing was changed")
    from .stores.sql.rekeying import Rekeying
    from .stores.sql.sealed import SealedVeils

    try:
        database, veils = database_at(url, key=old, read_only=False, create=False, lock_timeout=_LOCK_TIMEOUT)
    except DecryptionError:
        if new is None or old is None:
            raise
        try:  # a killed run has put it in its place already
            database, veils = database_at(url, key=new, read_only=False, create=False, lock_timeout=_LOCK_TIMEOUT)
        except DecryptionError:
            raise DecryptionError(f"the old key is not the key of {shown}; nothing was changed") from None
        old = new
    with closing(database):
        assert isinstance(veils, SealedVeils)
        assert old is not None
        moved = Rekeying(database, veils).rekey(old, new, data_keys=data_keys, progress=progress)
    return RekeyReport(shown_address(shown), new is not None, moved)


def audit(
    location: str | os.PathLike[str], *, user_id: str | None = None, key: Key | None = None
) -> Iterator[AuditEntry]:
    """Yield what was done to a store for good, oldest first; with ``user_id`` only what concerns that user.

    What was forgotten stays listed, by ids and counts, when the user is gone. ``location`` may be a URL, too.
    ``NotFoundError`` where there is no store and none has left its audit. ``key`` is what ``TieredMemory.open`` takes.
    """
    if not is_folder(location):
        return _audit_of_engine(os.fspath(location), user_id, key)
    root = _folder(location)
    if not storefile.exists(root) and not os.path.exists(os.path.join(root, auditfile.NAME)):
        raise storefile.absent(root)
    keys = storefile.unlock(root, given_key(key))
    return (_entry(deed) for deed in auditfile.read(root, keys) if user_id in (None, deed.user_id))


def _audit_of_engine(url: str, user_id: str | None, key: Key | None) -> Iterator[AuditEntry]:
    with closing(moving.place(url, key, Settings(), what="a store with an audit").engine(read_only=True)) as store:
        for deed in store.deeds():
            if user_id in (None, deed.user_id):
                yield _entry(deed)


def is_encrypted(location: str | os.PathLike[str]) -> bool:
    """Return whether a store, in a folder or a database, is encrypted; no key is needed.

    ``NotFoundError`` where there is none.
    """
    if is_database(location):
        sealed = moving.is_sealed(os.fspath(location), Settings())
        if sealed is None:
            raise NotFoundError(f"there is no store at {shown_address(os.fspath(location))}: nothing was done")
        return sealed
    root = _folder(location)
    if not storefile.exists(root):
        raise storefile.absent(root)
    return "sealed" in storefile.document(root)


def users(location: str | os.PathLike[str], *, key: Key | None = None) -> Iterator[str]:
    """Yield the ids of all whom the store knows, in no order; of some of them all may be forgotten.

    A folder that does not tell whose it is, damaged or without its key, is left out with a warning in the log.
    O(users), a small read each. ``location`` may be a URL of a database, too; ``key`` is what ``TieredMemory.open``
    takes. Raises ``NotFoundError`` where there is no store.
    """
    if not is_folder(location):
        place = moving.place(os.fspath(location), key, Settings(), what="a store that lists its users")
        with closing(place.engine(read_only=True)) as engine:
            yield from engine.users()
        return
    store = FolderStore(_folder(location), create=False, read_only=True, key=given_key(key))
    with closing(store):
        named = 0
        for user_id in store.users():
            named += 1
            yield user_id
        if unnamed := sum(1 for _ in store.user_folders()) - named:
            logger.warning("users who cannot be named: %d; siltstone verify --store %s says why", unnamed, location)


def sizes(location: str | os.PathLike[str]) -> Mapping[str, int]:
    """Return the bytes that a store takes on disk, by part, the largest first; parts without any are left out.

    Parts are ``documents``, ``vectors``, ``cache``, ``audit``, ``settings``, ``keys``, ``trash``, ``quarantine``,
    ``migration``, ``restoring`` and ``other``. No key is needed. O(files). Raises ``NotFoundError`` where there is no
    store.
    """
    root = _folder(location)
    if not storefile.exists(root):
        raise storefile.absent(root)
    return sizes_of(root)


def _entry(deed: Deed) -> AuditEntry:
    counts = dict(deed.counts)
    taken_at = counts.pop("taken_at", None)
    at = None if taken_at is None else time_of(taken_at)
    return AuditEntry(deed.action, time_of(deed.at), deed.user_id, deed.ids, counts, at, deed.hashed or ())


def _folder(location: str | os.PathLike[str]) -> str:
    """Return the full path of a folder. Raises ``ConfigurationError`` for a location that is none, as a URL."""
    if not is_folder(location):
        raise ConfigurationError(
            f"{without_secrets(os.fspath(location))} is no folder, and only a folder has this: nothing was done; a "
            "database has upkeep of its own, and siltstone export writes a user's memory"
        )
    return os.path.abspath(Path(location).expanduser())
