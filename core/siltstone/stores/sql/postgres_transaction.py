"""Transactions of PostgreSQL: each sees one user, or all, past row-level security.

What a server is asked goes in as few journeys as can be (libpq's pipeline): the beginning with the first question, what
has no answer with the next one that has, and the end with the last. What goes in one journey is about few rows, and by
plans that are made once; it is one transaction anyway, and a single statement sees one snapshot, so that a single
question needs neither beginning nor end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

from .connections import psycopg
from .dialect import Row, Statement

_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE: Final = "BEGIN"
_SETTINGS: Final = (
    "SELECT set_config('siltstone.tenant', ?, true), set_config('siltstone.everyone', ?, true), "
    "set_config('lock_timeout', ?, true)"
)
_PLANNED: Final = "set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)"
"""Plans are made once per connection, for any user, who is found by an index however small the tables were then.

Else each statement is planned each time it is carried out, for a single partition is cheaper than all: that is most of
what a statement about few rows costs.
"""
_ALONE: Final = "set_config('max_parallel_workers_per_gather', '0', true), set_config('enable_seqscan', 'off', true)"
"""Questions are answered by indexes of one user's rows, and many are asked at once: a helping process costs more than
it saves, and a table read from end to end has all the others' rows.
"""


class PostgresTransaction:
    """One transaction on a connection, begun with its first statement."""

    def __init__(self, connection: psycopg.Connection[Row], begin: Iterable[Statement] = (), tag: str = "") -> None:
        self._connection = connection
        self._waiting: list[tuple[str, list[Sequence[Any]]]] = [(statement, [row]) for statement, row in begin]
        self._begun = not self._waiting
        self._ended = False
        self.tag = tag

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        """Return what a query finds."""
        return self._carried_out([(statement, parameters)])[0].fetchall()

    def each(self, *asked: Statement, last: bool = False) -> list[list[Row]]:
        """Return what each of several queries finds; ``last`` ends the transaction with them."""
        return [cursor.fetchall() for cursor in self._carried_out(asked, end=last)]

    def run(self, statement: str, *parameters: Any) -> int:
        """Carry out a statement; return how many rows it changed."""
        return self._carried_out([(statement, parameters)])[0].rowcount

    def send(self, statement: str, *parameters: Any) -> None:
        """Carry out a statement with the next one that is answered, or with the commit."""
        self._waiting.append((statement, [parameters]))

    def many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Carry out a statement once per row of parameters, with the next one that is answered, or with the commit."""
        if prepared := list(rows):
            self._waiting.append((statement, prepared))

    def commit(self) -> None:
        """Carry out what waits, and commit."""
        self._carried_out((), end=True)

    def _carried_out(self, asked: Sequence[Statement], *, end: bool = False) -> list[psycopg.Cursor[Row]]:
        """Return what is asked, as cursors, once what waits has been carried out; in one journey."""
        assert not self._ended, "nothing would say any more whose rows may be seen"
        waiting, self._waiting = self._waiting, []
        self._ended = end
        if end and not self._begun:
            begin, (_, values), *others = waiting
            waiting = [begin, (f"{_SETTINGS}, {_PLANNED}", values), *others]
            if len(asked) == 1:
                waiting, end = waiting[1:], False
        self._begun = True
        cursors = [self._cursor() for _ in asked]
        if len(asked) == 1 and not (waiting or end):
            ((statement, parameters),) = asked
            cursors[0].execute(_translated(statement), parameters)
            return cursors
        with _journey(self._connection):
            for statement, rows in waiting:
                if len(rows) == 1:
                    self._cursor().execute(_translated(statement), rows[0])
                else:
                    self._cursor().executemany(_translated(statement), rows)
            for cursor, (statement, parameters) in zip(cursors, asked, strict=True):
                cursor.execute(_translated(statement), parameters)
            if end:
                self._cursor().execute(
                    "COMMIT", prepare=False
                )  # of reading, too: a ROLLBACK makes psycopg drop all plans
        return cursors

    def _cursor(self) -> psycopg.Cursor[Row]:
        return self._connection.cursor(binary=True)  # documents and vectors take twice as long as text


@contextmanager
def _journey(connection: psycopg.Connection[Row]) -> Iterator[None]:
    """Let what is carried out in the block go in one journey; raise what went wrong first."""
    failed: psycopg.Error | None = None
    try:
        with connection.pipeline():
            try:
                yield
            except psycopg.Error as exc:  # psycopg would log what goes wrong after that
                failed = exc
    except psycopg.Error as exc:
        raise failed or exc from None
    if failed is not None:
        raise failed


def begin_reading(user: str | None, lock_timeout: float) -> list[Statement]:
    """Return what begins a transaction that reads one snapshot."""
    return _begin(_READ, user, lock_timeout, planned=False)


def begin_writing(user: str | None, lock_timeout: float) -> list[Statement]:
    """Return what begins a transaction that writes."""
    return _begin(_WRITE, user, lock_timeout, planned=True)


def _begin(begin: str, user: str | None, lock_timeout: float, *, planned: bool) -> list[Statement]:
    values = (user or "", "off" if user else "on", f"{int(lock_timeout * 1000)}ms")
    return [(begin, ()), (f"{_SETTINGS}, {_PLANNED if planned else _ALONE}", values)]


def finish(connection: psycopg.Connection[Row]) -> None:
    """End a transaction that has only read: its plans stay, as they would not with a rollback."""
    status = connection.info.transaction_status
    if status == psycopg.pq.TransactionStatus.INTRANS:
        connection.commit()
    elif status != psycopg.pq.TransactionStatus.IDLE:
        end(connection)


def end(connection: psycopg.Connection[Row]) -> None:
    """Roll back, as far as there is a connection left."""
    if not connection.closed:
        connection.rollback()


@lru_cache(maxsize=512)
def _translated(statement: str) -> Any:
    """Return a statement with psycopg's own placeholders."""
    return statement.replace("%", "%%").replace("?", "%s")
