"""What belongs to the whole store: ``STORE``, ``AUDIT``, what killed processes left, and who may read the files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Final

from ....errors import StoreCorruptedError
from ....reports import Finding
from ...encryption import destroyed
from ...encryption.cipher import NO_KEYS, Keys
from ...files import auditfile, disk, layout, pagefile, storefile, twofold
from ...files.disk import FILE_MODE, FOLDER_MODE
from ...files.frames import Damage, is_unfinished
from ...files.layout import QUARANTINE, TRASH, UNFINISHED, USERS, user_folders
from ...files.lock import FileLock
from ...files.storefile import StoreFile
from .. import restored
from ..pinned import pin

_KNOWN: Final = frozenset(
    (
        storefile.NAME,
        auditfile.NAME,
        pagefile.USAGE,
        pagefile.OWED,
        "LOCK",
        "KEYS",
        USERS,
        TRASH,
        UNFINISHED,
        QUARANTINE,
    )
)
_KEY_FILE: Final = re.compile("MASTER|[0-9a-f]{32}")
_POINTER: Final = re.compile("KEY")
_FOREIGN: Final = "it is none of siltstone's files"
_PASSING: Final = {
    "migration": "copies of a migration",
}


def check_store(root: str, key: bytes | str | None) -> tuple[StoreFile | None, Keys, list[Finding]]:
    """Return what ``STORE`` says, the keys, and what is wrong with it.

    Raises what opening the store with this key raises, and ``StoreCorruptedError`` where an encrypted store has lost
    its settings: nothing in it can be told then.
    """
    path = os.path.join(root, storefile.NAME)
    if twofold.read(path)[0] is not None:
        keys = storefile.unlock(root, key)
        store = storefile.read(root, keys)
        what = "one of its two copies is damaged"
        return store, keys, [Finding("recomputable", storefile.NAME, what, "writes both anew")] if store.damaged else []
    salvaged = twofold.salvage(path)
    if salvaged is not None:
        keys = storefile.unlock(root, key, sealed="sealed" in salvaged)
        what = "both copies are damaged"
        found = Finding("recomputable", storefile.NAME, what, "puts them together again")
        return storefile.settings(salvaged, keys), keys, [found]
    if disk.is_folder(os.path.join(root, storefile.KEYS)):
        raise StoreCorruptedError(
            f"{path} is damaged in both copies, and an encrypted store cannot be read without it; nothing was changed: "
            "restore a backup over the store, which holds the file"
        )
    repair = (
        "writes a new one: no text is lost, but what was forgotten is no longer refused when it is sent again, all "
        "vectors are made anew, and backups are those of another store. Restoring a backup here costs none of that"
    )
    return None, NO_KEYS, [Finding("lost", storefile.NAME, "both copies are damaged, and its secret is gone", repair)]


def check_keys(root: str) -> Iterator[Finding]:
    """Yield what is wrong with the files of keys of an encrypted store, which are written twice each."""
    for path in key_files(root):
        document, damaged = twofold.read(path)
        name = os.path.relpath(path, root)
        if document is None and twofold.salvage(path) is None:
            yield Finding("lost", name, "both copies are damaged")
        elif damaged:
            yield Finding("recomputable", name, "a copy of it is damaged", "writes both anew")
    folder = os.path.join(root, storefile.KEYS)
    for piece in destroyed.damage(folder):
        name = os.path.join(storefile.KEYS, destroyed.NAME)
        what = "a line does not check: of one forgotten user it is not known that the key was destroyed, which it is"
        yield Finding("cosmetic", name, what, "", None, piece.start, piece.end)


def key_files(root: str) -> Iterator[str]:
    """Yield the files of keys, and those that name a user's keys."""
    keys = os.path.join(root, storefile.KEYS)
    if disk.is_folder(keys):
        for path in (*_below(keys), *_below(os.path.join(root, USERS))):
            wanted = _KEY_FILE if path.startswith(keys) else _POINTER
            if wanted.fullmatch(os.path.basename(path)) and not disk.is_folder(path):
                yield path


