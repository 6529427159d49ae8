"""How PostgreSQL's tables are made and brought up to date: in one transaction, by one process at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .dialect import Transaction
from .schema import BY_USER, FORMAT, STEPS, check_format

if TYPE_CHECKING:
    import psycopg

PARTITIONS: Final = 16
"""Of each table, by the hash of the user."""
LOCK: Final = 5117
"""The advisory lock under which tables are made; users are locked by the hashes of their ids beside it."""
VECTORS: Final = "CREATE EXTENSION IF NOT EXISTS vector"
SPACE_LOCK: Final = 5118
"""The advisory lock that writers share, and that whoever changes the embedding space has alone."""
BUILD_LOCK: Final = 5119
"""The advisory lock under which one process at a time builds the index of a user."""


def read_format(connection: psycopg.Connection[Any]) -> int | None:
    """Return the format of the tables, ``None`` where there are none."""
    ((there,),) = connection.execute("SELECT to_regclass('siltstone_meta') IS NOT NULL").fetchall()
    if not there:
        return None
    found = connection.execute("SELECT value FROM siltstone_meta WHERE name = 'format'").fetchall()
    return int(found[0][0]) if found else None


def bring_up_to_date(connection: psycopg.Connection[Any], location: str, lock_timeout: float) -> None:
    """Take the steps that are missing, all or none; processes that start at once take turns.

    Others may go on meanwhile: a step that needs a table waits for their transactions, ``lock_timeout`` seconds at
    most.
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
    connection.execute(f"SET LOCAL lock_timeout = {int(lock_timeout * 1000)}")
    connection.execute("SET LOCAL siltstone.everyone = 'on'")
    format = read_format(connection) or 0
    check_format(location, format, migrates=True)
    divided = format == 0 or _is_divided(connection)
    if format == 0:
        connection.execute(VECTORS)
    for step in STEPS[format:]:
        for statement in step.of_server:
            connection.execute(engine_statement(statement, "PARTITION BY HASH (user_id)" if divided else ""))
        for table in step.by_user:
            for statement in partitions(table) if divided else [distribution(table)]:
                connection.execute(statement)
        for statement in step.fill:
            connection.execute(statement)
    for table in _without_walls(connection):
        for statement in walls(table):
            connection.execute(statement)
    connection.execute(
        "INSERT INTO siltstone_meta VALUES ('format', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (str(FORMAT),),
    )


def _is_divided(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the tables are divided here, and not among Citus's nodes."""
    found = connection.execute("SELECT relkind FROM pg_class WHERE oid = 'siltstone_users'::regclass").fetchall()
    return found == [("p",)]


def _without_walls(connection: psycopg.Connection[Any]) -> list[str]:
    """Return the tables and partitions of users' rows that no wall is around yet: a partition has not its table's."""
    found = connection.execute(
        "SELECT c.oid::regclass::text FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid "
        "WHERE c.relkind IN ('r', 'p') AND NOT c.relrowsecurity "
        "AND COALESCE(i.inhparent, c.oid) = ANY(%s::regclass[])",
        (list(BY_USER),),
    )
    return [name for (name,) in found.fetchall()]


def engine_statement(statement: str, by_user: str) -> str:
    """Return a statement of a step with PostgreSQL's types; ``by_user`` divides a table."""
    return statement.format(blob="BYTEA", vector="HALFVEC", by_user=by_user)


def partitions(table: str) -> list[str]:
    """Return what divides a table by the hash of the user, on one server."""
    return [
        f"CREATE TABLE IF NOT EXISTS {table}_{part} PARTITION OF {table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part})"
        for part in range(PARTITIONS)
    ]


def part_of(transaction: Transaction, user: str) -> str:
    """Return what the names of the partitions with a user's rows end in; nothing where tables are not divided here."""
    found = transaction.rows(
        "SELECT n FROM generate_series(0, ? - 1) n, pg_class c WHERE c.oid = 'siltstone_rows'::regclass "
        "AND c.relkind = 'p' AND satisfies_hash_partition(c.oid, ?, n, ?::text)",
        PARTITIONS,
        PARTITIONS,
        user,
    )
    return f"_{found[0][0]}" if found else ""


def distribution(table: str) -> str:
    """Return what divides a table among Citus's nodes, a user's rows of all tables together on one of them."""
    beside = "" if table == "siltstone_users" else ", colocate_with => 'siltstone_users'"
    return f"SELECT create_distributed_table('{table}', 'user_id'{beside})"


def walls(table: str) -> list[str]:
    """Return what walls users off from each other."""
    return [
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY siltstone_by_user ON {table} USING (user_id = current_setting('siltstone.tenant', true) "
        "OR current_setting('siltstone.everyone', true) = 'on')",
    ]
