"""What the columns of an encrypted store hold. The keys lie in a folder outside the database, see ``encryption.ring``.

Each user has a key of their own, by its id in ``siltstone_users``. Under keys made of it:

* documents, vectors, and the cells that no condition needs (speaker, role, importance and more) are sealed with
  AES-256-GCM, each bound to what it is and to the number of its row;
* ids and sessions become names by AES-SIV (RFC 5297): equal for equal texts, so that they can be looked up;
* terms become keyed hashes: the engine counts and finds them, and does not know what they are.

Users' own names are made by AES-SIV under a key of the store, so that those of whom nothing is left can still be told.
"""

from __future__ import annotations

import os
import struct
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from ...errors import StoreCorruptedError
from ...forks import cached
from ...index.vectors import Halves
from ...protocols import Floats, Ints
from ..encryption.crypto import KEY_SIZE, Box
from ..encryption.ring import KeyRing
from .dialect import Condition, Database, Row, Transaction
from .meta import as_sealed, sealed_parts
from .vector_cache import OfUser, Vectors
from .veil import term_key

NAMES_KEY: Final = 64
"""Bytes of the key by which users are named."""
SECRET: Final = 16
"""Bytes of the secret of a store's hashes, which stands before the key of names."""
_CELLS: Final = struct.Struct("<bqfBq")
_OF_CELLS: Final = ("role", "valid_until", "importance", "traits", "text_hash")
"""What is packed, in this order, before the speaker."""
_BLOCK: Final = 16
"""Names are padded to a multiple of so many bytes, so that they do not tell their length."""
_MOST_KEYS: Final = 4_096
"""Keys of users that are kept in memory."""


class Names:
    """Texts as names, and back, under one key."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    def name(self, text: str) -> str:
        """Return the name of a text; ``""`` for ``""``."""
        if not text:
            return ""
        data = text.encode("utf-8", "surrogatepass") + b"\x80"
        padded = data.ljust(-(-len(data) // _BLOCK) * _BLOCK, b"\0")
        return urlsafe_b64encode(self._cipher.encrypt(padded, None)).decode().rstrip("=")

    def text(self, name: str) -> str | None:
        """Return the text of a name, or ``None`` where the key is not of the name."""
        if not name:
            return ""
        try:
            data = self._cipher.decrypt(urlsafe_b64decode(name + "=" * (-len(name) % 4)), None)
        except (InvalidTag, ValueError):
            return None
        return data.rstrip(b"\0")[:-1].decode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class UserKey:
    """The key of a user, by its id; ``fresh``: it is on no disk yet."""

    id: str
    key: bytes = field(repr=False)
    fresh: bool = False

    @classmethod
    def drawn(cls) -> UserKey:
        """Return a new one."""
        return cls(os.urandom(16).hex(), os.urandom(KEY_SIZE), fresh=True)

    @cached
    def box(self) -> Box:
        """What seals."""
        return Box([self.key])

    @cached
    def names(self) -> Names:
        """What names ids and sessions."""
        return Names(blake2b(b"names", key=self.key, digest_size=64).digest())

    @cached
    def of_terms(self) -> bytes:
        """What keys the hashes of terms."""
        return blake2b(b"terms", key=self.key, digest_size=32).digest()


class SealedVeils:
    """The users of an encrypted store."""

    encrypted = True

    def __init__(self, database: Database, ring: KeyRing, held: str) -> None:
        """``held``: the secret as its column has it. ``StoreCorruptedError`` where the keys are another store's."""
        self._database, self.ring = database, ring
        self.id, _ = sealed_parts(held)
        self._names_key = self._opened(held)[SECRET:]
        self._users = Names(self._names_key)
        self._known: dict[str, UserKey] = {}
        self.vectors = Vectors()

    # --- users

    def of(self, transaction: Transaction, user_id: str) -> SealedVeil:
        """Return the veil of a user; their key is looked up when it is needed."""
        return SealedVeil(self, self._database, transaction, user_id)

    def under_fresh_key(self, transaction: Transaction, user_id: str) -> SealedVeil:
        """Return the veil of a user who gets another key."""
        return SealedVeil(self, self._database, transaction, user_id, UserKey.drawn())

    def user(self, user_id: str) -> str:
        """Return the name of a user."""
        return self._users.name(user_id)

    def user_id(self, user: str) -> str:
        """Return whose name it is."""
        found = self._users.text(user)
        if found is None:
            raise StoreCorruptedError(
                f"{self._database.location} holds rows of {user!r}, who is no user of it; nothing was changed"
            )
        return found

    def key(self, id: str, user: str) -> UserKey:
        """Return the key of a user by its id. ``StoreCorruptedError`` where it is not there."""
        known = self._known.get(id)
        if known is not None:
            return known
        ring, location = self.ring, self._database.location
        try:
            key, _ = ring.find(id, user)
        except FileNotFoundError:
            if ring.are_shredded([id]):
                raise StoreCorruptedError(
                    f"{location} holds rows of a user who was forgotten for good: their key was destroyed, and nobody "
                    "can read them; nothing was changed: forget everything of this user again, and they go"
                ) from None
            raise StoreCorruptedError(
                f"the key of a user of {location} is not in {ring.folder} ({id[:2]}/{id}): it was lost, or that folder "
                "is older than the database; nothing was changed, the other users are safe: put the newer folder back"
            ) from None
        if len(self._known) >= _MOST_KEYS:
            self._known.clear()
        self._known[id] = found = UserKey(id, key)
        return found

    def keep(self, key: UserKey, user: str) -> None:
        """Write a fresh key; on disk when it returns."""
        with self.ring.locked():
            self.ring.keep(key.id, key.key, user)

    def destroy(self, key_ids: Iterable[str]) -> None:
        """Destroy keys of users, for good."""
        for id in (ids := list(key_ids)):
            self._known.pop(id, None)
            self.vectors.drop(id)
        self.ring.shred(ids)

    def grown(self, user_id: str, count: int, dim: int) -> None:
        """Nothing: sealed vectors have no index."""

    # --- what belongs to no user

    def line(self, key: int, line: bytes) -> str:
        """Return a sealed line of the audit."""
        return b64encode(self.ring.seal(line, b"line" + struct.pack("<q", key))).decode()

    def opened_line(self, key: int, found: str) -> bytes:
        """Return the line."""
        return self._checked(self.ring.open(b64decode(found), b"line" + struct.pack("<q", key)), "a line of the audit")

    def page(self, name: str, page: str) -> str:
        """Return a sealed page."""
        return b64encode(self.ring.seal(page.encode(), b"page " + name.encode())).decode()

    def opened_page(self, name: str, found: str) -> str:
        """Return the page."""
        return self._checked(self.ring.open(b64decode(found), b"page " + name.encode()), f"the page {name}").decode()

    def secret(self, secret: bytes) -> str:
        """Return the secret, and the key of names, sealed by the store key."""
        return sealed_secret(self.ring, self.id, secret + self._names_key)

    def opened_secret(self, found: str) -> bytes:
        """Return the secret."""
        return self._opened(found)[:SECRET]

    def _opened(self, held: str) -> bytes:
        id, sealed = sealed_parts(held)
        found = self.ring.open(bytes.fromhex(sealed), b"secret " + id.encode())
        if found is None:
            raise StoreCorruptedError(
                f"{self.ring.folder} has the keys of another store than {self._database.location}; nothing was "
                "changed: name its own folder, or put that back"
            )
        return found

    def _checked(self, found: bytes | None, what: str) -> bytes:
        if found is None:
            raise StoreCorruptedError(
                f"{what} in {self._database.location} does not check: it was damaged, or put there from elsewhere; "
                "nothing was changed: restore the database from a backup"
            )
        return found


