"""Whose documents they are: the first frame of each segment names the user, and which life of their folder it is of."""

from __future__ import annotations

import os
from dataclasses import dataclass

import orjson

from ...errors import StoreCorruptedError
from ..encryption.cipher import PLAIN, Cipher
from .disk import File
from .frames import parse
from .layout import segment_name, segment_numbers


@dataclass(frozen=True)
class Header:
    """What the head of a segment says: whose it is, and which life of that user's folder."""

    user_id: str
    born: str


def read_header(folder: str, cipher: Cipher = PLAIN) -> Header | None:
    """Return what a user's folder names, from the first segment whose head checks."""
    for number in segment_numbers(folder):
        found = parse(File(os.path.join(folder, segment_name(number))).read(0, 1 << 16), cipher=cipher)
        if found is not None and not found.number:
            document = orjson.loads(found.document)
            return Header(str(document["user"]), str(document["born"]))
    return None


def read_user(folder: str, cipher: Cipher = PLAIN) -> str | None:
    """Return the id that a user's folder names, if a head checks."""
    header = read_header(folder, cipher)
    return None if header is None else header.user_id


def misplaced(folder: str) -> StoreCorruptedError:
    """Return the error of a folder that lies in the place of another user's."""
    return StoreCorruptedError(
        f"{folder} holds the documents of another user; nothing was changed, and nobody is shown them: move the folder "
        "back to its own place (siltstone verify names it)"
    )
