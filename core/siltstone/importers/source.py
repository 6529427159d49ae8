"""What is to be imported: a file, a folder, a zip archive or an open file, looked into before it is read."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import cached_property
from typing import IO, Any, BinaryIO, Final, cast

from ..errors import InvalidInputError, NotFoundError
from .archive import MAGIC, Archive, DamagedError
from .json_peek import peek

_HEAD: Final = 65_536
_GZIP: Final = b"\x1f\x8b"
_MARKS: Final = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""How files begin that Windows has written, and the encodings that these marks stand for."""


def name_of(file: IO[Any]) -> str | None:
    """Return the name of an open file; ``None`` for one that has none, as a pipe: its number, or ``<stdin>``."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) and name and not name.startswith("<") else None


class Source:
    """A path, or a file that is open for reading (binary, or text), which is read once and left open.

    An open file without a name is known by how it begins: another one is not taken for it, the same one sent again is.
    ``name`` names it to people and ``stem`` is its file name without the ending; ``folder`` says that it is one, or an
    archive. ``within`` is the stem of the folder or archive that it is part of. What begins with a mark of UTF-16 or
    UTF-8 is given as UTF-8 without one.
    Raises ``NotFoundError`` where there is nothing, ``InvalidInputError`` for what is compressed otherwise.
    """

    def __init__(self, path_or_file: str | os.PathLike[str] | IO[Any]) -> None:
        self._path: str | None = None
        self._file: IO[Any] | None = None
        self._archive: Archive | None = None
        self._member: str | None = None
        self._reading: IO[Any] | None = None
        self._known_by: str | None = None
        self.within: str | None = None
        if isinstance(path_or_file, (str, os.PathLike)):
            self._path = self.name = os.fspath(path_or_file)
            if not os.path.exists(self._path):
                raise NotFoundError(f"there is no file or folder {self._path}: nothing was imported")
        elif hasattr(path_or_file, "read"):
            self._file = path_or_file
            self.name = str(getattr(path_or_file, "name", None) or "the open file")
        else:
            raise InvalidInputError(f"a path or an open file is needed, not {type(path_or_file).__name__}")
        self.folder = self._path is not None and os.path.isdir(self._path)
        self._look()

    @property
    def stem(self) -> str:
        """The file's name without its ending; where it has none, what it is known by."""
        if self._known_by is not None and self._member is None:
            return self._known_by
        return os.path.splitext(os.path.basename(os.path.abspath(self.name)))[0] or "import"

    @property
    def place(self) -> str:
        """Where it is, so that no other file is taken for it: its whole path, or what an open file is known by."""
        if self._path is not None:
            path = os.path.realpath(self._path)
        elif self._known_by is not None:
            path = self._known_by
        else:
            return self.name
        return path if self._member is None else f"{path}/{self._member}"

    @property
    def modified(self) -> datetime | None:
        """When the file was last written, if it has a path: what it holds was said by then."""
        if self._path is None:
            return None
        return datetime.fromtimestamp(int(os.stat(self._path).st_mtime), timezone.utc)

    @property
    def size(self) -> int | None:
        """The bytes of the file, where they are known."""
        if self._archive is not None and self._member is not None:
            return self._archive.size(self._member)
        return None if self._path is None or self.folder else os.stat(self._path).st_size

    @property
    def position(self) -> int:
        """How many bytes have been read of the file."""
        return 0 if self._reading is None or self._reading.closed else self._reading.tell()

    @cached_property
    def sample(self) -> Any:
        """The beginning of the file as a JSON value, as far as it goes; ``None`` where it is no JSON."""
        return peek(self.head)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names in the folder, or in the archive with their folders; none for a file."""
        if self._archive is not None:
            return self._archive.names if self._member is None else frozenset()
        return frozenset(os.listdir(self._path)) if self.folder else frozenset()

    def member(self, name: str) -> Source:
        """Return a file of the folder or archive, by its name there."""
        assert self._path is not None or self._archive is not None
        if self._archive is None:
            made = Source(os.path.join(cast(str, self._path), name))
        else:
            made = object.__new__(Source)
            made._path, made._file, made._reading = self._path, self._file, None
            made._archive, made._member, made._known_by = self._archive, name, self._known_by
            made.name, made.folder = f"{self.name}/{name}", False
            made._look()
        made.within = self.stem
        return made

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Give the block the file's bytes from their beginning."""
        with self._opened() as file:
            marked = self._encoding
            yield file if marked is None else cast(BinaryIO, io.BufferedReader(_Recoded(file, marked)))

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Give the block the file's bytes as they are."""
        if self._archive is not None and self._member is not None:
            with self._archive.open(self._member) as file, self._watched(file):
                yield cast(BinaryIO, file)
        elif self._file is not None:
            yield cast(BinaryIO, io.BufferedReader(_Rest(self._start, self._file)))
        elif self.folder:
            raise InvalidInputError(f"{self.name} is a folder, where a file is needed")
        else:
            with open(cast(str, self._path), "rb") as file, self._watched(file):
                yield file

    def read(self) -> bytes:
        """Return all bytes of the file."""
        with self.open() as file:
            return file.read()

    @property
    def is_archive(self) -> bool:
        """Whether it is a zip archive."""
        return self._archive is not None and self._member is None

    @property
    def is_read_once(self) -> bool:
        """Whether it can be opened once only."""
        return self._file is not None and self._member is None

    @contextmanager
    def _watched(self, file: IO[Any]) -> Iterator[None]:
        self._reading = file
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, EOFError) as exc:
            raise DamagedError(f"{self.name} is damaged from there on ({exc}): what stands before is read") from exc

    def _look(self) -> None:
        """Look at the beginning of the file."""
        self._start = b"" if self.folder else self._peek()
        self._encoding = next((name for mark, name in _MARKS.items() if self._start.startswith(mark)), None)
        self.head = self._start
        if self._encoding is not None:
            self.head = _recoded(codecs.getincrementaldecoder(self._encoding)("replace").decode(self._start))
        if self.head.startswith(_GZIP):
            raise InvalidInputError(
                f"{self.name} is compressed by gzip: nothing was imported; gzip -dc {self.name} | siltstone import -"
            )
        if self._member is None and self.head.startswith(MAGIC):
            self._archive, self.folder, self.head = self._unpacked(), True, b""

    def _unpacked(self) -> Archive:
        if self._path is not None:
            return Archive(self._path, self.name)
        assert self._file is not None
        try:
            self._file.seek(0)
        except (OSError, AttributeError, io.UnsupportedOperation) as exc:
            raise InvalidInputError(
                f"{self.name} is a zip archive, which cannot be read as it comes: nothing was imported; pass its path"
            ) from exc
        return Archive(self._file, self.name)

    def _peek(self) -> bytes:
        if self._file is not None and self._member is None:
            return self._begun(self._file)
        with self._opened() as file:
            return file.read(_HEAD)

    def _begun(self, file: IO[Any]) -> bytes:
        """Return the beginning of an open file, whole, in however many pieces it comes."""
        head = b""
        while len(head) < _HEAD and (piece := _encoded(file.read(_HEAD - len(head)))):
            head += piece
        if name_of(file) is None:
            self._known_by = f"stream-{hashlib.sha256(head).hexdigest()[:16]}"
        return head


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


class _Recoded(io.RawIOBase):
    """A file of another encoding as UTF-8; what is no character becomes U+FFFD."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file, self._ready = file, b""
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._file.read(_HEAD)
            self._ready = _recoded(self._decoder.decode(data, final=not data))
            if not data:
                break
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def _recoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _encoded(data: str | bytes) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
