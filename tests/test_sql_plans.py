"""How databases go about statements: plans that are kept, and rows that are not read."""

from __future__ import annotations

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
