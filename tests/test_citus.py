"""Users on nodes of their own: the tables for Citus, and that each statement can be carried out where its user is."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from items import asked, known, said, space, vector
from listening import NAMELESS, Listening
from plain_and_encrypted import KEYS
from postgres_server import Server, emptied
from siltstone import TieredMemory
from siltstone.protocols import Refusal, Where
from siltstone.stores.sql.schema import BY_USER
from siltstone.stores.sql.store import SqlStore
from siltstone.stores.sql.unlocking import unlocked
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

STUBS = """
    CREATE TABLE told (name TEXT, by TEXT, beside TEXT);
    CREATE FUNCTION create_distributed_table(name TEXT, by TEXT, colocate_with TEXT DEFAULT 'default') RETURNS VOID
        LANGUAGE SQL AS 'INSERT INTO told VALUES (name, by, colocate_with)';
    CREATE FUNCTION create_reference_table(name TEXT) RETURNS VOID
        LANGUAGE SQL AS 'INSERT INTO told VALUES (name, NULL, NULL)';
"""
"""In place of Citus's own functions: they note what they are told."""


def use(store: SqlStore) -> None:
    """Have a store say everything that it can."""
    store.set_fingerprint(space())
    store.commit("u", [said(str(n), f"text {n} of cats", minute=n, seed=n) for n in range(30)])
    store.commit("u", [said("1", "changed", version=2), known("f", "a fact", source_ids=["1"], metadata={"a": 1})])
    store.commit("v", [said("1", "another", user="v", seed=1)])
    store.put_vectors("u", store.pending("u", 9), np.stack([vector(50), vector(51)]))
    conditions: list[dict[str, Any]] = [
        {},
        {"metadata": {"a": 1}, "exclude_ids": ["2"]},
        {"session_id": "s", "exclude_session_id": "t"},
    ]
    for where in conditions:
        store.candidates("u", asked("cat", "text", seed=3, **where))
    store.candidates("u", asked())
    list(store.scan("u", Where(kinds=("fact",))))
    list(store.items("u"))
    list(store.users())
    store.fetch("u", ["1"])
    store.messages("u", "s", limit=3, before="9")
    store.dependents("u", ["1"])
    store.resolve("u", [1])
    store.vectors("u", [1])
    store.stats("u")
    store.sessions("u")
    store.remains("u")
    store.refused("u", [said("1", "x")])
    store.turn_usage(lambda page: page)
    store.usage()
    for again in (None, 1.0):
        claim = store.claim("me", pause=0.0, lease=60.0)
        assert claim is not None
        store.release(claim, again)
    store.remove("u", ["3"], transcripts=[Refusal("s", id="3")])
    store.remove("u", [], everything=True)
    store.set_fingerprint(space(name="other", seed=9))


@dataclass
class Heard:
    """Every statement of a store, by the user in whose transaction it was, with parameters; and its users' names."""

    statements: dict[tuple[str, str | None], Any]
    users: tuple[str, str]


@pytest.fixture(params=KEYS)
def heard(request: pytest.FixtureRequest, postgres: str, tmp_path: Path) -> Heard:
    """What is heard of a store, plain or encrypted."""
    from siltstone.stores.sql.postgres import PostgresDatabase

    noted: dict[tuple[str, str | None], Any] = {}

    class Overheard(PostgresDatabase):
        """A database all of whose statements are noted."""

        def read(self, user_id: str | None, work: Any) -> Any:
            """Listen to its transaction."""
            return super().read(user_id, self._listened(user_id, work))

        def glance(self, work: Any) -> Any:
            """Listen to its statement."""
            return super().glance(self._listened(None, work))

        def write(self, user_id: str | None, work: Any) -> Any:
            """Listen to its transaction."""
            return super().write(user_id, self._listened(user_id, work))

        def _listened(self, user_id: str | None, work: Any) -> Any:
            def note(statement: str, rows: Sequence[Sequence[Any]]) -> None:
                for row in rows[:1]:
                    noted.setdefault((statement, user_id), row)

            return lambda inner: work(Listening(inner, note))

    emptied(postgres)
    database = Overheard(postgres)
    veils = unlocked(database, request.param, str(tmp_path / "keys"), create=True, lock_timeout=10)
    store = SqlStore(database, veils=veils)
    use(store)
    store.close()
    return Heard(noted, (veils.user("u"), veils.user("v")))


