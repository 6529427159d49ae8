"""Nearest vectors in PostgreSQL: all of a user's are compared, until the user has outgrown that.

Then an HNSW index of that user's own stands in, partial by user, so that no other user's vectors are ever walked
through. It is scanned on until enough rows meet the other conditions (``hnsw.iterative_scan``); where it ends with
fewer, all are compared after all. It is built in the background, without a lock; until then all are compared.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final

from ...forks import ForkSafeLock
from ...protocols import Floats
from .connections import HalfVector, errors, psycopg, sql
from .dialect import Condition, Transaction
from .postgres_tables import BUILD_LOCK, part_of
from .postgres_transaction import PostgresTransaction

logger = logging.getLogger("siltstone")
_MOST: Final = 1000
"""The largest ``hnsw.ef_search``: so many candidates are looked at in one go."""
_FROM: Final = (
    "SELECT v.number FROM siltstone_vectors v JOIN siltstone_rows r ON r.user_id = v.user_id AND r.number = v.number"
)


def all_compared(transaction: Transaction, user: str, query: Floats, condition: Condition, depth: int) -> list[int]:
    """Return the nearest rows that meet the condition. O(the user's vectors)."""
    part, parameters = condition
    found = transaction.rows(
        f"{_FROM} WHERE v.user_id = ? AND {part} ORDER BY v.vector <#> ? LIMIT ?",
        user,
        *parameters,
        HalfVector(query),
        depth,
    )
    return [int(number) for (number,) in found]


def by_index(transaction: Transaction, user: str, query: Floats, condition: Condition, depth: int) -> list[int]:
    """Return the nearest rows that meet the condition, nearly always; by the user's index.

    Fewer than ``depth`` where there is no index, no more meet the condition, or the scan was given up.
    """
    part, parameters = condition
    dim = len(query)
    found = transaction.rows(
        "SELECT i.indisvalid, set_config('hnsw.iterative_scan', 'strict_order', true), "
        "set_config('hnsw.ef_search', ?, true), "
        "set_config('plan_cache_mode', 'force_custom_plan', true) "  # a partial index needs to know the user
        "FROM pg_index i WHERE i.indexrelid = to_regclass(?)",
        str(min(2 * depth, _MOST)),
        index_name(user, dim),
    )
    if not (found and found[0][0]):
        return []
    found = transaction.rows(
        f"{_FROM} WHERE v.user_id = ? AND vector_dims(v.vector) = {dim} AND {part} "
        f"ORDER BY (v.vector::halfvec({dim})) <#> ? LIMIT ?",
        user,
        *parameters,
        HalfVector(query),
        depth,
    )
    return [int(number) for (number,) in found]


def index_name(user: str, dim: int | str) -> str:
    """Return the name of a user's index; it does not tell whose it is."""
    return f"siltstone_near_{blake2b(user.encode(), digest_size=10).hexdigest()}_{dim}"


def drop_indexes(transaction: Transaction, user: str) -> None:
    """Drop the indexes of a user, who goes: their conditions name the user."""
    for (name,) in transaction.rows(
        "SELECT relname FROM pg_class WHERE relkind = 'i' AND relname LIKE ?", index_name(user, "%")
    ):
        transaction.run(f"DROP INDEX IF EXISTS {name}")


class Builder:
    """Builds indexes of users who have outgrown comparing, one at a time, in a thread of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._guard = ForkSafeLock()
        self._seen: set[tuple[str, int]] = set()
        self._at_work: threading.Thread | None = None
        self._connection: psycopg.Connection[Any] | None = None

    def build(self, user: str, dim: int) -> None:
        """Begin, unless that was done, or another index is being built: then a later write asks for it again."""
        with self._guard:
            if (user, dim) in self._seen or (self._at_work is not None and self._at_work.is_alive()):
                return
            self._seen.add((user, dim))
            self._at_work = threading.Thread(target=self._run, args=(user, dim), name="siltstone-index", daemon=True)
            self._at_work.start()

    def wait(self) -> None:
        """Wait until what is being built is there."""
        if self._at_work is not None:
            self._at_work.join()

    def close(self) -> None:
        """Give up what is being built; a later process begins anew."""
        connection = self._connection
        if connection is not None:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=5)
            self.wait()

    def _run(self, user: str, dim: int) -> None:
        try:
            with psycopg.connect(self._url, autocommit=True, connect_timeout=5) as self._connection:
                _build(self._connection, user, dim)
        except psycopg.Error as exc:
            self._seen.discard((user, dim))
            if not isinstance(exc, errors.QueryCanceled):
                logger.warning("no index of a user's vectors could be built (%s): all are compared", exc)
        finally:
            self._connection = None


def _build(connection: psycopg.Connection[Any], user: str, dim: int) -> None:
    name = index_name(user, dim)
    lock = (name, BUILD_LOCK)
    if not connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, %s))", lock).fetchall()[0][0]:
        return  # another process is at it
    found = connection.execute(
        "SELECT i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relname = %s", (name,)
    ).fetchall()
    if found == [(True,)]:
        return
    if found:  # left by a process that was killed
        connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    table = f"siltstone_vectors{part_of(PostgresTransaction(connection), user)}"
    connection.execute(
        sql.SQL(
            "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw ((vector::halfvec({})) halfvec_ip_ops) "
            "WHERE user_id = {} AND vector_dims(vector) = {}"
        ).format(sql.Identifier(name), sql.Identifier(table), dim, user, dim)
    )
