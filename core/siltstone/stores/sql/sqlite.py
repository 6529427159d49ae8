"""SQLite: one file, the standard library, every write on disk before it is confirmed.

Deleted bytes are overwritten with zeros (``secure_delete``), and there is no write-ahead log that would keep them. A
writer keeps readers out for the moment of its commit; writers wait for each other at most ``lock_timeout`` seconds.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal, TypeVar

import numpy as np

from ...errors import (
    BackendUnavailableError,
    ConflictError,
    NotFoundError,
    ReadOnlyError,
    StoreCorruptedError,
    StoreLockedError,
)
from ...index.products import products
from ...index.vectors import Halves
from ...protocols import Floats, Ints
from ..files import disk
from .dialect import Condition, Row, Statement, Transaction
from .schema import FORMAT, STEPS, check_format

R = TypeVar("R")
_AT_ONCE: Final = 20_000
"""Vectors that are multiplied at once."""
_APPLICATION: Final = 0x5117
"""Marks the file as a store of siltstone (``PRAGMA application_id``)."""
_of_parents: list[sqlite3.Connection] = []
"""Connections that were open when this process was forked: to be neither used nor closed here."""


class SqliteTransaction:
    """One transaction on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.tag = ""  # there is no server that could leave a commit unanswered

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        """Return what a query finds."""
        return self._connection.execute(statement, parameters).fetchall()

    def run(self, statement: str, *parameters: Any) -> int:
        """Carry out a statement; return how many rows it changed."""
        return self._connection.execute(statement, parameters).rowcount

    def each(self, *asked: Statement, last: bool = False) -> list[list[Row]]:
        """Return what each of several queries finds."""
        return [self.rows(statement, *parameters) for statement, parameters in asked]

    def send(self, statement: str, *parameters: Any) -> None:
        """Carry out a statement."""
        self._connection.execute(statement, parameters)

    def many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Carry out a statement once per row of parameters."""
        self._connection.executemany(statement, rows)


class SqliteDatabase:
    """A file, opened by as many threads and processes as like."""

    clock = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
    skip_locked = ""  # a writing transaction has the file to itself
    listed = "group_concat(number)"

    def __init__(
        self,
        path: Path,
        location: str,
        *,
        durability: Literal["fsync", "os"] = "fsync",
        read_only: bool = False,
        create: bool = True,
        lock_timeout: float = 10.0,
    ) -> None:
        """Open the file, and make its tables where there are none.

        Raises ``NotFoundError`` where it is missing and not to be made, ``StoreVersionError`` for a format that is not
        known, ``StoreCorruptedError`` for a file that is none of ours.
        """
        self.location = location
        self._path, self._read_only, self._timeout = path, read_only, lock_timeout
        self._synchronous = "EXTRA" if durability == "fsync" else "OFF"
        self._idle: SimpleQueue[tuple[int, sqlite3.Connection]] = SimpleQueue()
        if not disk.exists(str(path)):
            if not create or read_only:
                raise NotFoundError(f"there is no store at {location}: nothing was made")
            disk.make_folder(os.path.abspath(path.parent))
            with suppress(FileNotFoundError):  # SQLite says why
                disk.File(str(path), write=True, create=True).close()  # for the owner alone, as its journals are then
        self._prepare()

    def read(self, user: str | None, work: Callable[[Transaction], R]) -> R:
        """Return what ``work`` reads in one snapshot."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            try:
                return work(SqliteTransaction(connection))
            finally:
                connection.rollback()

    def glance(self, work: Callable[[Transaction], R]) -> R:
        """Return what ``work`` reads in one statement."""
        return self.read(None, work)

    has_replica = False

    def read_replica(self, user: str, work: Callable[[Transaction], R]) -> R | None:
        """Nothing: a file has no copy that follows it."""
        return None

    def write(self, user: str | None, work: Callable[[Transaction], R]) -> R:
        """Carry out ``work`` in one transaction."""
        if self._read_only:
            raise ReadOnlyError.opened(self.location)
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(SqliteTransaction(connection))
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            return result

    def lock(self, transaction: Transaction, user: str) -> None:
        """Nothing: a writing transaction has the file to itself."""

    def lock_space(self, transaction: Transaction) -> None:
        """Nothing, for the same reason."""

    def insert(self, transaction: Transaction, table: str, user: str, columns: Mapping[str, Sequence[int]]) -> None:
        """Add many rows of a user."""
        places = ", ".join("?" for _ in columns)
        rows = ((user, *values) for values in zip(*columns.values(), strict=True))
        transaction.many(f"INSERT INTO {table} (user_id, {', '.join(columns)}) VALUES (?, {places})", rows)

    def among(self, column: str, values: Sequence[Any]) -> tuple[str, Any]:
        """Return a condition that a column's value is one of a list, and its one parameter."""
        return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(list(values), ensure_ascii=False)

    def blob(self, value: bytes) -> bytes:
        """Return the bytes as they are."""
        return value

    def vector(self, half: Halves) -> bytes:
        """Return the bytes of a vector."""
        return half.tobytes()

    def halves(self, values: Sequence[Any]) -> Halves:
        """Return vectors that the engine gave, at least one, as ``(n, dim)``."""
        return np.frombuffer(b"".join(values), np.float16).reshape(len(values), -1)

    def nearest(
        self, transaction: Transaction, user: str, query: Floats, condition: Condition, depth: int, *, count: int
    ) -> list[int]:
        """Return the nearest rows that meet the condition. O(rows that meet it): every vector is multiplied."""
        part, parameters = condition
        found = transaction.rows(
            "SELECT v.number, v.vector FROM siltstone_vectors v "
            f"JOIN siltstone_rows r ON r.user_id = v.user_id AND r.number = v.number WHERE {part}",
            *parameters,
        )
        numbers = np.array([number for number, _ in found], np.int64)
        near = np.empty(len(numbers), np.float32)
        for first in range(0, len(found), _AT_ONCE):
            some = [vector for _, vector in found[first : first + _AT_ONCE]]
            near[first : first + _AT_ONCE] = products(self.halves(some).astype(np.float32), query)
        best = np.argpartition(-near, depth)[:depth] if len(near) > depth else np.arange(len(near))
        return [int(number) for number in numbers[best]]

    def grown(self, user: str, count: int, dim: int) -> None:
        """Nothing: every vector is multiplied, however many there are."""

    def gone(self, transaction: Transaction, user: str) -> None:
        """Nothing: a user has rows alone."""

    def products(self, transaction: Transaction, user: str, query: Floats, numbers: Ints) -> Floats:
        """Return the products of rows' vectors with ``query``."""
        part, parameter = self.among("number", numbers.tolist())
        found: dict[int, bytes] = dict(
            transaction.rows(
                f"SELECT number, vector FROM siltstone_vectors WHERE user_id = ? AND {part}",
                user,
                parameter,
            )
        )
        out = np.full(len(numbers), np.nan, np.float32)
        there = [at for at, number in enumerate(numbers.tolist()) if number in found]
        if there:
            rows = self.halves([found[int(numbers[at])] for at in there]).astype(np.float32)
            out[there] = products(rows, query)
        return out

    def remains(self, transaction: Transaction, user: str) -> tuple[str, ...]:
        """Nothing: what is deleted is overwritten at once."""
        return ()

    def size(self, transaction: Transaction) -> int:
        """Return the size of the file."""
        return disk.size(str(self._path))

    def close(self) -> None:
        """Close the connections of this process."""
        while True:
            try:
                pid, connection = self._idle.get_nowait()
            except Empty:
                return
            if pid == os.getpid():
                connection.close()

    # --- connections

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Give the block a connection of its own; those of a parent process are left alone."""
        connection = self._taken() or self._opened()
        try:
            yield connection
        except sqlite3.Error as exc:
            raise self._translated(exc) from exc
        finally:
            self._idle.put((os.getpid(), connection))

    def _taken(self) -> sqlite3.Connection | None:
        while True:
            try:
                pid, connection = self._idle.get_nowait()
            except Empty:
                return None
            if pid == os.getpid():
                return connection
            _of_parents.append(connection)

    def _opened(self) -> sqlite3.Connection:
        mode = "ro" if self._read_only else "rwc"
        try:
            connection = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=self._timeout,
                isolation_level=None,
                check_same_thread=False,
            )
            connection.execute("PRAGMA secure_delete = ON")
            if not self._read_only:
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        except sqlite3.Error as exc:
            raise self._translated(exc) from exc
        return connection

    def _prepare(self) -> None:
        """Make the tables of a new file, and bring those of an old one up to date; processes take turns."""
        with self._connection() as connection:
            if self._format(connection) == FORMAT or self._read_only:
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                for step in STEPS[self._format(connection) :]:  # again: another process may have been faster
                    for statement in (*step.statements, *step.fill):
                        connection.execute(statement.format(blob="BLOB", vector="BLOB", by_user="WITHOUT ROWID"))
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def _format(self, connection: sqlite3.Connection) -> int:
        """Return the format of the file, 0 for an empty one; raise for one that is not to be touched."""
        (application,), (format,) = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if application != _APPLICATION and connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            raise StoreCorruptedError(f"{self.location} is a database of something else: nothing was changed")
        check_format(self.location, int(format), migrates=not self._read_only)
        return int(format)

    def _translated(self, exc: sqlite3.Error) -> Exception:
        code = getattr(exc, "sqlite_errorname", "")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StoreLockedError(
                f"{self.location} was written by another process for more than {self._timeout:g} s; nothing was "
                "changed: try again"
            )
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return StoreCorruptedError(
                f"{self.location} is damaged or no database ({exc}); nothing was changed: put a backup in its place"
            )
        if code.startswith("SQLITE_CONSTRAINT"):
            return ConflictError(f"another writer came between ({exc}); nothing was stored: read it and retry")
        return BackendUnavailableError(f"{self.location}: {exc}; nothing was acknowledged")
