"""What the folder of a removed user still tells, from ``trash/``, until it is deleted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

import orjson

from ..errors import StoreCorruptedError
from .encryption.cipher import Cipher, Keys
from .files import auditfile, disk, layout, notes
from .files.auditfile import Deed
from .files.headers import read_header
from .files.log import Log
from .files.segments import Vanished


def erasure(folder: str, keys: Keys, user_id: str | None = None) -> Deed | None:
    """Return the deed that a removed folder is left of, with all that it refuses; ``user_id``: whose, where known.

    ``None`` where nobody can tell whose it was, or where another process deletes it, and has done what is due.
    """
    cipher = keys.cipher(folder, removed=True)
    header, refused, documents = None, set[str](), 0
    try:
        header = read_header(folder, cipher)
        user_id = header.user_id if header is not None else user_id
        if user_id is None:
            return None
        refused, documents = _refused_in(folder, user_id, cipher)
    except (Vanished, FileNotFoundError):
        return None
    except StoreCorruptedError:  # its key is gone
        if user_id is None:
            return None  # destroyed, which comes after all that is due
    key = auditfile.key_of("" if header is None else header.born, os.path.basename(folder))
    return Deed("erase", user_id=user_id, hashes=tuple(sorted(refused)), counts={"documents": documents}, key=key)


def erasures(root: str, keys: Keys) -> Iterator[Deed]:
    """Yield the deeds of all folders that wait to be deleted, in the audit or not yet."""
    trash = os.path.join(root, layout.TRASH)
    for name in disk.names(trash, missing_ok=True):
        deed = erasure(os.path.join(trash, name), keys)
        if deed is not None:
            yield deed


def refused_there(root: str, user_folder: str, user_id: str, keys: Keys) -> set[str]:
    """Return what removed folders of a user refuse that has not gone over to a new one yet."""
    refused: set[str] = set()
    trash, mine = os.path.join(root, layout.TRASH), os.path.basename(user_folder) + "."
    for name in disk.names(trash, missing_ok=True):
        if name.startswith(mine):
            folder = os.path.join(trash, name)
            with suppress(Vanished, FileNotFoundError, StoreCorruptedError):  # what is gone has gone over before
                refused |= _refused_in(folder, user_id, keys.cipher(folder, removed=True))[0]
    return refused


def _refused_in(folder: str, user_id: str, cipher: Cipher) -> tuple[set[str], int]:
    """Return the hashes of what a user's folder refuses, as far as it can be read, and its number of documents.

    Nothing is written.
    """
    hashes: set[str] = set()
    documents = 0
    log = Log(folder, user_id, durable=False, writable=False, segment_size=0, cipher=cipher)
    for news in log.read():
        for _, found in news.frames:
            documents += notes.is_item(found.document)
            if notes.is_removal(found.document):
                hashes.update(orjson.loads(found.document)["h"])
    return hashes, documents
