"""What the files of a user ask of whoever encrypts them, and the answer of a plain store: every byte as it is.

``crypto.Sealed`` is the other answer. A file module calls its cipher and does not know which of the two it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import ConfigurationError, DecryptionError

Bodies: TypeAlias = npt.NDArray[np.void]
"""Rows of bytes, all of one length, ``(n,)``."""
Octets: TypeAlias = npt.NDArray[np.uint8]


class Cipher(Protocol):
    """Seals and opens what one user's files hold. Opening gives ``None``, or a row marked bad, for what is not whole.

    What is sealed is bound to what it is and to its number: nothing opens in another place, or as another user's.
    """

    extra: int
    """Bytes that sealing adds to a row or a piece."""

    def ready(self) -> None:
        """Under the user's lock: seal with the user's newest key from now on; draw one for a user who has none."""

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged about the user's keys."""

    def seal_document(self, number: int, document: bytes) -> bytes:
        r"""Return what a frame of this number holds; no ``\n`` and no ``\0`` where the document has none."""

    def open_document(self, number: int, sealed: bytes) -> bytes | None:
        """Return the document of a frame."""

    def seal_rows(self, space: int, numbers: npt.NDArray[np.int64], bodies: Bodies) -> Bodies:
        """Return rows of vectors of an embedding space, each bound to the number of its frame."""

    def open_rows(self, space: int, numbers: npt.NDArray[np.int64], bodies: Bodies) -> tuple[Bodies, npt.NDArray[Any]]:
        """Return rows as they were before they were sealed, and which of them are whole."""

    def seal_pieces(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield what a file of pieces holds; all pieces but the last have one length."""

    def open_pieces(self, data: Octets, size: int) -> Octets | None:
        """Return what the pieces of ``size`` bytes were, one behind the other."""


class Plain:
    """The cipher of a store without a key."""

    extra = 0

    def ready(self) -> None:
        """Nothing to do."""

    def health(self) -> tuple[str, ...]:
        """There are no keys."""
        return ()

    def seal_document(self, number: int, document: bytes) -> bytes:
        """Return the document."""
        return document

    def open_document(self, number: int, sealed: bytes) -> bytes | None:
        """Return the document."""
        return sealed

    def seal_rows(self, space: int, numbers: npt.NDArray[np.int64], bodies: Bodies) -> Bodies:
        """Return the rows."""
        return bodies

    def open_rows(self, space: int, numbers: npt.NDArray[np.int64], bodies: Bodies) -> tuple[Bodies, npt.NDArray[Any]]:
        """Return the rows, not copied."""
        return bodies, np.ones(len(bodies), np.bool_)

    def seal_pieces(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces."""
        yield from pieces

    def open_pieces(self, data: Octets, size: int) -> Octets | None:
        """Return the bytes, not copied: a mapped file stays mapped."""
        return data


PLAIN: Final = Plain()


class Keys(Protocol):
    """The keys of a whole store."""

    store: Cipher
    """The cipher of what belongs to no user."""

    def hidden(self, secret: bytes) -> dict[str, str]:
        """Return how ``STORE`` names the secret of its hashes."""

    def secret(self, document: Mapping[str, Any]) -> bytes:
        """Return the secret that ``STORE`` names."""

    def cipher(self, folder: str, *, removed: bool = False) -> Cipher:
        """Return the cipher of a user's folder; of one that was ``removed``, wherever it lies."""

    def turn(self, folder: str) -> bool:
        """Under the user's lock: give them a fresh key where one is due; true while files may be under an older one."""

    def settle(self, folder: str) -> None:
        """Under the user's lock: destroy all keys of a user but the newest."""

    def destroy(self, folder: str) -> None:
        """Destroy the key of a user who is being removed: no copy of their files can be read from now on."""

    def is_shredded(self, folder: str) -> bool:
        """Return whether all keys that a folder names were destroyed: its user was forgotten, and it is noise."""

    def check(self, root: str, key: bytes | str | None) -> None:
        """Raise as opening the store with this key would."""

    def health(self) -> tuple[str, ...]:
        """Return what was found damaged."""


class NoKeys:
    """The keys of a plain store."""

    store: Cipher = PLAIN

    def hidden(self, secret: bytes) -> dict[str, str]:
        """Return the secret as it is."""
        return {"secret": secret.hex()}

    def secret(self, document: Mapping[str, Any]) -> bytes:
        """Return the secret as it is."""
        return bytes.fromhex(document["secret"])

    def cipher(self, folder: str, *, removed: bool = False) -> Cipher:
        """Return the cipher that changes nothing."""
        return PLAIN

    def turn(self, folder: str) -> bool:
        """There is none."""
        return False

    def settle(self, folder: str) -> None:
        """There is none."""

    def destroy(self, folder: str) -> None:
        """There is none."""

    def is_shredded(self, folder: str) -> bool:
        """There is none."""
        return False

    def check(self, root: str, key: bytes | str | None) -> None:
        """Raise ``ConfigurationError`` where there is a key."""
        if key is not None:
            raise superfluous(root)

    def health(self) -> tuple[str, ...]:
        """There are no keys."""
        return ()


NO_KEYS: Final = NoKeys()


def superfluous(root: str) -> ConfigurationError:
    """Return the error of a key for a plain store."""
    return ConfigurationError(
        f"{root} is not encrypted, and a key was given (key=, SILTSTONE_KEY or --key-file): nothing was changed; "
        "open it without one, or move it into a new store with the key: siltstone migrate, and --to-key-file"
    )


def not_encrypted(location: str) -> ConfigurationError:
    """Return the error of other keys for a plain store."""
    return ConfigurationError(
        f"{location} is not encrypted: nothing was changed; siltstone migrate into a new store with a key "
        "(--to-key-file) encrypts it"
    )


def missing(root: str) -> DecryptionError:
    """Return the error of an encrypted store that is opened without a key."""
    return DecryptionError(
        f"{root} is encrypted, and no key was given; nothing was changed: pass key= (--key-file), or set SILTSTONE_KEY"
    )
