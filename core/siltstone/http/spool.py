"""A body that has to be there whole before it can be read: a zip archive, whose end says what is in it."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from ..importers.archive import MAGIC
from .streams import Incoming


@contextmanager
def whole_if_archive(body: Incoming) -> Iterator[IO[bytes]]:
    """Give the block the body as a file: as it comes, or, of an archive, one that can be searched.

    That lies in a file without a name, which goes with the block, and with the process.
    """
    coming = io.BufferedReader(body)
    if coming.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
        yield coming
        return
    with tempfile.TemporaryFile() as kept:
        shutil.copyfileobj(coming, kept)
        kept.seek(0)
        yield cast("IO[bytes]", _Named(kept, body.name))


class _Named(io.RawIOBase):
    """An open file under the name that it was sent with."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self.name = file, name

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be searched."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what fits."""
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self._file.tell()