def check_audit(root: str, keys: Keys, store: StoreFile | None) -> list[Finding]:
    """Return what is wrong with the audit."""
    if not disk.size(os.path.join(root, auditfile.NAME)):
        return [_gone()] if any(user_folders(root)) else []  # else the store has just been made
    data = pin(os.path.join(root, auditfile.NAME)).read()
    found = []
    for piece in auditfile.pieces(root, keys):
        if not isinstance(piece, Damage) or piece.start >= len(data):
            continue
        if piece.tail and is_unfinished(data[piece.start : piece.end]):
            what, repair = "it ends with a line that was never finished", "cuts it off"
            found.append(Finding("cosmetic", auditfile.NAME, what, repair, None, piece.start, piece.end))
        else:
            what = f"{piece.end - piece.start} bytes at {piece.start} are no line that checks"
            found.append(Finding("lost", auditfile.NAME, what, "quarantines them", None, piece.start, piece.end))
    if store is not None and data and auditfile.identity(root, keys) != store.identity:
        found.append(Finding("recomputable", auditfile.NAME, "it does not name this store", "writes its head anew"))
    return found


def _gone() -> Finding:
    what = "it is gone: who was erased is not known any more, and what was forgotten only from the users' documents"
    return Finding("lost", auditfile.NAME, what, "writes it anew from them")


def check_leftovers(root: str) -> Iterator[Finding]:
    """Yield what killed processes left beside the users' own files, and what is none of ours."""
    given_up = abandoned(root) if FileLock(os.path.join(root, "LOCK")).is_free() else {}
    for name in disk.names(root):
        if name in given_up:
            yield Finding("cosmetic", name, given_up[name], "removes it")
        elif name in _PASSING:
            yield Finding("cosmetic", name, _PASSING[name], "ends it")
        elif name == restored.FOLDER:
            yield from _restoring(root)
        elif name not in _KNOWN:
            yield Finding("cosmetic", name, _FOREIGN)
    for path in layout.strays(root):
        yield Finding("cosmetic", os.path.relpath(path, root), _FOREIGN)
    for name in disk.names(os.path.join(root, TRASH), missing_ok=True):
        yield Finding("cosmetic", f"trash/{name}", "a removed user's files are still there", "removes them")
    for name in disk.names(os.path.join(root, UNFINISHED), missing_ok=True):
        lock = FileLock(os.path.join(storefile.named_folder(root, name), "LOCK"))
        if lock.is_free() and disk.exists(os.path.join(root, UNFINISHED, name)):  # else it is under way
            what = "a removal that has not come to its end: its words may still be there"
            yield Finding("exposed", f"unfinished/{name}", what, "ends it")


def abandoned(root: str) -> dict[str, str]:
    """Return what lies in a store that nobody will go on with, by name, and what it is."""
    return {name: "it was never put in its place" for name in disk.names(root) if name.endswith(".new")}


def _restoring(root: str) -> Iterator[Finding]:
    """Tell a restore that has happened from one that never will; one at work is nothing to tell."""
    if restored.is_pending(root):
        yield Finding("cosmetic", restored.FOLDER, "a restore that has not come to its end", "ends it")
    elif restored.is_abandoned(root):
        what = "the copy of a killed restore, which may hold what was forgotten since"
        yield Finding("exposed", restored.FOLDER, what, "takes it away")


def check_modes(root: str) -> Iterator[Finding]:
    """Yield what others than the owner may read; the folder of the store itself is the user's to give away."""
    for path in _below(root):
        try:
            found = disk.status(path).st_mode
        except FileNotFoundError:
            continue  # it went meanwhile
        if found & 0o077:
            name = os.path.relpath(path, root)
            mode, wanted = stat.S_IMODE(found), FOLDER_MODE if stat.S_ISDIR(found) else FILE_MODE
            yield Finding("exposed", name, f"its mode is {mode:o}, not {wanted:o}", "sets it")


def _below(root: str) -> Iterator[str]:
    for folder, folders, names in disk.walk(root):
        for name in (*folders, *names):
            yield os.path.join(folder, name)
