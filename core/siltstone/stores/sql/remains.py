"""What PostgreSQL still holds of deleted rows: pages, its write-ahead log, copies. Facts of the server as it is now."""

from __future__ import annotations

from collections.abc import Iterator

from .dialect import Transaction
from .postgres_tables import part_of
from .schema import BY_USER


def remains(transaction: Transaction, user: str) -> Iterator[str]:
    """Yield where deleted rows of a user are kept, and how to end that, a sentence each."""
    yield (
        "Their rows stay in the pages of the tables until these are rewritten: "
        f"`VACUUM FULL {', '.join(_tables(transaction, user))}` does that, and locks them for as long as it takes; "
        "without FULL, VACUUM frees the room and leaves the bytes until something else needs it."
    )
    if older := _older(transaction):
        yield f"VACUUM keeps them for whoever may still see them: end {', '.join(older)} first."
    yield (
        "The write-ahead log holds them until its files go: `ALTER SYSTEM SET wal_recycle = off`, "
        "`SELECT pg_reload_conf()`, `SELECT pg_switch_wal()` and `CHECKPOINT`, once the tables are rewritten."
    )
    if kept := _kept(transaction):
        yield f"The log is kept beyond that by {', '.join(kept)}."
    yield "Dumps and base backups from before hold them, too: delete those, and take new ones."


def _tables(transaction: Transaction, user: str) -> list[str]:
    """Return the tables or partitions in which the user's rows were."""
    part = part_of(transaction, user)
    return [f"{table}{part}" for table in BY_USER]


def _older(transaction: Transaction) -> list[str]:
    """Return what keeps deleted rows from being cleared: transactions, and what holds them for others."""
    sessions = transaction.rows(
        "SELECT pid FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() "
        "AND xact_start < statement_timestamp() - interval '1 minute' ORDER BY xact_start"
    )
    prepared = transaction.rows("SELECT gid FROM pg_prepared_xacts ORDER BY prepared")
    slots = transaction.rows(
        "SELECT slot_name FROM pg_replication_slots WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL ORDER BY 1"
    )
    return [
        *(f"the transaction of process {pid}" for (pid,) in sessions),
        *(f"the prepared transaction {gid}" for (gid,) in prepared),
        *(f"the slot {name}" for (name,) in slots),
    ]


def _kept(transaction: Transaction) -> list[str]:
    """Return who keeps the write-ahead log, or has it too."""
    slots = transaction.rows("SELECT slot_name FROM pg_replication_slots ORDER BY 1")
    ((archive, size),) = transaction.rows("SELECT current_setting('archive_mode'), current_setting('wal_keep_size')")
    ((standbys,),) = transaction.rows("SELECT count(*) FROM pg_stat_replication")
    return [
        *(f"the slot {name}" for (name,) in slots),
        *(["the archive (archive_mode), which is yours to clear"] if archive != "off" else []),
        *([f"wal_keep_size = {size}"] if size not in ("0", "0MB") else []),
        *([f"standbys, {standbys} by now, each in a log of its own"] if standbys else []),
    ]
