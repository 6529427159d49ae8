"""The tables for Citus: the same ones, distributed by user and co-located, in place of partitions on one server.

    python -m siltstone.stores.sql.citus | psql "postgresql://app@coordinator/memory"

Once, before the first opening. Afterwards stores are opened through the coordinator, whose advisory locks have the
writers of a user take turns. No statement of siltstone lacks the user or joins across users, so that each goes to the
one node where its user is; only the list of users, and the look at who is due, go to all.
"""

from __future__ import annotations

from .postgres_tables import VECTORS, distribution, engine_statement, walls
from .schema import BY_USER, FORMAT, STEPS

_SETTINGS = """DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET citus.propagate_set_commands = %L', current_database(), 'local');
END $$"""
"""Row-level security asks on the nodes, too, for whom a transaction works."""


def statements() -> list[str]:
    """Return what makes the tables, in order."""
    tables = [engine_statement(statement, "").strip() for step in STEPS for statement in step.of_server]
    users_first = sorted(BY_USER, key=lambda table: table != "siltstone_users")
    return [
        VECTORS,
        *tables,
        "SELECT create_reference_table('siltstone_meta')",
        *(distribution(table) for table in users_first),
        *(wall for table in BY_USER for wall in walls(table)),
        _SETTINGS,
        f"INSERT INTO siltstone_meta (name, value) VALUES ('format', '{FORMAT}')",
    ]


if __name__ == "__main__":
    print("BEGIN;", *(f"{statement};" for statement in statements()), "COMMIT;", sep="\n")
