"""Making a store whole again out of what can be read of it. Damaged pieces are copied to ``quarantine/`` first.

A file is replaced by one without them, so that a kill at any moment leaves the old or the new; the next run goes on
from there.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import orjson

from ...errors import StoreCorruptedError
from ...protocols import Progress
from ..encryption.cipher import Keys
from ..files import auditfile, cache, disk, links, notes, storefile, twofold
from ..files.auditfile import Deed
from ..files.frames import Frame
from ..files.layout import QUARANTINE, TRASH, segment_number, user_folders
from ..files.lock import FileLock
from ..files.log import Log
from ..files.notes import Removal, Successor
from ..files.segments import Vanished
from ..files.storefile import StoreFile
from ..files.vectorfile import blank, listed
from ..folder import FolderStore
from . import quarantine
from .checks.documents import Documents
from .checks.whole import abandoned, check_audit, check_modes, key_files
from .forgotten import unnamed
from .pinned import Pinned
from .verify import Whole, look_at_files, look_at_user, pinned_all

_USER: Final = re.compile(rb'"user":("(?:[^"\\]|\\.)*")')


def mend(
    root: str, key: bytes | str | None, *, user_id: str | None, timeout: float, progress: Progress | None
) -> str | None:
    """Repair what can be; return the folder of the quarantine if anything was put there. See ``upkeep.verify``."""
    lock = FileLock(os.path.join(root, "LOCK"))
    with lock.held(timeout):
        _mend_store(root)
        _mend_keys(root)
        keys = storefile.unlock(root, key, lock_timeout=timeout)
        kept, lost = _mend_audit(root, keys)
    _mend_links(root, timeout)
    FolderStore(root, create=False, lock_timeout=timeout, key=key).close()  # ends removals, restores and migrations
    whole = Whole(root, keys, storefile.read(root, keys), auditfile.refusals(root, keys))
    candidates = [*whole.refused, *([] if user_id is None else [user_id])]
    folders = [os.path.relpath(folder, root) for folder in user_folders(root)]
    mended = 0
    refused: dict[str, set[str]] = {}
    for done, folder in enumerate(folders, 1):
        found = look_at_user(whole, folder, timeout=timeout)
        if found is not None:
            refused |= found.refused
        if found is not None and any(finding.is_repairable for finding in found.findings):
            mended += 1
            kept = _mend_user(whole, folder, candidates, timeout) or kept
        if progress is not None:
            progress(done, len(folders))
    missing = unnamed(root, keys, refused, timeout)
    lost += sum(map(len, missing.values()))
    lines = [Deed("forget", user_id=user, hashes=tuple(sorted(hashes))) for user, hashes in missing.items()]
    counts = {"users": mended} | ({"lost": lost} if lost else {})
    with lock.held(timeout):
        _clear(root)
        auditfile.append(root, [*lines, Deed("repair", counts=counts)], keys)
    return None if kept is None else os.path.join(root, QUARANTINE)


def _mend_store(root: str) -> None:
    """Write both copies of the settings, put together again, or new ones."""
    path = os.path.join(root, storefile.NAME)
    document, damaged = twofold.read(path)
    if not damaged:
        return
    if document is None:
        quarantine.keep(root, "store", root, [(storefile.NAME, 0, disk.size(path))])
        document = twofold.salvage(path)
    if document is None:
        storefile.write(root, StoreFile(secrets.token_bytes(16), _next_space(root)))
    else:
        storefile.replace(root, document)


def _next_space(root: str) -> int:
    """Return a number that no vector file of the store bears."""
    spaces = [space for folder in user_folders(root) for _, space, _, _ in listed(folder)]
    return max(spaces, default=0) + 1


def _mend_keys(root: str) -> None:
    for path in key_files(root):
        document, damaged = twofold.read(path)
        document = document or twofold.salvage(path)
        if damaged and document is not None:
            twofold.write(path, document)


def _mend_audit(root: str, keys: Keys) -> tuple[str | None, int]:
    """Write the audit without what does not check, and under the store's name.

    Returns where damaged lines were put, and how many have been lost at least.
    """
    findings = check_audit(root, keys, storefile.read(root, keys))
    if not findings:
        return None, 0
    lost = [finding for finding in findings if finding.severity == "lost"]
    damaged = [(auditfile.NAME, finding.start, finding.end) for finding in lost if finding.end]
    kept = quarantine.keep(root, "store", root, damaged) if damaged else None
    auditfile.rewrite(root, list(auditfile.read(root, keys)), keys)
    return kept, len(lost)


def _mend_links(root: str, timeout: float) -> None:
    for folder in user_folders(root):
        if links.in_user(folder):
            with suppress(FileNotFoundError), FileLock(os.path.join(folder, "LOCK")).held(timeout):
                links.resolve(folder)


def _mend_user(whole: Whole, folder: str, candidates: Iterable[str], timeout: float) -> str | None:
    """Repair the files of a user under their lock; return where damaged pieces were put, if anywhere."""
    path = os.path.join(whole.root, folder)
    with FileLock(os.path.join(path, "LOCK")).held(timeout):
        if whole.keys.is_shredded(path):
            _remove(whole.root, path)
            return None
        pinned, left = pinned_all(path)
        found = look_at_files(whole, folder, pinned, left)
        if found is None:
            return None
        kept = None
        if found.documents.pieces:
            kept = quarantine.keep(whole.root, os.path.basename(folder), path, found.documents.pieces)
        cache.discard(path)
        user_id = found.documents.user_id or _salvaged(whole, path, pinned, candidates)
        cipher = whole.keys.cipher(path)
        cipher.ready()
        if user_id is not None:
            log = Log(path, user_id, durable=True, writable=True, segment_size=1 << 62, cipher=cipher)
            _mend_documents(log, found.documents, whole.refused.get(user_id, set()))
        for name in found.vectors.foreign:
            disk.unlink(os.path.join(path, name))
        for name, rows in found.vectors.bad.items():
            blank(os.path.join(path, name), rows, cipher)
        for name in left:
            disk.unlink(os.path.join(path, name))
    return kept


def _remove(root: str, path: str) -> None:
    """Remove the folder of a user of whom nothing can be read. Needs the user's lock."""
    gone = os.path.join(root, TRASH, f"{os.path.basename(path)}.{secrets.token_hex(4)}")
    disk.make_folder(os.path.dirname(gone))
    quarantine.forget(root, os.path.basename(path))
    disk.rename(path, gone)
    disk.remove_tree(gone)


