"""What stands between what a user has and the columns that hold it, and the answer of a plain store: as it is.

``sealed.SealedVeils`` is the other answer. A statement takes its parameters from a veil, and does not know which of the
two it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Protocol

from ...index.postings import term_hash
from ...index.vectors import Halves
from ...protocols import Floats, Ints
from ..encryption.cipher import missing
from .dialect import Condition, Database, Row, Transaction, escaped, unescaped
from .meta import is_sealed


class Veil(Protocol):
    """One user in one transaction, as the columns have what is theirs."""

    user_id: str
    user: str
    """The user's name in the columns."""
    vectors: str
    """The table of the user's vectors: ``user_id``, ``number`` and ``vector``."""

    def name(self, text: str) -> str:
        """Return the name in the columns of an item or a session: equal for equal texts."""

    def text(self, name: str) -> str:
        """Return what ``name`` was given."""

    def term(self, term: str) -> int:
        """Return the 64-bit hash by which a term is stored."""

    def hashing(self) -> Callable[[str], int]:
        """Return what gives the bits of ``term`` as a number from 0, also when the transaction is over."""

    def told(self, key_id: str) -> None:
        """Hear what the user's key is known by, so that the engine need not be asked: nothing is written afterwards."""

    def ready(self) -> None:
        """Ask the engine for what it takes to open what is read: nothing is asked when the transaction is over."""

    def document(self, number: int, document: bytes) -> Any:
        """Return the document of a row as the engine takes it."""

    def opened(self, number: int, found: Any) -> bytes:
        """Return the document that a row holds. ``StoreCorruptedError`` where it does not check."""

    def row(self, number: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the cells of a row as its columns have them: those that no condition needs may be kept elsewhere."""

    def shown(self, columns: Sequence[str], rows: list[Row]) -> list[Row]:
        """Return rows whose first cells are these columns, as they were; ``number`` and ``sealed`` are among them."""

    def vector(self, number: int, half: Halves) -> Any:
        """Return the vector of a row, ``(dim,)``, as the engine takes it."""

    def halves(self, numbers: Sequence[int], values: Sequence[Any]) -> Halves:
        """Return the vectors of rows, at least one, that the engine gave, as ``(n, dim)``."""

    def moved(self, vectors: Mapping[int, int]) -> None:
        """Give the vectors of rows to other rows, by number."""

    def nearest(self, query: Floats, condition: Condition, depth: int, *, count: int, revision: str) -> list[int]:
        """Return the numbers of the rows that meet the condition and have the largest products with ``query``.

        ``count``: how many vectors the user has; ``revision``: the token of what they have.
        """

    def products(self, query: Floats, numbers: Ints, *, revision: str) -> Floats:
        """Return the products of rows' vectors with ``query``, ``(n,)``; nan where there is no vector."""

    def key_id(self, present: str) -> str:
        """Return by which key what is written is sealed, which was ``present``; it is on disk when this returns."""


class Veils(Protocol):
    """The veils of a store's users, and what belongs to no user."""

    @property
    def encrypted(self) -> bool:
        """Whether what the columns hold tells nothing without a key."""

    def of(self, transaction: Transaction, user_id: str) -> Veil:
        """Return the veil of a user, as they are in a transaction."""

    def user(self, user_id: str) -> str:
        """Return the name of a user in the columns."""

    def user_id(self, user: str) -> str:
        """Return what ``user`` was given."""

    def grown(self, user_id: str, count: int, dim: int) -> None:
        """Hear that a user has so many vectors of a width, after the transaction that made them so many."""

    def line(self, key: int, line: bytes) -> str:
        """Return a line of the audit as its column has it."""

    def opened_line(self, key: int, found: str) -> bytes:
        """Return what ``line`` was given."""

    def page(self, name: str, page: str) -> str:
        """Return a page of the whole store as its column has it."""

    def opened_page(self, name: str, found: str) -> str:
        """Return what ``page`` was given."""

    def secret(self, secret: bytes) -> str:
        """Return the secret of the store's hashes as its column has it."""

    def opened_secret(self, found: str) -> bytes:
        """Return what ``secret`` was given."""

    def destroy(self, key_ids: Iterable[str]) -> None:
        """Destroy keys of users, for good."""


def term_key(term: str, key: bytes = b"", *, signed: bool = True) -> int:
    """Return the 64-bit hash of a term, under a key where there is one; as engines have it, with a sign."""
    digest = blake2b(term.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=signed)


class PlainVeil:
    """A user of a store without a key."""

    vectors = "siltstone_vectors"

    def __init__(self, database: Database, transaction: Transaction, user_id: str) -> None:
        self._database, self._transaction = database, transaction
        self.user_id, self.user = user_id, escaped(user_id)

    def name(self, text: str) -> str:
        """Return the text, as every engine can hold it."""
        return escaped(text)

    def text(self, name: str) -> str:
        """Return the text."""
        return unescaped(name)

    def term(self, term: str) -> int:
        """Return the hash of a term."""
        return term_key(term)

    def hashing(self) -> Callable[[str], int]:
        """Return the hash of postings."""
        return term_hash

    def told(self, key_id: str) -> None:
        """There is none."""

    def ready(self) -> None:
        """Nothing is needed."""

    def document(self, number: int, document: bytes) -> Any:
        """Return the document."""
        return self._database.blob(document)

    def opened(self, number: int, found: Any) -> bytes:
        """Return the document."""
        return bytes(found)

    def row(self, number: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the row."""
        speaker = row["speaker"]
        return {**row, "speaker": None if speaker is None else escaped(speaker), "sealed": None}

    def shown(self, columns: Sequence[str], rows: list[Row]) -> list[Row]:
        """Return the rows; speakers are names still."""
        at = columns.index("speaker")
        return [
            row if row[at] is None or "\\" not in row[at] else (*row[:at], unescaped(row[at]), *row[at + 1 :])
            for row in rows
        ]

    def vector(self, number: int, half: Halves) -> Any:
        """Return the vector as the engine's own."""
        return self._database.vector(half)

    def halves(self, numbers: Sequence[int], values: Sequence[Any]) -> Halves:
        """Return the vectors."""
        return self._database.halves(values)

    def moved(self, vectors: Mapping[int, int]) -> None:
        """Give the vectors of rows to other rows."""
        self._transaction.many(
            "UPDATE siltstone_vectors SET number = ? WHERE user_id = ? AND number = ?",
            [(after, self.user, before) for before, after in vectors.items()],
        )

    def nearest(self, query: Floats, condition: Condition, depth: int, *, count: int, revision: str) -> list[int]:
        """Have the engine compare."""
        return self._database.nearest(self._transaction, self.user, query, condition, depth, count=count)

    def products(self, query: Floats, numbers: Ints, *, revision: str) -> Floats:
        """Have the engine multiply."""
        return self._database.products(self._transaction, self.user, query, numbers)

    def key_id(self, present: str) -> str:
        """There is none."""
        return present


class PlainVeils:
    """The users of a store without a key."""

    encrypted = False

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, transaction: Transaction, user_id: str) -> Veil:
        """Return the veil that changes nothing."""
        return PlainVeil(self._database, transaction, user_id)

    def user(self, user_id: str) -> str:
        """Return the id, as every engine can hold it."""
        return escaped(user_id)

    def user_id(self, user: str) -> str:
        """Return the id."""
        return unescaped(user)

    def grown(self, user_id: str, count: int, dim: int) -> None:
        """Let the engine know."""
        self._database.grown(escaped(user_id), count, dim)

    def line(self, key: int, line: bytes) -> str:
        """Return the line."""
        return line.decode()

    def opened_line(self, key: int, found: str) -> bytes:
        """Return the line."""
        return found.encode()

    def page(self, name: str, page: str) -> str:
        """Return the page."""
        return page

    def opened_page(self, name: str, found: str) -> str:
        """Return the page."""
        return found

    def secret(self, secret: bytes) -> str:
        """Return the secret."""
        return secret.hex()

    def opened_secret(self, found: str) -> bytes:
        """Return the secret. ``DecryptionError`` where the store was made an encrypted one since."""
        if is_sealed(found):
            raise missing(self._database.location)
        return bytes.fromhex(found)

    def destroy(self, key_ids: Iterable[str]) -> None:
        """There are none."""
