"""A zip archive, read where it is: nothing is ever written out, so no name in it can lead anywhere.

What a small archive may blow up to is limited before anything of it is read.
"""

from __future__ import annotations

import itertools
import zipfile
from typing import IO, Final

from ..errors import InvalidInputError

MAGIC: Final = b"PK\x03\x04"
_MOST_FILES: Final = 100_000
_MOST_BYTES: Final = 1 << 38
"""Bytes of all files together, unpacked; 256 GiB."""
_FREE: Final = 64 << 20
_MOST_RATIO: Final = 250
"""How many times as large as in the archive a file of more than ``_FREE`` bytes may be; conversations pack ten-fold,
and what packs a thousand-fold is made to do harm."""
_ENCRYPTED: Final = 0x1
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


class DamagedError(InvalidInputError):
    """A file of an archive is not what it was when it was packed."""


class Archive:
    """The files of a zip archive. Raises ``InvalidInputError`` for one that is damaged, or that is a bomb."""

    def __init__(self, path_or_file: str | IO[bytes], name: str) -> None:
        self._name = name
        try:
            self._zip = zipfile.ZipFile(path_or_file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as exc:
            raise InvalidInputError(f"{name} is a damaged zip archive ({exc}): nothing was imported") from exc
        entries = [entry for entry in self._zip.infolist() if not entry.is_dir()]
        self._files = {entry.filename: entry for entry in entries}
        if (why := _harm(entries)) is not None:
            raise InvalidInputError(
                f"{name} {why}, which no export does: nothing was imported; unpack it yourself if you trust it, and "
                "import the folder"
            )

    @property
    def names(self) -> frozenset[str]:
        """The names of its files, with their folders."""
        return frozenset(self._files)

    def size(self, name: str) -> int:
        """Return the bytes of a file, unpacked."""
        return self._files[name].file_size

    def open(self, name: str) -> IO[bytes]:
        """Open a file. Raises ``DamagedError``, or ``InvalidInputError`` where it is encrypted, or packed strangely."""
        entry = self._files[name]
        if entry.flag_bits & _ENCRYPTED:
            raise InvalidInputError(f"{name} in {self._name} is encrypted: unpack it yourself, and import that")
        if entry.compress_type not in _METHODS:
            raise InvalidInputError(f"{name} in {self._name} is packed by the unknown method {entry.compress_type}")
        try:
            return self._zip.open(entry)
        except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as exc:
            raise DamagedError(f"{name} in {self._name} cannot be read ({exc})") from exc


def _harm(entries: list[zipfile.ZipInfo]) -> str | None:
    """Return what makes an archive one that is not to be read."""
    if len(entries) > _MOST_FILES:
        return f"holds {len(entries):,} files"
    if sum(entry.file_size for entry in entries) > _MOST_BYTES:
        return f"unpacks to more than {_MOST_BYTES >> 30} GiB"
    for entry in entries:
        if entry.file_size > _FREE and entry.file_size > _MOST_RATIO * max(entry.compress_size, 1):
            return f"holds {entry.filename}, which unpacks to {entry.file_size // max(entry.compress_size, 1):,} times"
    spans = sorted((entry.header_offset, entry.compress_size) for entry in entries)
    for (start, size), (following, _) in itertools.pairwise(spans):
        if start + size > following:
            return "holds files that lie over one another"
    return None
