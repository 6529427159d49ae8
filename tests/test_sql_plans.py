"""How databases go about statements: plans that are kept, and rows that are not read."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from items import asked, said, space
from postgres_server import emptied
from siltstone.stores.sql.sqlite import SqliteDatabase, SqliteTransaction
from siltstone.stores.sql.store import SqlStore


def test_plans_outlive_what_was_read(postgres: str) -> None:
    """A connection keeps the plans of its statements from one search, and one write, to the next."""
    from siltstone.stores.sql.postgres import PostgresDatabase

    emptied(postgres)
    database = PostgresDatabase(postgres, connections=1)
    with closing(SqlStore(database)) as store:
        store.set_fingerprint(space())
        for n in range(10):
            store.commit("u", [said(str(n), f"a cat {n}", minute=n, seed=n)])
        for n in range(10):
            store.candidates("u", asked("cat", seed=n))
            store.fetch("u", [str(n)])
        with database._primary.one() as connection:
            kept = connection.execute("SELECT statement FROM pg_prepared_statements").fetchall()
        for beginning in ("SELECT (SELECT value", "SELECT r.number, r.document", "INSERT INTO siltstone_rows"):
            assert [statement for (statement,) in kept if statement.startswith(beginning)], beginning


def test_a_search_in_sqlite_reads_no_words_but_those_it_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of a user of many rows are looked up by term or by row, never all of them."""
    steps: list[str] = []
    rows = SqliteTransaction.rows

    def planned(self: SqliteTransaction, statement: str, *parameters: Any) -> Any:
        steps.extend(row[-1] for row in rows(self, f"EXPLAIN QUERY PLAN {statement}", *parameters))
        return rows(self, statement, *parameters)

    with closing(SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"), small=500)) as store:
        store.set_fingerprint(space())
        store.commit("u", [said(str(n), f"a cat {n}", minute=n, seed=n) for n in range(600)])
        store.candidates("u", asked("cat"))
        monkeypatch.setattr(SqliteTransaction, "rows", planned)
        store.candidates("u", asked("cat", "17", seed=3))

    of_words = [step for step in steps if "siltstone_terms" in step or step.startswith(("SEARCH t ", "SCAN t "))]
    assert of_words
    assert [step for step in of_words if "term=?" not in step and "number=?" not in step] == []


def plans_of_postgresql(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the steps of each statement's plan from now on."""
    from siltstone.stores.sql.postgres_transaction import PostgresTransaction

    steps: list[str] = []
    rows = PostgresTransaction.rows

    def planned(self: PostgresTransaction, statement: str, *parameters: Any) -> Any:
        steps.extend(step for (step,) in rows(self, f"EXPLAIN {statement}", *parameters))
        return rows(self, statement, *parameters)

    monkeypatch.setattr(PostgresTransaction, "rows", planned)
    return steps


def test_a_search_in_postgresql_reads_no_table_from_end_to_end(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a search asks of a user of many rows is found by indexes, and by the server's process of this connection
    alone: a table has the rows of others, and others ask at the same time.
    """
    from siltstone.stores.sql.postgres import PostgresDatabase

    emptied(postgres)
    with closing(SqlStore(PostgresDatabase(postgres), small=0)) as store:
        store.set_fingerprint(space())
        store.commit("u", [said(str(n), f"a cat {n}", minute=n, seed=n) for n in range(300)])
        steps = plans_of_postgresql(monkeypatch)
        with store._database._primary.one() as connection:  # type: ignore[attr-defined]
            for dear in ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"):
                connection.execute(f"SET {dear} = 0")  # such as they are for who has a million rows
        for question in (asked("cat", "17", seed=3), asked("cat", session_id="s"), asked()):
            store.candidates("u", question)

    assert [step for step in steps if "siltstone_rows" in step or "siltstone_terms" in step]
    assert [step for step in steps if "Seq Scan on siltstone" in step or "Gather" in step] == []


def vacuumed(connection: Any, *tables: str) -> None:
    """Do what the server does by itself, until no transaction from before keeps rows from being seen by all."""
    until = time.monotonic() + 60
    unseen = "SELECT count(*) FROM pg_class WHERE relname ~ %s AND relkind = 'r' AND relpages > relallvisible"
    pattern = rf"^({'|'.join(tables)})(_\d+)?$"
    while True:
        connection.execute(f"VACUUM ANALYZE {', '.join(tables)}")
        if connection.execute(unseen, (pattern,)).fetchone() == (0,):
            return
        assert time.monotonic() < until
        time.sleep(0.2)


def test_words_are_scored_without_their_table(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which rows hold the words of a question, and how often, PostgreSQL reads of the index alone: the table has each
    of them somewhere else.
    """
    from siltstone.stores.sql.postgres import PostgresDatabase

    emptied(postgres)
    database = PostgresDatabase(postgres)
    with closing(SqlStore(database, small=0)) as store:
        store.set_fingerprint(space())
        with database._primary.one() as connection:  # an index that other tests left large would be dear to read
            connection.execute("TRUNCATE siltstone_terms, siltstone_rows")
        store.commit("u", [said(str(n), f"a cat {n}", minute=n, seed=n) for n in range(300)])
        with database._primary.one() as connection:
            vacuumed(connection, "siltstone_terms", "siltstone_rows")
        steps = plans_of_postgresql(monkeypatch)
        store.candidates("u", asked("cat", "17", seed=3))

    of_words = [step for step in steps if " on siltstone_terms" in step]
    assert len(of_words) >= 3
    assert [step for step in of_words if "Index Only Scan" not in step] == []
