"""Nearest vectors on PostgreSQL: exact for most users, by an index of their own for who has outgrown that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from items import asked, said, space, vector
from postgres_server import can_index, emptied
from siltstone.protocols import Floats, Put, Where
from siltstone.stores.sql.conditions import meant
from siltstone.stores.sql.dialect import Transaction, escaped
from siltstone.stores.sql.store import SqlStore
from siltstone.stores.sql.veil import PlainVeil

LIMIT, MANY, DIM, DEPTH = 500, 6_000, 16, 10
USER = "o'hara %s ?"
"""Whose id has all that a statement must not stumble over."""


@pytest.fixture(scope="module")
def database(postgres: str) -> Iterator[Any]:
    """A database in which one user has outgrown ``LIMIT``, and another has not."""
    if not can_index():
        pytest.xfail("the tests' PostgreSQL is built for processors with AVX-512, and dies where it makes an index")
    import psycopg

    from siltstone.stores.sql.postgres import PostgresDatabase

    emptied(postgres)
    made = PostgresDatabase(postgres, exact_vectors=LIMIT)
    store = SqlStore(made)
    store.set_fingerprint(space())
    for user, count in (("small", LIMIT), (USER, MANY)):
        for first in range(0, count, 500):
            store.commit(user, [put(user, n) for n in range(first, min(first + 500, count))])
    made._builder.wait()
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("ANALYZE")  # as the server does by itself, some time
    yield made
    emptied(postgres)
    made.close()


def put(user: str, n: int) -> Put:
    """Return a message with a vector; one of twenty is in a session of its own."""
    return said(f"{n}", f"text {n}", minute=n, user=user, seed=n, session="rare" if n % 20 == 0 else "common")


def nearest(database: Any, user: str, query: Floats, *, exact: bool = False, **where: Any) -> list[int]:
    """Return the nearest rows, exact or as a search of the user would have them."""

    def work(transaction: Transaction) -> list[int]:
        count = (
            0
            if exact
            else transaction.rows("SELECT vectors FROM siltstone_users WHERE user_id = ?", escaped(user))[0][0]
        )
        condition = meant(database, PlainVeil(database, transaction, user), asked(**where).where)
        return list(database.nearest(transaction, user, query, condition, DEPTH, count=count))

    return list(database.read(user, work))


def plan(database: Any, user: str, query: Floats) -> str:
    """Return how the server would look for the nearest rows of a user by an index."""
    from siltstone.stores.sql.nearest import by_index

    class Explaining:
        """A transaction that has statements explained."""

        def __init__(self, inner: Transaction) -> None:
            self._inner = inner

        def rows(self, statement: str, *parameters: Any) -> list[Any]:
            """Explain a query on vectors, and carry out the others."""
            if "siltstone_vectors" not in statement:
                return self._inner.rows(statement, *parameters)
            lines.extend(line for (line,) in self._inner.rows(f"EXPLAIN {statement}", *parameters))
            return []

    lines: list[str] = []

    def work(transaction: Transaction) -> None:
        condition = meant(database, PlainVeil(database, transaction, user), asked().where)
        by_index(Explaining(transaction), user, query, condition, DEPTH)  # type: ignore[arg-type]

    database.read(user, work)
    return "\n".join(lines)


def names(database: Any) -> list[str]:
    """Return the indexes of users."""
    found = database.read(None, lambda t: t.rows("SELECT relname FROM pg_class WHERE relname LIKE 'siltstone_near_%'"))
    return [name for (name,) in found]


def test_who_has_outgrown_comparing_has_an_index(database: Any) -> None:
    """One index, of the one user with more vectors than the limit, which their searches use; others compare all."""
    from siltstone.stores.sql.nearest import index_name

    assert names(database) == [index_name(USER, DIM)]
    assert index_name(USER, DIM) in plan(database, USER, vector(7))


def test_all_are_compared_until_there_is_an_index(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has outgrown comparing, and whose index is not built yet, has the nearest found, and by comparing once."""
    monkeypatch.setattr(database, "_exact_vectors", DEPTH)
    assert plan(database, "small", vector(7)) == ""
    assert nearest(database, "small", vector(7)) == nearest(database, "small", vector(7), exact=True)


def test_an_index_finds_what_comparing_finds(database: Any) -> None:
    """Of the ten nearest to each of 100 questions at least 95 in 100 are found; of a small user, all."""
    for user, least in ((USER, 0.95), ("small", 1.0)):
        found = [
            len(set(nearest(database, user, q)) & set(nearest(database, user, q, exact=True))) / DEPTH
            for q in (vector(10_000 + n) for n in range(100))
        ]
        print(f"{user}: recall@{DEPTH} {np.mean(found):.3f}")
        assert np.mean(found) >= least


def test_filters_hold_with_an_index(database: Any) -> None:
    """With a filter that one row of twenty meets, or few, as many are found as comparing finds, and none that fails."""
    store = SqlStore(database)
    rare = {int(record.id.removeprefix("turn:")) for record in store.scan(USER, Where()) if record.session_id == "rare"}
    assert len(rare) == MANY // 20
    for n in range(20):
        question = vector(20_000 + n)
        exact = nearest(database, USER, question, exact=True, session_id="rare")
        found = nearest(database, USER, question, session_id="rare")
        assert len(found) == DEPTH
        assert len(set(found) & set(exact)) >= 8
        records = [record for record in store.resolve(USER, found) if record is not None]
        assert {record.session_id for record in records} == {"rare"}
        assert {record.user_id for record in records} == {USER}
    only = [f"{n}" for n in range(MANY) if n not in (40, 41, 42)]
    assert len(nearest(database, USER, vector(1), exclude_ids=only)) == 3


def test_an_index_goes_with_its_user(database: Any) -> None:
    """Vectors of another width can follow, and when the user is forgotten no index names them any more."""
    store = SqlStore(database)
    assert names(database)
    store.set_fingerprint(space(name="wide", dim=24, seed=9))
    assert store.put_vectors(USER, store.pending(USER, 3), np.stack([vector(n, 24) for n in range(3)])) == 3
    store.remove(USER, [], everything=True)
    assert names(database) == []
