"""What differs between engines: how a transaction is run, how lists are passed, and how vectors are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from ...index.vectors import Halves
from ...protocols import Floats, Ints

R = TypeVar("R")
Row: TypeAlias = tuple[Any, ...]
Condition: TypeAlias = tuple[str, tuple[Any, ...]]
"""A part of a statement that holds or not, and the parameters in it."""
Statement: TypeAlias = tuple[str, tuple[Any, ...]]
"""A statement and its parameters."""


def escaped(value: str) -> str:
    """Return a text as every engine can hold it: without NUL, and without lone surrogates, which no stored text has.

    Equal for equal texts, different for different ones.
    """
    bare = value.replace("\\", "\\\\").replace("\0", "\\0")
    return bare.encode("utf-8", "backslashreplace").decode()


def unescaped(value: str) -> str:
    """Return the text that ``escaped`` was given, as far as it can be stored."""
    return "\\".join(part.replace("\\0", "\0") for part in value.split("\\\\"))


class Transaction(Protocol):
    """One transaction. Statements have ``?`` for each parameter.

    What has no answer (``send``, ``many``) may wait and go with the next statement that has one, or with the commit: a
    server is asked as seldom as can be. All are carried out in order.
    """

    tag: str
    """By what it is known again, where its commit may go unanswered, see ``receipts``; else ``""``."""

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        """Return what a query finds."""

    def each(self, *asked: Statement, last: bool = False) -> list[list[Row]]:
        """Return what each of several queries finds, asked in one go; ``last`` where nothing more will be."""

    def run(self, statement: str, *parameters: Any) -> int:
        """Carry out a statement; return how many rows it changed."""

    def send(self, statement: str, *parameters: Any) -> None:
        """Carry out a statement."""

    def many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Carry out a statement once per row of parameters."""


class Database(Protocol):
    """One engine at one location. Users are named to it as its columns name them, see ``veil``."""

    location: str
    clock: str
    """The engine's own time, in microseconds since 1970, as a part of a statement: machines differ in theirs."""
    skip_locked: str
    """What stands behind a query so that its rows are locked, and those that others have locked are left out."""
    listed: str
    """What joins the numbers in the column ``number``, in their order, into a text with commas between them."""

    def read(self, user: str | None, work: Callable[[Transaction], R]) -> R:
        """Return what ``work`` reads in one snapshot; of ``user`` alone, or of all users.

        ``work`` may be called again where the connection breaks, within a deadline; then ``BackendUnavailableError``.
        """

    def glance(self, work: Callable[[Transaction], R]) -> R:
        """Return what ``work`` reads in one statement of ``siltstone_meta``, which has nothing of any user."""

    @property
    def has_replica(self) -> bool:
        """Whether there is a copy that searches may read."""

    def read_replica(self, user: str, work: Callable[[Transaction], R]) -> R | None:
        """Return what ``work`` reads of the copy, however late that is; ``None`` where it does not answer."""

    def write(self, user: str | None, work: Callable[[Transaction], R]) -> R:
        """Carry out ``work`` in one transaction; on disk when it returns, done once or not at all."""

    def lock(self, transaction: Transaction, user: str) -> None:
        """Keep other writers of a user out until the transaction ends, and changes of the embedding space."""

    def lock_space(self, transaction: Transaction) -> None:
        """Keep all writers out until the transaction ends, those of new users, too."""

    def insert(self, transaction: Transaction, table: str, user: str, columns: Mapping[str, Sequence[int]]) -> None:
        """Add many rows of a user to a table that has whole numbers in its other columns."""

    def among(self, column: str, values: Sequence[Any]) -> tuple[str, Any]:
        """Return a condition that a column's value is one of a list, and its one parameter."""

    def blob(self, value: bytes) -> Any:
        """Return bytes as the engine takes them."""

    def vector(self, half: Halves) -> Any:
        """Return a vector, ``(dim,)``, as the engine takes it."""

    def halves(self, values: Sequence[Any]) -> Halves:
        """Return vectors that the engine gave, at least one, as ``(n, dim)``."""

    def nearest(
        self, transaction: Transaction, user: str, query: Floats, condition: Condition, depth: int, *, count: int
    ) -> list[int]:
        """Return the numbers of the rows that meet the condition and have the largest products with ``query``.

        ``count``: how many vectors the user has.
        """

    def grown(self, user: str, count: int, dim: int) -> None:
        """Hear that a user has so many vectors of a width, after the transaction that made them so many."""

    def gone(self, transaction: Transaction, user: str) -> None:
        """Drop what the engine has for a user alone."""

    def products(self, transaction: Transaction, user: str, query: Floats, numbers: Ints) -> Floats:
        """Return the products of rows' vectors with ``query``, ``(n,)``; nan where there is no vector."""

    def remains(self, transaction: Transaction, user: str) -> tuple[str, ...]:
        """Return where the engine keeps what was deleted of a user, and how to end that, a sentence each."""

    def size(self, transaction: Transaction) -> int:
        """Return the bytes that the whole store takes."""

    def close(self) -> None:
        """Give connections back."""
