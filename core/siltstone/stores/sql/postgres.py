"""PostgreSQL with pgvector: one transaction per write, users in hash partitions, row-level security by user.

What breaks on the way (a connection, a server that restarts or fails over, transactions that get in each other's way)
is tried again until a deadline. Whether a commit went through whose answer got lost is read from the user's receipts
behind the user's lock, which an unfinished commit still holds, so that nothing is done twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from ...errors import (
    BackendUnavailableError,
    ConfigurationError,
    NotFoundError,
    ReadOnlyError,
    SiltstoneError,
    StoreLockedError,
)
from ...index.vectors import Halves
from ...protocols import Floats, Ints
from ...settings import Settings
from ...text.addresses import shown_address
from .connections import Connections, HalfVector, errors, psycopg
from .dialect import Condition, Transaction
from .meta import read_value
from .nearest import Builder, all_compared, by_index, drop_indexes
from .postgres_refusals import check_address, remedy
from .postgres_tables import LOCK, SPACE_LOCK, bring_up_to_date, read_format
from .postgres_transaction import PostgresTransaction, begin_reading, begin_writing, end, finish
from .receipts import KEPT, Tags, went_through
from .remains import remains
from .replica import Replica
from .schema import FORMAT, check_format
from .writing import read_counts

R = TypeVar("R")
DEADLINE: Final = 30.0
"""Seconds for which a server that does not answer is tried again."""
_PASSING: Final = (
    psycopg.OperationalError,  # connections; serialization failures and deadlocks are among them
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,  # a standby that is about to be promoted
)


class PostgresDatabase:
    """A database of a server."""

    clock = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"
    skip_locked = "FOR UPDATE SKIP LOCKED"
    listed = "string_agg(number::text, ',')"

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = False,
        create: bool = True,
        lock_timeout: float = 10.0,
        deadline: float = DEADLINE,
        connections: int = 16,
        replica: str | None = None,
        exact_vectors: int = Settings.exact_vectors,
    ) -> None:
        """Connect, and make the tables where there are none. ``replica`` is the URL of a standby, for searches.

        ``exact_vectors``: with up to so many vectors a user's are all compared, beyond it an index is used.

        Raises ``BackendUnavailableError`` where the server does not answer, ``ConfigurationError`` at once for what it
        refuses until somebody sees to it (a password, a database that is not there, rights, no pgvector),
        ``NotFoundError`` where there are no tables and none are to be made, ``StoreVersionError`` for a format that is
        not known.
        """
        check_address(url)
        self.location = shown_address(url)
        self._url, self._read_only = url, read_only
        self._tags = Tags()
        self._lock_timeout, self._deadline = lock_timeout, deadline
        self._primary = Connections(url, connections)
        self._exact_vectors, self._builder = exact_vectors, Builder(url)
        self._prepare(create=create and not read_only)
        self._replica = None if replica is None else Replica(replica, connections, lock_timeout)
        if self._replica is not None:
            try:
                self._replica.check(self.location, self.glance(lambda t: read_value(t, "secret")))
            except BaseException:
                self.close()
                raise

    def read(self, user: str | None, work: Callable[[Transaction], R]) -> R:
        """Return what ``work`` reads in one snapshot."""

        def once() -> R:
            with self._primary.one() as connection:
                try:
                    return work(PostgresTransaction(connection, begin_reading(user, self._lock_timeout)))
                finally:
                    finish(connection)

        return self._persist(once)

    def glance(self, work: Callable[[Transaction], R]) -> R:
        """Return what ``work`` reads in one statement, which needs no transaction around it."""

        def once() -> R:
            with self._primary.one() as connection:
                return work(PostgresTransaction(connection))

        return self._persist(once)

    def is_walled(self) -> bool:
        """Return whether row-level security holds for the role: superusers, and who has BYPASSRLS, pass it."""
        passes = "SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"
        return not self.glance(lambda t: t.rows(passes))

    @property
    def has_replica(self) -> bool:
        """Whether there is a standby for searches."""
        return self._replica is not None

    def read_replica(self, user: str, work: Callable[[Transaction], R]) -> R | None:
        """Return what ``work`` reads of the standby; ``None`` where that does not answer."""
        return None if self._replica is None else self._replica.read(user, work)

    def write(self, user: str | None, work: Callable[[Transaction], R]) -> R:
        """Carry out ``work`` in one transaction."""
        if self._read_only:
            raise ReadOnlyError.opened(self.location)
        tag = self._tags.next()
        unsure: list[R] = []  # what commits would have returned whose answers got lost

        def once() -> R:
            with self._primary.one() as connection:
                try:
                    transaction = PostgresTransaction(connection, begin_writing(user, self._lock_timeout), tag)
                    if unsure and user is not None and self._went_through(transaction, user):
                        return unsure[-1]
                    result = work(transaction)
                    unsure.append(result)
                    transaction.commit()
                    return result
                finally:
                    end(connection)

        return self._persist(once)

    def _went_through(self, transaction: Transaction, user: str) -> bool:
        """Return whether an earlier attempt was committed; none is under way afterwards.

        Raises ``BackendUnavailableError`` where nobody can tell any more.
        """
        self.lock(transaction, user)
        counts = read_counts(transaction, user)
        done = False if counts is None else went_through(counts.receipts, transaction.tag)
        if done is None:
            raise BackendUnavailableError(
                f"PostgreSQL at {self.location} went away in the middle of a commit, and since then more than {KEPT} "
                "others wrote for this user: whether it was stored is not known; read before you retry"
            )
        return done

    def lock(self, transaction: Transaction, user: str) -> None:
        """Keep other writers of a user out until the transaction ends, and changes of the embedding space."""
        transaction.send(
            "SELECT pg_advisory_xact_lock_shared(?), pg_advisory_xact_lock(hashtextextended(?, ?))",
            SPACE_LOCK,
            user,
            LOCK,
        )

    def lock_space(self, transaction: Transaction) -> None:
        """Keep all writers out until the transaction ends, those of new users, too."""
        transaction.send("SELECT pg_advisory_xact_lock(?)", SPACE_LOCK)

    def insert(self, transaction: Transaction, table: str, user: str, columns: Mapping[str, Sequence[int]]) -> None:
        """Add many rows of a user in one statement, as arrays: ``COPY`` is refused by row-level security."""
        arrays = [_array(column) for column in columns.values()]
        places = ", ".join("?::bigint[]" for _ in arrays)
        transaction.send(
            f"INSERT INTO {table} (user_id, {', '.join(columns)}) SELECT ?, * FROM unnest({places})", user, *arrays
        )

    def among(self, column: str, values: Sequence[Any]) -> tuple[str, Any]:
        """Return a condition that a column's value is one of a list, and its one parameter."""
        if values and isinstance(values[0], int):  # a text, as the driver takes a list apart in Python
            return f"{column} = ANY(?::bigint[])", _array(values)
        return f"{column} = ANY(?)", list(values)

    def blob(self, value: bytes) -> bytes:
        """Return the bytes as they are."""
        return value

    def vector(self, half: Halves) -> HalfVector:
        """Return a vector as pgvector's own type."""
        return HalfVector(half)

    def halves(self, values: Sequence[Any]) -> Halves:
        """Return vectors that the engine gave, at least one, as ``(n, dim)``."""
        return np.stack([value.to_numpy() for value in values]).astype(np.float16)

    def nearest(
        self, transaction: Transaction, user: str, query: Floats, condition: Condition, depth: int, *, count: int
    ) -> list[int]:
        """Return the nearest rows that meet the condition; exact until the user has outgrown that."""
        if count > self._exact_vectors:
            found = by_index(transaction, user, query, condition, depth)
            if len(found) == depth:
                return found
        return all_compared(transaction, user, query, condition, depth)

    def grown(self, user: str, count: int, dim: int) -> None:
        """Have an index built for a user who has outgrown comparing."""
        if count > self._exact_vectors:
            self._builder.build(user, dim)

    def gone(self, transaction: Transaction, user: str) -> None:
        """Drop the indexes of a user."""
        drop_indexes(transaction, user)

    def products(self, transaction: Transaction, user: str, query: Floats, numbers: Ints) -> Floats:
        """Return the products of rows' vectors with ``query``."""
        found: dict[int, float] = dict(
            transaction.rows(
                "SELECT number, -(vector <#> ?) FROM siltstone_vectors WHERE user_id = ? AND number = ANY(?::bigint[])",
                HalfVector(query),
                user,
                _array(numbers.tolist()),
            )
        )
        return np.array([found.get(number, np.nan) for number in numbers.tolist()], np.float32)

    def remains(self, transaction: Transaction, user: str) -> tuple[str, ...]:
        """Return which pages, logs and copies keep what was deleted of a user, and how to end that."""
        return tuple(remains(transaction, user))

    def size(self, transaction: Transaction) -> int:
        """Return the bytes of the tables and their indexes."""
        ((total,),) = transaction.rows(
            "SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
            "WHERE c.relkind = 'r' AND c.relname LIKE 'siltstone\\_%' "
            "AND c.relnamespace = current_schema()::regnamespace"
        )
        return int(total)

    def close(self) -> None:
        """Close the connections of this process."""
        self._builder.close()
        self._primary.close()
        if self._replica is not None:
            self._replica.close()

    # --- transactions

    def _persist(self, once: Callable[[], R], *, refused: type[SiltstoneError] = BackendUnavailableError) -> R:
        """Return what ``once`` returns, trying again with back-off what may pass, until the deadline.

        Raises ``StoreLockedError`` for a lock that was not to be had for ``lock_timeout`` seconds, ``refused`` at once
        for what does not pass by itself.
        """
        began, pause = time.monotonic(), 0.05
        while True:
            try:
                return once()
            except errors.LockNotAvailable as exc:
                raise StoreLockedError(
                    f"another writer has held what is needed at {self.location} for more than {self._lock_timeout:g} "
                    "s; nothing was changed: try again"
                ) from exc
            except psycopg.Error as exc:
                told = " ".join(str(exc).split())
                if (mends := remedy(exc)) is not None:
                    raise refused(
                        f"PostgreSQL at {self.location} refuses ({told}); nothing was acknowledged: {mends}"
                    ) from exc
                if not isinstance(exc, _PASSING):
                    raise BackendUnavailableError(
                        f"PostgreSQL at {self.location}: {told}; nothing was acknowledged"
                    ) from exc
                if time.monotonic() - began + pause > self._deadline:
                    raise BackendUnavailableError(
                        f"PostgreSQL at {self.location} did not do its part for {self._deadline:g} s ({told}); nothing "
                        "was acknowledged, and what was before is safe: try again once it answers"
                    ) from exc
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    # --- tables

    def _prepare(self, *, create: bool) -> None:
        format = self._persist(self._format, refused=ConfigurationError)
        if format is None and not create:
            raise NotFoundError(f"there is no store at {self.location}: nothing was made")
        check_format(self.location, format or 0, migrates=not self._read_only)
        if format != FORMAT:
            self._persist(self._bring_up_to_date, refused=ConfigurationError)

    def _format(self) -> int | None:
        with psycopg.connect(self._url, connect_timeout=5) as connection:
            return read_format(connection)

    def _bring_up_to_date(self) -> None:
        with psycopg.connect(self._url, connect_timeout=5) as connection:
            bring_up_to_date(connection, self.location, self._lock_timeout)


def _array(values: Iterable[int]) -> str:
    """Return numbers as PostgreSQL writes an array."""
    return f"{{{','.join(map(str, values))}}}"