def _mend_documents(log: Log, known: Documents, refused: set[str]) -> None:
    try:
        for _ in log.read():
            pass
    except (Vanished, StoreCorruptedError):
        return  # files of two lives, or of two users: which of them belong here, is not ours to say
    log.repair()
    drop = {segment: known.bad.get(segment, set()) | known.removed for segment in log.segments}
    damaged = {number for name, _, _ in known.pieces if (number := segment_number(name)) is not None}
    for segment in sorted((damaged | known.headless | set(known.bad)).intersection(log.segments)):
        log.install(log.rewrite(segment, drop[segment])[0])
    if known.removed:
        for segment in log.segments:
            log.install(log.rewrite(segment, drop[segment])[0])
    _mend_order(log)
    if known.awaited:
        log.make_ready()
    if missing := sorted(refused - known.refused):
        log.make_ready()
        log.append([notes.pack(Removal(hashes=missing))])


def _mend_order(log: Log) -> None:
    """Let each segment announce the one that follows it, where one between them or before them is gone."""
    numbers = list(log.segments)
    if numbers and numbers[0] > 1:
        log.begin_before(numbers[0])
    for number, following in itertools.pairwise(numbers):
        if following != number + 1:
            segment = log.segment(number)
            draft = log.revise(segment, segment.end, functools.partial(_announcing, following))
            if draft is not None and (written := log.replace(draft)) is not None:
                log.install(written[0])


def _announcing(following: int, frames: Iterable[Frame]) -> dict[int, bytes | None]:
    note = notes.pack(Successor(following))
    return {found.number: note for found in frames if notes.is_successor(found.document) and found.document != note}


def _salvaged(whole: Whole, path: str, pinned: Iterable[Pinned], candidates: Iterable[str]) -> str | None:
    """Return the id of a user whose files do not name them any more: one whose hash is the name of the folder."""
    for user_id in (*candidates, *_guesses(pinned)):
        if whole.store is not None and whole.store.user_folder(whole.root, user_id) == path:
            return user_id
    return None


def _guesses(pinned: Iterable[Pinned]) -> Iterator[str]:
    """Yield what damaged heads may have said: as they are, and with any one bit changed."""
    for each in pinned:
        head = _USER.search(each.file.read(0, 1 << 12)) if each.is_documents else None
        if head is not None:
            for bit in range(-1, 8 * len(head[1])):
                raw = bytearray(head[1])
                if bit >= 0:
                    raw[bit // 8] ^= 1 << bit % 8
                try:
                    guess = orjson.loads(bytes(raw))
                except ValueError:
                    continue
                if isinstance(guess, str) and guess:
                    yield guess


def _clear(root: str) -> None:
    """Remove what killed processes left, and take back what others may read."""
    for name in abandoned(root):
        path = os.path.join(root, name)
        if disk.is_folder(path):
            disk.remove_tree(path)
        else:
            disk.unlink(path)
    for finding in check_modes(root):
        disk.protect(os.path.join(root, finding.path))
