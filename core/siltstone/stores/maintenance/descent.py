"""Whether a store goes on from what an earlier backup holds, or is a copy of it that has gone its own way since.

Both have one identity. But documents are numbered and stay as they are until they are removed, and each removal of a
user has a line in the audit: what a backup holds and the store has otherwise, or never had, tells them apart.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias
from zlib import crc32

import orjson

from ...errors import ConfigurationError, StoreCorruptedError
from ..encryption.cipher import Cipher, Keys
from ..erasure import erasures
from ..files import auditfile, notes
from ..files.auditfile import Deed
from ..files.frames import Frame, committed, scan
from ..files.layout import USERS, segment_number
from ..files.storefile import StoreFile
from . import manifest
from .manifest import Copy, Entry, Origin
from .pinned import Pinned, pin, pin_user

_NOTE: Final = -1
"""What stands for a note, which compaction may write anew."""
_BLANK: Final = -2
"""What stands for a document that was overwritten when it was forgotten."""
Audited: TypeAlias = Mapping[int, tuple[int, Deed]]
"""Where in an audit the line of each deed begins, and the deed, by key."""
_LOCKED: Final = "is under a key that the store has not"


@dataclass(frozen=True)
class Documents:
    """A segment of documents: which life of the folder it is of, the sum of each item by number, and what is refused.

    A note has no sum of its own, and what no key opens has none that is known (``None``).
    """

    born: str | None
    sums: Mapping[int, int | None]
    refused: frozenset[str] = frozenset()


def check_descent(
    root: str, target: str, origin: Origin, entries: Sequence[Entry], store: StoreFile, keys: Keys
) -> None:
    """Raise ``ConfigurationError`` where a backup holds what the store in ``root`` does not go on from.

    What is damaged or emptied there is no matter of descent. O(bytes of the documents that have changed since).
    """
    alike = origin.format == store.format  # else a migration may have changed what is in a document
    parted = [(entry, what) for entry in entries if (what := _parted(root, target, entry, keys, alike=alike))]
    told = [*erasures(root, keys), *auditfile.read(root, keys)]  # behind the documents, which are removed before
    before = _audited(target, entries, keys)
    if lines := _lines_apart(told, before, origin):
        raise _other(root, target, lines)
    for entry, what in parted:
        since = (deed for deed in told if _is_since(deed, before, entry, origin))
        if not any(_explains(deed, what, entry.folder, root, store) for deed in since):
            raise _other(root, target, f"users/{entry.folder} {what}")


def _lines_apart(told: Sequence[Deed], before: Audited | None, origin: Origin) -> str:
    """Return what the audits tell of another history; empty where nothing, or where a key before the present is needed.

    A store that was restored goes on from what it was restored from, and from nothing later.
    """
    if before is None:
        return ""
    known = {deed.key for deed in told}
    if any(key not in known for key, (_, deed) in before.items() if deed.action in ("forget", "erase")):
        return "its audit has lines that the store's has not"
    restores = [deed for deed in told if deed.action == "restore" and deed.key not in before]
    if restores and max(restores, key=lambda deed: deed.at).counts.get("taken_at", origin.at) < origin.at:
        return "it was taken after the backup that the store was restored from"
    return ""


def _is_since(deed: Deed, before: Audited | None, entry: Entry, origin: Origin) -> bool:
    """Return whether something was done after a user's folder was copied."""
    if before is None:
        return deed.at >= origin.at
    return deed.key not in before or before[deed.key][0] >= entry.audit


