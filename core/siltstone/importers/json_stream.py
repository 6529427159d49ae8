"""JSON of any size, read piece by piece: memory is that of one piece, whatever the file's.

Containers that the caller wants opened are walked through; each value inside that is not opened is a piece. Where one
value ends is found without understanding it, so that a piece that is no JSON spoils no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, TypeAlias

import orjson

from ..errors import InvalidInputError
from ..text.wellformed import well_formed

LONGEST: Final = 256 << 20
"""Bytes of one piece; a longer one would not fit into memory when it is read."""
TOO_LONG: Final = f"it is longer than {LONGEST >> 20} MiB"

Path: TypeAlias = tuple[str | int, ...]
Opens: TypeAlias = Callable[[Path, bytes], bool]
"""Says of a container, by its path and its bracket (``b"["`` or ``b"{"``), whether to walk through it."""

_CHUNK: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{}]', re.S)
_SCALAR: Final = re.compile(rb"[^\s,:\[\]{}\"]+")
_SPACE: Final = re.compile(rb"\s*")


@dataclass(frozen=True)
class Piece:
    """A value as it stands in the file, and where; without ``raw``, what is wrong from there on, in ``problem``."""

    path: Path
    raw: bytes | None
    problem: str = ""


def loads(raw: bytes | str) -> Any:
    """Return the value of a JSON text, NaN and infinities as ``None``, lone surrogates replaced.

    Raises ``InvalidInputError`` for what is no JSON.
    """
    try:
        return orjson.loads(raw)
    except ValueError:
        pass  # it is stricter than the programs whose files these are
    try:
        return well_formed(json.loads(raw, parse_constant=lambda _: None))
    except (ValueError, RecursionError) as exc:
        raise InvalidInputError(f"it is no JSON ({exc})") from exc


def pieces(file: BinaryIO, opens: Opens) -> Iterator[Piece]:
    """Yield the pieces of a file, which holds one JSON value or several in a row; the last may tell of damage.

    O(bytes), in memory that of the longest piece.
    """
    scan = _Scanner(file)
    try:
        while scan.peek():
            yield from _walk(scan, (), opens)
    except _DamagedError as exc:
        yield Piece((), None, str(exc))


def _walk(scan: _Scanner, path: Path, opens: Opens) -> Iterator[Piece]:
    bracket = scan.peek()
    if bracket not in (b"[", b"{") or not opens(path, bracket):
        raw = scan.value()
        yield Piece(path, raw, "" if raw is not None else TOO_LONG)
        return
    scan.take(bracket)
    end = b"]" if bracket == b"[" else b"}"
    number = 0
    while scan.peek() != end:
        if number:
            scan.take(b",")
        key: str | int = number
        if bracket == b"{":
            key = scan.key()
        yield from _walk(scan, (*path, key), opens)
        number += 1
    scan.take(end)


class _DamagedError(Exception):
    """The file cannot be followed any further."""


class _Scanner:
    """Steps through a file from one value to the next."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._buffer = file.read(_CHUNK)
        self._at = len(_BOM) if self._buffer.startswith(_BOM) else 0
        self._passed = 0

    def peek(self) -> bytes:
        """Return the next byte that is no white space, empty at the end of the file."""
        while True:
            match = _SPACE.match(self._buffer, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            if not self._more():
                return b""

    def take(self, mark: bytes) -> None:
        """Step over a mark, which must be the next."""
        found = self.peek()
        if found != mark:
            raise self._damaged(f"{mark.decode()!r} is missing")
        self._at += 1

    def key(self) -> str:
        """Step over a name and its colon; return the name."""
        if self.peek() != b'"':
            raise self._damaged("a name is missing")
        raw = self.value()
        self.take(b":")
        return str(loads(raw or b'""'))

    def value(self) -> bytes | None:
        """Step over a value; return its bytes, ``None`` where it is longer than ``LONGEST``."""
        first = self.peek()
        if first in (b"[", b"{"):
            return self._container()
        pattern = _STRING if first == b'"' else _SCALAR
        while (match := pattern.match(self._buffer, self._at)) is None or match.end() == len(self._buffer):
            if len(self._buffer) - self._at > LONGEST:
                raise self._damaged(f"a text is longer than {LONGEST >> 20} MiB, or has no end")
            if not self._more():
                break
        if match is None:
            raise self._damaged("no value" if first else "")
        self._at = match.end()
        return match.group()

    def _container(self) -> bytes | None:
        depth, offset, too_long = 0, 0, False
        while True:
            for match in _TOKEN.finditer(self._buffer, self._at + offset):
                token = match.group()
                if token == b'"':  # of a text that goes on behind the buffer
                    offset = match.start() - self._at
                    break
                offset = match.end() - self._at
                if token in b"[{":
                    depth += 1
                elif token in b"]}":
                    depth -= 1
                    if not depth:
                        start, self._at = self._at, match.end()
                        return None if too_long else self._buffer[start : self._at]
            else:
                offset = len(self._buffer) - self._at
            if len(self._buffer) - self._at > LONGEST:
                if not offset:
                    raise self._damaged(f"a text is longer than {LONGEST >> 20} MiB, or has no end")
                too_long = True
                self._at, offset = self._at + offset, 0
            if not self._more():
                raise self._damaged("")

    def _more(self) -> bool:
        """Read on, as much again as is kept, so that a long value costs its length; return whether there was more."""
        kept = self._buffer[self._at :]
        if not (new := self._file.read(max(_CHUNK, len(kept)))):
            return False
        self._passed += self._at
        self._buffer, self._at = kept + new, 0
        return True

    def _damaged(self, what: str) -> _DamagedError:
        at = f"at byte {self._passed + self._at:,}"
        if self._at >= len(self._buffer) or not what:
            return _DamagedError(f"the file was cut off in the middle of it, {at}: what stands before is read")
        return _DamagedError(f"it is no JSON from there on ({what} {at}): what stands before is read")