def scanned(plan: Any) -> Iterator[str]:
    """Yield the names of the tables that a plan reads or changes."""
    if isinstance(plan, dict):
        if "Relation Name" in plan and plan.get("Node Type", "ModifyTable") != "ModifyTable":  # that names the whole
            yield plan["Relation Name"]
        for part in plan.values():
            yield from scanned(part)
    elif isinstance(plan, list):
        for part in plan:
            yield from scanned(part)


def test_every_statement_stays_with_its_user(heard: Heard, postgres: str) -> None:
    """The server's plan of each statement touches the one partition of its user, in every table and subquery.

    So does Citus find the one node for it: what prunes partitions prunes shards. What is inserted has the user first.
    """
    from siltstone.stores.sql.connections import Connections
    from siltstone.stores.sql.postgres_transaction import PostgresTransaction

    first, second = heard.users
    assert len(heard.statements) > 50
    with closing(Connections(postgres, 1)) as pool, pool.one() as connection:
        transaction = PostgresTransaction(connection)
        query = "SELECT n FROM generate_series(0, 15) n WHERE satisfies_hash_partition(?::regclass, 16, n, ?::text)"
        homes = {user: str(transaction.rows(query, "siltstone_rows", user)[0][0]) for user in heard.users}
        assert first != "u" or homes[first] != homes[second]  # names of an encrypted store are drawn
        for (statement, user), parameters in heard.statements.items():
            if statement.startswith(NAMELESS):
                assert " JOIN " not in statement
                assert "FOR UPDATE" not in statement
                continue
            inserted = re.match(r"INSERT INTO (siltstone_\w+) \(([^)]*)\)", statement)
            if inserted and inserted[1] in BY_USER:
                assert parameters[inserted[2].split(", ").index("user_id")] in heard.users, statement
                continue
            ((plan,),) = transaction.rows(f"EXPLAIN (FORMAT JSON) {statement}", *parameters)
            parts = set()
            for name in scanned(plan):
                table, part = re.fullmatch(r"([a-z_]+?)(?:_(\d+))?", name).groups()  # type: ignore[union-attr]
                if table in BY_USER:
                    parts.add(part or "all")
            allowed = {homes[user]} if user is not None else set(homes.values())
            assert parts <= allowed, f"{statement}\nreads partitions {sorted(parts)}, not {allowed}"
            assert len(parts) <= 1, statement


def test_no_statement_breaks_a_rule_of_citus(heard: Heard, postgres: str) -> None:
    """No statement moves a row to another user, and none that writes calls a function that may differ among nodes."""
    import psycopg

    with psycopg.connect(postgres) as connection:
        found = connection.execute("SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v'").fetchall()
    volatile = {name for (name,) in found}
    for statement, _ in heard.statements:
        assert not re.search(r"SET .*\buser_id = ", statement.partition(" WHERE ")[0]), statement
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            called = set(re.findall(r"\b([a-z_]+)\(", statement))
            assert not called & volatile, statement
        assert "(" not in statement.partition("DO UPDATE SET")[2], statement


def test_the_tables_for_citus_are_those_of_one_server(own_server: Server) -> None:
    """What ``python -m siltstone.stores.sql.citus`` prints makes a store that works: tables by user, together.

    Citus's own functions are stood in for, and note what they are told.
    """
    import psycopg

    command = [sys.executable, "-m", "siltstone.stores.sql.citus"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        connection.execute(STUBS)
        connection.execute(printed.encode())
        told = {name: (by, beside) for name, by, beside in connection.execute("SELECT * FROM told").fetchall()}
        assert told.pop("siltstone_meta") == (None, None)
        assert told.pop("siltstone_users") == ("user_id", "default")
        assert told == {table: ("user_id", "siltstone_users") for table in BY_USER if table != "siltstone_users"}
        keys = connection.execute(
            "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a "
            "ON a.attrelid = c.oid AND a.attnum = i.indkey[0] WHERE i.indisunique AND c.relname LIKE 'siltstone%'"
        ).fetchall()
        assert {name for table, name in keys if table != "siltstone_meta"} == {"user_id"}
    with TieredMemory.open(
        own_server.url, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter(), clock=FrozenClock()
    ) as memory:
        memory.add([("user", "My cat is called Miez.")], session_id="monday")
        assert "Miez" in memory.context("What is my cat called?", max_tokens=200).text
        assert "`VACUUM FULL siltstone_rows," in memory.forget(session_id="monday").remains[0]