def parted(copied: Documents, present: Documents, *, alike: bool) -> str:
    """Return in what way a segment does not go on from its copy; empty where it does.

    ``alike``: whether items that are the same must be equal, too.
    """
    if set(copied.sums.values()) == {None}:
        return _LOCKED
    if copied.born and present.born and copied.born != present.born:
        return "is not the folder that was backed up"
    last = max(copied.sums, default=0)
    if max(present.sums, default=0) < last or not copied.refused <= present.refused:
        return "lacks documents that were backed up"
    if any(number <= last and number not in copied.sums for number in present.sums):
        return "has documents from before the backup that it does not hold"
    there = ((sum, present.sums.get(number, _BLANK)) for number, sum in copied.sums.items())
    pairs = [pair for pair in there if pair[1] != _BLANK]
    if any(None not in pair and pair[0] != pair[1] and (alike or _NOTE in pair) for pair in pairs):
        return "has other documents than those that were backed up"
    return ""


def _parted(root: str, target: str, entry: Entry, keys: Keys, *, alike: bool) -> str:
    copies = [copy for copy in entry.copies if segment_number(copy.name) is not None and copy.size]
    if not entry.folder or not copies:
        return ""
    folder = os.path.join(root, USERS, entry.folder)
    try:
        present = {each.name: each for each in pin_user(folder)}
    except FileNotFoundError:
        return "is gone"
    if not any(each.is_documents and each.size for each in present.values()):
        return ""  # emptied, which no backup takes part in
    cipher = keys.cipher(folder)
    with suppress(StoreCorruptedError):  # no key opens it: nothing can be told
        for copy in copies:
            if copy.name not in present:
                return "lacks documents that were backed up"
            if what := _parted_file(target, copy, present[copy.name], cipher, alike=alike):
                return what
    return ""


def _parted_file(target: str, copy: Copy, present: Pinned, cipher: Cipher, *, alike: bool) -> str:
    if copy.seen == present.seen or not manifest.is_whole(target, copy):
        return ""  # a damaged copy is made anew
    data = present.read()
    if committed(data)[1]:
        return ""  # damaged, which no backup takes part in
    copied = pin(os.path.join(target, copy.path))
    return parted(_read(copied.read(), cipher), _read(data, cipher), alike=alike)


def _read(data: bytes, cipher: Cipher) -> Documents:
    born: str | None = None
    sums: dict[int, int | None] = {}
    refused: set[str] = set()
    for piece in scan(data):
        if not isinstance(piece, Frame):
            continue
        document = cipher.open_document(piece.number, piece.document)
        if piece.number:
            sums[piece.number] = None if document is None else _sum(document)
            if document is not None and notes.is_removal(document):
                refused.update(orjson.loads(document)["h"])
        elif document is not None:
            born = str(orjson.loads(document)["born"])
    return Documents(born, sums, frozenset(refused))


def _sum(document: bytes) -> int:
    if notes.is_blank(document):
        return _BLANK
    return crc32(document) if notes.is_item(document) else _NOTE


def _audited(target: str, entries: Sequence[Entry], keys: Keys) -> Audited | None:
    """Return what the audit of a backup tells, ``None`` where it is under another key than the store's."""
    folders = [
        os.path.join(target, os.path.dirname(copy.path))
        for entry in entries
        for copy in entry.copies
        if copy.name == auditfile.NAME
    ]
    if any(auditfile.identity(folder, keys) is None for folder in folders):
        return None
    return {deed.key: (start, deed) for folder in folders for start, deed in auditfile.placed(folder, keys)}


def _explains(deed: Deed, what: str, folder: str, root: str, store: StoreFile) -> bool:
    """Return whether a deed puts none or another one in the place of a user's folder, or another key to it."""
    if deed.action == "erase" and deed.user_id is not None:
        return os.path.basename(store.user_folder(root, deed.user_id)) == os.path.basename(folder)
    return deed.action == "restore" or (deed.action == "rekey" and what == _LOCKED)


def _other(root: str, target: str, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{target} holds what {root} does not go on from: {what}. One of the two is a copy that has gone its own way "
        "since, or an older state, and the backup may be the only one that holds it; nothing was changed: back up into "
        f"another folder (siltstone backup DIR --store {root}), or look at what is in this one (siltstone restore "
        f"{target} --store ELSEWHERE)"
    )