class SealedVeil:
    """A user of an encrypted store, in one transaction."""

    vectors = "siltstone_sealed"

    def __init__(
        self,
        veils: SealedVeils,
        database: Database,
        transaction: Transaction,
        user_id: str,
        key: UserKey | None = None,
    ) -> None:
        self._veils, self._database, self._transaction = veils, database, transaction
        self.user_id, self.user = user_id, veils.user(user_id)
        self._key = key

    def _present(self) -> UserKey:
        """Return the user's key; one who has none gets one that is kept when what is sealed with it is written."""
        if self._key is None:
            found = self._transaction.rows("SELECT key_id FROM siltstone_users WHERE user_id = ?", self.user)
            id = str(found[0][0]) if found else ""
            self._key = self._veils.key(id, self.user) if id else UserKey.drawn()
        return self._key

    def key_id(self, present: str) -> str:
        """Return by which key what was written is sealed; it is on disk when this returns."""
        if self._key is None:  # nothing was
            return present
        if self._key.fresh:
            self._veils.keep(self._key, self.user)
        return self._key.id

    def name(self, text: str) -> str:
        """Return the name of an id or a session."""
        return self._present().names.name(text)

    def text(self, name: str) -> str:
        """Return what it is the name of."""
        found = self._present().names.text(name)
        if found is None:
            raise self._damaged("a name")
        return found

    def term(self, term: str) -> int:
        """Return the keyed hash of a term."""
        return term_key(term, self._present().of_terms)

    def hashing(self) -> Callable[[str], int]:
        """Return the keyed hash."""
        return partial(term_key, key=self._present().of_terms, signed=False)

    def ready(self) -> None:
        """Find the key."""
        self._present()

    def told(self, key_id: str) -> None:
        """Look the key up."""
        self._key = self._veils.key(key_id, self.user) if key_id else UserKey.drawn()

    def document(self, number: int, document: bytes) -> Any:
        """Return the sealed document."""
        return self._sealed(b"document", number, document)

    def opened(self, number: int, found: Any) -> bytes:
        """Return the document."""
        return self._open(b"document", number, found)

    def row(self, number: int, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row without what no condition needs, which is sealed."""
        importance = row["importance"]
        cells = [int(row["role"]), int(row["valid_until"]), np.nan if importance is None else importance]
        packed = _CELLS.pack(*cells, int(row["traits"]), int(row["text_hash"]))
        speaker = row["speaker"]
        packed += b"" if speaker is None else b"s" + speaker.encode("utf-8", "surrogatepass")
        blank = {"role": 0, "valid_until": 0, "importance": None, "traits": 0, "text_hash": 0, "speaker": None}
        return {**row, **blank, "sealed": self.sealed_cells(number, packed)}

    def sealed_cells(self, number: int, cells: bytes) -> Any:
        """Return what no condition needs of a row, sealed."""
        return self._sealed(b"cells", number, cells)

    def opened_cells(self, number: int, found: Any) -> bytes:
        """Return it opened."""
        return self._open(b"cells", number, found)

    def shown(self, columns: Sequence[str], rows: list[Row]) -> list[Row]:
        """Return rows with the cells that were sealed."""
        at = {name: columns.index(name) for name in ("number", "sealed", "speaker", *_OF_CELLS)}
        found = []
        for row in rows:
            packed = self.opened_cells(int(row[at["number"]]), row[at["sealed"]])
            shown = list(row)
            for name, value in zip(_OF_CELLS, _CELLS.unpack_from(packed), strict=True):
                shown[at[name]] = value
            speaker = packed[_CELLS.size :]
            shown[at["speaker"]] = speaker[1:].decode("utf-8", "surrogatepass") if speaker else None
            found.append(tuple(shown))
        return found

    # --- vectors

    def vector(self, number: int, half: Halves) -> Any:
        """Return the sealed vector."""
        return self._sealed(b"vector", number, half.tobytes())

    def halves(self, numbers: Sequence[int], values: Sequence[Any]) -> Halves:
        """Return vectors, opened."""
        opened = [self._open(b"vector", int(number), value) for number, value in zip(numbers, values, strict=True)]
        return np.frombuffer(b"".join(opened), np.float16).reshape(len(opened), -1)

    def moved(self, vectors: Mapping[int, int]) -> None:
        """Seal vectors for the rows that take them over."""
        part, parameter = self._database.among("number", list(vectors))
        found = self._transaction.rows(
            f"SELECT number, vector FROM siltstone_sealed WHERE user_id = ? AND {part}", self.user, parameter
        )
        self._transaction.many(
            "UPDATE siltstone_sealed SET number = ?, vector = ? WHERE user_id = ? AND number = ?",
            [
                (after, self._sealed(b"vector", after, self._open(b"vector", before, value)), self.user, before)
                for before, value in ((int(number), value) for number, value in found)
                for after in (vectors[before],)
            ],
        )

    def nearest(self, query: Floats, condition: Condition, depth: int, *, count: int, revision: str) -> list[int]:
        """Return the nearest rows. O(the user's vectors): all are multiplied here, and read where that is not kept."""
        part, parameters = condition
        found = self._transaction.rows(f"SELECT r.number FROM siltstone_rows r WHERE {part}", *parameters)
        meant = np.array([number for (number,) in found], np.int64)
        return self._read().nearest(query, meant, depth, count=count, revision=revision)

    def products(self, query: Floats, numbers: Ints, *, revision: str) -> Floats:
        """Return the products of rows' vectors with ``query``."""
        return self._read().products(query, numbers, revision=revision)

    def _read(self) -> OfUser:
        return self._veils.vectors.of(self._present().id, self._transaction, self._database, self.user, self.halves)

    # --- sealing

    def _sealed(self, what: bytes, number: int, data: bytes) -> Any:
        return self._database.blob(self._present().box.seal(data, what + struct.pack("<q", number)))

    def _open(self, what: bytes, number: int, found: Any) -> bytes:
        opened = None if found is None else self._present().box.open(bytes(found), what + struct.pack("<q", number))
        if opened is None:
            raise self._damaged(f"a {what.decode()}")
        return opened

    def _damaged(self, what: str) -> StoreCorruptedError:
        return StoreCorruptedError(
            f"{what} of a user of {self._database.location} does not check: it was damaged, or put there from "
            "elsewhere; nothing was changed: restore the database from a backup"
        )


def sealed_secret(ring: KeyRing, id: str, secret: bytes) -> str:
    """Return the secret of a store, and its key of names, as their column has them."""
    return as_sealed(id, ring.seal(secret, b"secret " + id.encode()).hex())
