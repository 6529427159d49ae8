"""Looking at a whole store, file by file, without changing anything, while others may write.

A user's lock is held while their files are opened, not while they are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...errors import StoreCorruptedError
from ...protocols import Progress
from ...reports import Finding, VerifyReport
from ..encryption.cipher import Keys
from ..files import auditfile, disk, links
from ..files.layout import segment_name, user_folders
from ..files.lock import FileLock
from ..files.storefile import StoreFile
from .bereft import GONE, is_bereft
from .checks.caches import CacheCheck
from .checks.documents import DocumentCheck, Documents
from .checks.linked import check_links
from .checks.missing import check_missing
from .checks.vectors import VectorCheck, Vectors
from .checks.whole import check_audit, check_keys, check_leftovers, check_modes, check_store
from .forgotten import unnamed
from .pinned import Pinned, pin_user


@dataclass(frozen=True)
class Whole:
    """What the checks of a user are told of the store; ``refused``: the hashes that the audit names, by user."""

    root: str
    keys: Keys
    store: StoreFile | None
    refused: Mapping[str, set[str]]


@dataclass
class UserFound:
    """What was found of one user. ``folder`` is relative to the store."""

    folder: str
    documents: Documents
    vectors: Vectors
    findings: list[Finding]

    @property
    def refused(self) -> dict[str, set[str]]:
        """The hashes of what the user refuses and the audit must name, by their id, where that is known."""
        known = self.documents
        return {} if known.user_id is None else {known.user_id: known.told}


def look(root: str, key: bytes | str | None, *, timeout: float, progress: Progress | None = None) -> VerifyReport:
    """Return what there is to say of a store; see ``upkeep.verify``."""
    store, keys, findings = check_store(root, key)
    whole = Whole(root, keys, store, auditfile.refusals(root, keys))
    folders = [os.path.relpath(folder, root) for folder in user_folders(root)]
    users = documents = vectors = pending = 0
    refused: dict[str, set[str]] = {}
    for done, folder in enumerate(folders, 1):
        found = look_at_user(whole, folder, timeout=timeout)
        if found is not None:
            users += 1
            documents += len(found.documents.numbers)
            vectors += found.vectors.rows
            pending += found.vectors.pending
            findings += found.findings
            refused |= found.refused
        if progress is not None:
            progress(done, len(folders))
    findings += [
        *check_audit(root, keys, store),
        *_lost_lines(whole, refused, timeout),
        *check_keys(root),
        *check_leftovers(root),
        *check_links(root),
        *check_modes(root),
    ]
    return VerifyReport(root, users, documents, vectors, pending, tuple(findings))


def _lost_lines(whole: Whole, refused: Mapping[str, set[str]], timeout: float) -> Iterator[Finding]:
    missing = {} if whole.store is None else unnamed(whole.root, whole.keys, refused, timeout)
    for user_id, hashes in missing.items():
        what = f"{len(hashes)} hashes of what is refused are in no line of it: lines are gone"
        yield Finding("lost", auditfile.NAME, what, "writes them anew from the user's documents", user_id)


def look_at_user(whole: Whole, folder: str, *, timeout: float) -> UserFound | None:
    """Return what there is to say of a user, ``None`` of one who was removed."""
    path = os.path.join(whole.root, folder)
    if links.leads_nowhere(path):
        return None  # the link is told of, and what it led to cannot be
    try:
        pinned, left = _pinned_quietly(path, timeout)
        return look_at_files(whole, folder, pinned, left)
    except FileNotFoundError:
        return None
    except StoreCorruptedError as exc:  # no key
        if not disk.is_folder(path):
            return None
        if whole.keys.is_shredded(path):
            what = "a copy of a user who was forgotten for good: the key was destroyed, and nobody can read it"
            return UserFound(folder, Documents(), Vectors(), [Finding("cosmetic", folder, what, "removes it")])
        return UserFound(folder, Documents(), Vectors(), [Finding("lost", folder, f"nothing of it can be read: {exc}")])


def look_at_files(whole: Whole, folder: str, pinned: Sequence[Pinned], left: Sequence[str]) -> UserFound | None:
    """Return what there is to say of a user's files."""
    path = os.path.join(whole.root, folder)
    cipher = whole.keys.cipher(path)
    cached = CacheCheck(whole.root, path, cipher)
    check = DocumentCheck(folder, [each for each in pinned if each.is_documents], cipher)
    for item in check.items():
        cached.see(item)
    documents = check.found
    files = [each for each in pinned if each.name.startswith("vectors.")]
    space = None if whole.store is None else whole.store.space
    vectors = VectorCheck(folder, documents, cipher).see(files, space)
    if is_bereft(path, pinned):  # nothing else of it is to be mended: what is left tells of the loss
        return UserFound(folder, documents, vectors, [Finding("lost", folder, GONE, "", _named(whole, path))])
    findings = [*documents.findings, *vectors.findings, *cached.close(documents)]
    findings += [
        Finding("cosmetic", f"{folder}/{name}", "it was never put in its place", "removes it") for name in left
    ]
    if missing := whole.refused.get(documents.user_id or "", set()) - documents.refused:
        what = f"{len(missing)} hashes of what is refused are missing"
        findings.append(Finding("recomputable", folder, what, "takes them from the audit", documents.user_id))
    if documents.user_id is not None and whole.store is not None:
        place = whole.store.user_folder(whole.root, documents.user_id)
        if place != path:
            own = os.path.relpath(place, whole.root)
            what = f"it lies in the place of another user, who cannot be opened: move it to {own}"
            findings.append(Finding("lost", folder, what, "", documents.user_id))
    findings += check_missing(folder, pinned, documents, vectors)
    if documents.awaited:
        was_there = vectors.highest > documents.last or documents.awaited in cached.segments
        findings.append(_awaited(folder, documents, was_there))
    if not pinned and not findings:
        return None  # made by a writer who was killed before the first write
    return UserFound(folder, documents, vectors, findings)


def _named(whole: Whole, path: str) -> str | None:
    """Return the user of a folder whose documents do not name one, if the audit does."""
    if whole.store is None:
        return None
    return next((name for name in whole.refused if whole.store.user_folder(whole.root, name) == path), None)


def _awaited(folder: str, documents: Documents, was_there: bool) -> Finding:
    path = f"{folder}/{segment_name(documents.awaited)}"
    if was_there:
        return Finding("lost", path, "it is missing", "begins it anew, empty", documents.user_id)
    what = "it was announced and is not there: whoever was to write it was killed before"
    return Finding("cosmetic", path, what, "begins it", documents.user_id)


def _pinned_quietly(path: str, timeout: float) -> tuple[list[Pinned], list[str]]:
    """Return the same as ``pinned_all``, as of one moment, without anything written."""
    lock = os.path.join(path, "LOCK")
    while not disk.exists(lock):  # nobody has written there since a restore
        found = pinned_all(path)
        if not disk.exists(lock):
            return found
    with FileLock(lock, write=False).held(timeout):
        return pinned_all(path)


def pinned_all(path: str) -> tuple[list[Pinned], list[str]]:
    """Return a user's files, and the names of those that were never put in their places; needs the user's lock."""
    return pin_user(path), [name for name in disk.names(path) if name.endswith(".new")]
