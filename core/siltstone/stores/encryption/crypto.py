r"""AES-256-GCM over what a user's files hold. No files here.

Each seal has a random nonce of 96 bits before it and its tag of 128 bits behind it. Its associated data say what kind
of thing it is and its number; the key says whose it is: every user has a random one of their own, and one who comes
back after having been removed gets another. Sealed documents stay lines: ``\n`` and ``\0`` in them are escaped, which
takes 1.2% (base64 would take 33%), and torn writes and damage are told apart as in a plain store.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import MissingDependencyError
from .cipher import Bodies, Octets

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
except ImportError as exc:
    raise MissingDependencyError.extra("cryptography", "an encrypted store", "encryption") from exc

KEY_SIZE: Final = 32
_NONCE: Final = 12
EXTRA: Final = _NONCE + 16
_GENERATION: Final = 16
_LAST: Final = 1 << 63
_AT_ONCE: Final = 1_024
"""Rows opened at once, so that few are in memory twice."""
_ESCAPE: Final = b"\x1b"


class Box:
    """Seals with the first of its keys, opens with any of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = [AESGCM(key) for key in keys]

    def seal(self, data: bytes | memoryview, bound: bytes) -> bytes:
        """Return nonce, ciphertext and tag; ``bound`` must be given again to open it."""
        nonce = os.urandom(_NONCE)
        return nonce + self._ciphers[0].encrypt(nonce, data, bound)

    def open(self, sealed: bytes | memoryview, bound: bytes) -> bytes | None:
        """Return what was sealed, or ``None`` where no key opens it."""
        if len(sealed) < EXTRA:
            return None
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], bound)
            except InvalidTag:
                continue
        return None


Held: TypeAlias = tuple[object, Box | None]
"""A user's keys, ``None`` where there are none yet, under a token of the file that they were found by."""


class UserKeys(Protocol):
    """Where a user's keys are found."""

    def renewed(self, token: object) -> Held | None:
        """Return the keys as they are now, or ``None`` if they still are those of the token."""

    def drawn(self, token: object) -> Held | None:
        """The same under the user's lock; a user without a key gets one."""

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged."""


class Sealed:
    """The cipher of an encrypted store's user. See ``cipher.Cipher``."""

    extra = EXTRA

    def __init__(self, keys: UserKeys) -> None:
        self._keys = keys
        self._held: Held = object(), None

    def ready(self) -> None:
        """Seal with the newest key; draw one for a user who has none."""
        self._held = self._keys.drawn(self._held[0]) or self._held

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged about the keys."""
        return self._keys.health()

    def _open(self, sealed: bytes | memoryview, bound: bytes) -> bytes | None:
        held = self._held
        found = None if held[1] is None else held[1].open(sealed, bound)
        if found is None:  # perhaps another process gave the user another key
            if self._held is held:
                self._held = self._keys.renewed(held[0]) or held
            if self._held is not held and self._held[1] is not None:
                return self._held[1].open(sealed, bound)
        return found

    def _seal(self, data: bytes | memoryview, bound: bytes) -> bytes:
        box = self._held[1]
        assert box is not None, "ready() comes before the first write"
        return box.seal(data, bound)

    def seal_document(self, number: int, document: bytes) -> bytes:
        """Return the sealed document, escaped."""
        return _escaped(self._seal(document, b"document" + struct.pack("<q", number)))

    def open_document(self, number: int, sealed: bytes) -> bytes | None:
        """Return the document, or ``None`` if it was not sealed under this number and the user's key."""
        return self._open(_unescaped(sealed), b"document" + struct.pack("<q", number))

    def seal_rows(self, space: int, numbers: npt.NDArray[np.int64], bodies: Bodies) -> Bodies:
        """Return sealed rows, each ``EXTRA`` bytes longer."""
        size = bodies.dtype.itemsize
        data = memoryview(bodies.tobytes())
        sealed = [
            self._seal(data[at * size : (at + 1) * size], _row(space, number))
            for at, number in enumerate(numbers.tolist())
        ]
        return np.frombuffer(b"".join(sealed), f"V{size + EXTRA}")

    def open_rows(self, space: int, numbers: npt.NDArray[np.int64], bodies: Bodies) -> tuple[Bodies, npt.NDArray[Any]]:
        """Return opened rows, zeros where they are not whole, and which are."""
        size = bodies.dtype.itemsize
        blank = bytes(size - EXTRA)
        out: Bodies = np.empty(len(bodies), f"V{size - EXTRA}")
        good = np.empty(len(bodies), np.bool_)
        for first in range(0, len(bodies), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            data = memoryview(bodies[some].tobytes())
            opened = [
                self._open(data[at * size : (at + 1) * size], _row(space, number))
                for at, number in enumerate(numbers[some].tolist())
            ]
            good[some] = [row is not None for row in opened]
            out[some] = np.frombuffer(b"".join(row or blank for row in opened), out.dtype)
        return out, good

    def seal_pieces(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a random name of the whole, then the pieces, bound to it, to their order, and the last as the last."""
        generation = os.urandom(_GENERATION)
        yield generation
        held: bytes | None = None
        number = 0
        for piece in pieces:
            if held is not None:
                yield self._seal(held, _piece(generation, number))
                number += 1
            held = piece
        if held is not None:
            yield self._seal(held, _piece(generation, number | _LAST))

    def open_pieces(self, data: Octets, size: int) -> Octets | None:
        """Return the opened pieces in memory of their own, or ``None`` unless all are there, whole and in order."""
        generation = bytes(data[:_GENERATION])
        sealed: Any = data[_GENERATION:]
        count = -(-len(sealed) // (size + EXTRA))
        opened: Octets = np.empty(max(0, len(sealed) - count * EXTRA), np.uint8)
        for number in range(count):
            last = _LAST if number == count - 1 else 0
            some = sealed[number * (size + EXTRA) : (number + 1) * (size + EXTRA)]
            piece = self._open(some, _piece(generation, number | last))
            if piece is None:
                return None
            opened[number * size : number * size + len(piece)] = np.frombuffer(piece, np.uint8)
        return opened if count else None


def stretched(passphrase: bytes, *, salt: bytes, n: int, r: int, p: int) -> bytes:
    """Return the master key of a passphrase by scrypt (RFC 7914); ``128 * n * r`` bytes of memory."""
    return Scrypt(salt=salt, length=KEY_SIZE, n=n, r=r, p=p).derive(passphrase)


def _row(space: int, number: int) -> bytes:
    return b"vector" + struct.pack("<qq", space, number)


def _piece(generation: bytes, number: int) -> bytes:
    return b"piece" + generation + struct.pack("<Q", number)


def _escaped(data: bytes) -> bytes:
    return data.replace(_ESCAPE, b"\x1b1").replace(b"\n", b"\x1b2").replace(b"\0", b"\x1b3")


def _unescaped(data: bytes) -> bytes:
    if _ESCAPE not in data:
        return data
    return data.replace(b"\x1b3", b"\0").replace(b"\x1b2", b"\n").replace(b"\x1b1", _ESCAPE)
