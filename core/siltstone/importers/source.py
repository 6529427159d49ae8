"""What is to be imported: a file, a folder, or an open file, looked into before it is read."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import IO, Any, BinaryIO, Final, cast

from ..errors import InvalidInputError, NotFoundError

_HEAD: Final = 65_536
_GZIP: Final = b"\x1f\x8b"


class Source:
    """A path, or a file that is open for reading (binary, or text), which is read once and left open.

    ``name`` names it to people and ``stem`` is its file name without the ending; ``folder`` says that it is one.
    Raises ``NotFoundError`` where there is nothing, ``InvalidInputError`` for what is compressed.
    """

    def __init__(self, path_or_file: str | os.PathLike[str] | IO[Any]) -> None:
        self.folder = False
        self._path: str | None = None
        self._file: IO[Any] | None = None
        if isinstance(path_or_file, (str, os.PathLike)):
            self._path = self.name = os.fspath(path_or_file)
            if not os.path.exists(self._path):
                raise NotFoundError(f"there is no file or folder {self._path}: nothing was imported")
            self.folder = os.path.isdir(self._path)
        elif hasattr(path_or_file, "read"):
            self._file = path_or_file
            self.name = str(getattr(path_or_file, "name", "the open file"))
        else:
            raise InvalidInputError(f"a path or an open file is needed, not {type(path_or_file).__name__}")
        self.stem = os.path.splitext(os.path.basename(os.path.abspath(self.name)))[0] or "import"
        self.head = b"" if self.folder else self._peek()
        if self.head.startswith(_GZIP):
            raise InvalidInputError(
                f"{self.name} is compressed by gzip: nothing was imported; gzip -dc {self.name} | siltstone import -"
            )

    @property
    def modified(self) -> datetime | None:
        """When the file was last written, if it has a path: what it holds was said by then."""
        if self._path is None:
            return None
        return datetime.fromtimestamp(int(os.stat(self._path).st_mtime), timezone.utc)

    @property
    def names(self) -> frozenset[str]:
        """The names in the folder; none for a file."""
        return frozenset(os.listdir(self._path)) if self.folder else frozenset()

    def member(self, name: str) -> Source:
        """Return a file of the folder."""
        assert self._path is not None
        return Source(os.path.join(self._path, name))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Give the block the file's bytes from their beginning."""
        if self._file is not None:
            yield cast(BinaryIO, io.BufferedReader(_Rest(self.head, self._file)))
        else:
            assert self._path is not None
            try:
                with open(self._path, "rb") as file:
                    yield file
            except IsADirectoryError as exc:
                raise InvalidInputError(f"{self.name} is a folder, where a file is needed") from exc

    def read(self) -> bytes:
        """Return all bytes of the file."""
        with self.open() as file:
            return file.read()

    def _peek(self) -> bytes:
        if self._file is not None:
            return _encoded(self._file.read(_HEAD))
        with self.open() as file:
            return file.read(_HEAD)


class _Rest(io.RawIOBase):
    """What was read of an open file already, then the rest of it, as bytes."""

    def __init__(self, head: bytes, file: IO[Any]) -> None:
        self._ready, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            self._ready = _encoded(self._file.read(_HEAD))
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def _encoded(data: str | bytes) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
