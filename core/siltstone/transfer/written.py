"""Writing a file of the user's own: whole or not at all, readable by its owner alone, and outside the store."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final, TypeAlias

from ..errors import ConfigurationError, InvalidInputError
from ..stores.files import disk

_BUFFER: Final = 1 << 20

Write: TypeAlias = Callable[[bytes], object]


@contextmanager
def written(target: str | os.PathLike[str] | IO[Any], *, inside: str | None) -> Iterator[Write]:
    """Give the block a function that writes bytes to the target, whole or not at all where that is a path.

    ``inside``: a store's folder, in which it may not lie, where one is concerned.
    """
    if not isinstance(target, (str, os.PathLike)):
        if not hasattr(target, "write"):
            raise InvalidInputError(f"a path or an open file is needed, not {type(target).__name__}")
        yield _into(target)
        return
    path = os.path.realpath(os.fspath(target))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ConfigurationError(f"{path} is no regular file: nothing was written; pass it opened for writing")
    if inside is not None:
        check_outside(path, inside)
    half_done = f"{path}.{secrets.token_hex(4)}.part"
    try:
        file = _File(half_done)
    except FileNotFoundError as exc:
        raise ConfigurationError(f"there is no folder {os.path.dirname(path)}: nothing was written") from exc
    try:
        yield file.write
        file.finish()
        disk.rename(half_done, path)
    except BaseException:
        disk.unlink(half_done)
        raise


def check_outside(path: str, inside: str) -> None:
    """Raise ``ConfigurationError`` for a path in the folder ``inside``, where that is one."""
    path, inside = os.path.realpath(path), os.path.realpath(inside)
    if os.path.isdir(inside) and os.path.commonpath([path, inside]) == inside:
        raise ConfigurationError(
            f"{path} lies in the store's own folder, which forget() must be able to vouch for: nothing was written; "
            "choose a place outside"
        )


def write_all(fd: int, data: bytes | bytearray) -> None:
    """Write data to an open file, all of it."""
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def _into(file: IO[Any]) -> Write:
    if hasattr(file, "encoding"):  # a text file
        return lambda data: file.write(data.decode())
    return file.write


class _File:
    """A file readable by its owner alone, written from its beginning."""

    def __init__(self, path: str) -> None:
        self._file = disk.File(path, write=True, create=True, exclusive=True)
        self._end = 0
        self._buffer = bytearray()

    def write(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) >= _BUFFER:
            self._flush()

    def finish(self) -> None:
        self._flush()
        self._file.sync()
        self._file.close()

    def _flush(self) -> None:
        self._file.write(bytes(self._buffer), self._end)
        self._end += len(self._buffer)
        self._buffer.clear()
