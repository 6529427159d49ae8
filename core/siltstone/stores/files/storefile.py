"""``STORE``: what holds for a whole folder, as one small JSON line, written twice so that damage to one is mended."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final
from zlib import crc32

import orjson

from ...errors import StoreCorruptedError, StoreVersionError
from ...protocols import Fingerprint
from . import disk
from .disk import File

FORMAT: Final = 2
"""Counts up with every change that an older release would misread; see ``migrations``."""
NAME: Final = "STORE"
_APART: Final = 4_096
"""Bytes from one copy to the other: more than a disk damages at once."""


@dataclass(frozen=True)
class StoreFile:
    """The settings of a folder: ``secret`` keys its hashes, ``space`` counts its embedding spaces."""

    secret: bytes
    space: int = 0
    fingerprint: Fingerprint | None = None
    format: int = FORMAT
    damaged: bool = False

    @property
    def identity(self) -> str:
        """What tells this store, its copies and its backups from every other one; gives nothing away."""
        return blake2b(b"identity", key=self.secret, digest_size=8).hexdigest()

    def user_key(self, user_id: str) -> bytes:
        """Return the key of a user's hashes."""
        return blake2b(user_id.encode(), key=self.secret, digest_size=16).digest()


def exists(folder: str) -> bool:
    """Return whether a folder is a store."""
    return disk.exists(os.path.join(folder, NAME))


def write(folder: str, store: StoreFile) -> None:
    """Replace the settings of a folder, atomically."""
    fingerprint = None if store.fingerprint is None else dataclasses.asdict(store.fingerprint)
    values = {"format": store.format, "secret": store.secret.hex(), "space": store.space, "fingerprint": fingerprint}
    replace(folder, values)


def replace(folder: str, document: Mapping[str, Any]) -> None:
    """Replace ``STORE`` by a document of any format, atomically."""
    body = orjson.dumps(document)
    line = b"%08x %b\n" % (crc32(body), body)
    filler = b" " * (-len(line) % _APART - 1) + b"\n" if len(line) % _APART else b""
    disk.replace(os.path.join(folder, NAME), line + filler + line)


def read(folder: str) -> StoreFile:
    """Return the settings of a folder.

    Raises ``StoreVersionError`` for a newer format and while a migration is under way, ``StoreCorruptedError`` when
    neither copy checks.
    """
    document, damaged = _read(folder)
    if "step" in document:
        raise StoreVersionError(f"{folder} is being migrated by another process; nothing was changed: retry")
    found = document["fingerprint"]
    return StoreFile(
        secret=bytes.fromhex(document["secret"]),
        space=document["space"],
        fingerprint=Fingerprint(**{**found, "probe": tuple(found["probe"])}) if found else None,
        format=document["format"],
        damaged=damaged,
    )


def document(folder: str) -> dict[str, Any]:
    """Return what ``STORE`` holds, of any format that is known. Raises like ``read``."""
    return _read(folder)[0]


def _read(folder: str) -> tuple[dict[str, Any], bool]:
    path = os.path.join(folder, NAME)
    file = File(path)
    lines = [line for line in file.read(0, file.size).split(b"\n") if line.strip()]
    good = [body for line in lines if (body := _checked(line)) is not None]
    if not good:
        raise StoreCorruptedError(f"{path} is damaged in both copies; nothing was changed: restore it from a backup")
    found = orjson.loads(good[0])
    if found["format"] > FORMAT:
        raise StoreVersionError(
            f"{folder} has format {found['format']}, this release reads up to {FORMAT}: install a newer siltstone"
        )
    return found, len(good) < 2 or len(lines) > 2


def user_folder(root: str, user_id: str) -> str:
    """Return a user's folder: a readable part and a hash, so that ids never collide, whatever the disk's rules."""
    hashed = blake2b(user_id.encode(), digest_size=16).hexdigest()
    readable = re.sub(r"[^a-z0-9]+", "-", user_id.lower())[:24].strip("-")
    return named_folder(root, f"{readable}-{hashed}" if readable else hashed)


def named_folder(root: str, name: str) -> str:
    """Return where the user's folder of a name lies: spread over 256 folders by the first digits of the hash."""
    return os.path.join(root, "users", name[-32:-30], name)


def _checked(line: bytes) -> bytes | None:
    crc, _, body = line.partition(b" ")
    return body if crc == b"%08x" % crc32(body) else None
