"""Ids that follow from words, as the audit keeps them: keyed hashes.

The id of a statement is a hash of what it says, so that it is the same however often it is made. Whoever guessed the
words of a forgotten one would find them confirmed by that id, even in a copy of the audit that lies apart. Hashed once
more under the user's key, which only ``STORE`` has, it tells nothing there, and is still known again in a backup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final

import orjson

from ..encryption.cipher import Keys
from . import auditfile
from .storefile import StoreFile

_MADE: Final = re.compile(r"[0-9a-f]{20}")
"""Ids that siltstone makes: random ones, and those that follow from words."""


def hashed_id(key: bytes, id: str) -> str:
    """Return the keyed hash of an id; ``key`` is the user's."""
    return blake2b(b"id\0" + id.encode("utf-8", "surrogatepass"), key=key, digest_size=12).hexdigest()


def told_apart(key: bytes, ids: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return ids of items that are gone, as they are and hashed: each that may follow from words, by its looks."""
    ids = tuple(ids)
    return (
        tuple(id for id in ids if not _MADE.fullmatch(id)),
        tuple(hashed_id(key, id) for id in ids if _MADE.fullmatch(id)),
    )


def hash_older(root: str, keys: Keys, store: StoreFile) -> None:
    """Hash the ids in lines that say nothing of hashed ones, as releases before format 4 wrote them.

    Needs the store's lock. The audit is replaced at once, or left where there are none; damaged lines stay.
    """
    if any(deed.ids and deed.hashed is None for deed in auditfile.read(root, keys)):
        auditfile.reseal(root, keys, _hashing(store))


def _hashing(store: StoreFile) -> Callable[[bytes], bytes]:
    def change(document: bytes) -> bytes:
        line = orjson.loads(document)
        if "i" not in line or "k" in line:
            return document
        line["i"], line["k"] = told_apart(store.user_key(line["u"]), line["i"])
        return orjson.dumps(line)

    return change
