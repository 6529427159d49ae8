"""The tables, by numbered steps. Every key begins with the user, so that users can be partitioned, distributed, and
walled off.

``siltstone_rows``     each version of each item: what a filter or a rank needs, and its document
``siltstone_terms``    how often a live row holds a term; terms are hashed, reserved ones (sources, metadata) too
``siltstone_vectors``  the vector of a live row
``siltstone_sealed``   the same of an encrypted store, of which ``sealed`` says what other columns hold
``siltstone_refused``  hashes of what was forgotten
``siltstone_audit``    what was done for good: ids and counts, no text; under the user ``""`` what was done to the store
``siltstone_users``    what is counted of each user
``siltstone_due``      who is to be consolidated from when on, and who is at it
``siltstone_meta``     what belongs to the store: embedding space, use of models, secret of the hashes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...errors import StoreVersionError


@dataclass(frozen=True)
class Step:
    """What makes a format of the one before it; never changed once it is released.

    ``{blob}`` and ``{vector}`` in the statements are the engine's types, ``{by_user}`` is how a table is partitioned.
    ``by_user`` are the tables made here whose rows each belong to a user, ``fill`` fills them; ``on_server`` are
    statements for PostgreSQL alone.
    """

    statements: tuple[str, ...]
    by_user: tuple[str, ...] = ()
    fill: tuple[str, ...] = ()
    on_server: tuple[str, ...] = ()

    @property
    def of_server(self) -> tuple[str, ...]:
        """All statements for PostgreSQL but ``fill``."""
        return (*self.statements, *self.on_server)


CELLS: Final = (
    "kind",
    "role",
    "said_at",
    "occurred_at",
    "valid_until",
    "expires_at",
    "importance",
    "traits",
    "text_hash",
    "lengths",
)
"""Columns of a row that follow from the item alone, by the names of ``table.rows.SPEC``."""
COLUMNS: Final = (
    "user_id",
    "number",
    "origin",
    "id",
    "version",
    "alive",
    "searchable",
    "is_message",
    "embedded",
    "session",
    "speaker",
    *CELLS,
    "document",
    "sealed",
)
"""The columns of ``siltstone_rows``."""

_TABLES: Final = (
    """
    CREATE TABLE IF NOT EXISTS siltstone_meta (name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name))
    """,
    """
    CREATE TABLE IF NOT EXISTS siltstone_users (
        user_id TEXT NOT NULL, born TEXT NOT NULL, revision BIGINT NOT NULL, number BIGINT NOT NULL,
        records BIGINT NOT NULL, words BIGINT NOT NULL, vectors BIGINT NOT NULL,
        PRIMARY KEY (user_id)
    ) {by_user}
    """,
    """
    CREATE TABLE IF NOT EXISTS siltstone_rows (
        user_id TEXT NOT NULL, number BIGINT NOT NULL, origin BIGINT NOT NULL, id TEXT NOT NULL,
        version INTEGER NOT NULL, alive BOOLEAN NOT NULL, searchable BOOLEAN NOT NULL, is_message BOOLEAN NOT NULL,
        embedded BOOLEAN NOT NULL, session TEXT, speaker TEXT, kind SMALLINT NOT NULL, role SMALLINT NOT NULL,
        said_at BIGINT NOT NULL, occurred_at BIGINT NOT NULL, valid_until BIGINT NOT NULL, expires_at BIGINT NOT NULL,
        importance REAL, traits SMALLINT NOT NULL, text_hash BIGINT NOT NULL, lengths INTEGER NOT NULL,
        document {blob} NOT NULL,
        PRIMARY KEY (user_id, number)
    ) {by_user}
    """,
    "CREATE UNIQUE INDEX IF NOT EXISTS siltstone_live ON siltstone_rows (user_id, id) WHERE alive",
    "CREATE INDEX IF NOT EXISTS siltstone_versions ON siltstone_rows (user_id, origin, version)",
    """
    CREATE INDEX IF NOT EXISTS siltstone_sessions ON siltstone_rows (user_id, session, said_at, origin) WHERE alive
    """,
    """
    CREATE INDEX IF NOT EXISTS siltstone_pending ON siltstone_rows (user_id, number)
        WHERE alive AND searchable AND NOT embedded
    """,
    """
    CREATE TABLE IF NOT EXISTS siltstone_terms (
        user_id TEXT NOT NULL, term BIGINT NOT NULL, number BIGINT NOT NULL, held INTEGER NOT NULL,
        PRIMARY KEY (user_id, term, number)
    ) {by_user}
    """,
    "CREATE INDEX IF NOT EXISTS siltstone_terms_of_row ON siltstone_terms (user_id, number)",
    """
    CREATE TABLE IF NOT EXISTS siltstone_vectors (
        user_id TEXT NOT NULL, number BIGINT NOT NULL, vector {vector} NOT NULL, PRIMARY KEY (user_id, number)
    ) {by_user}
    """,
    """
    CREATE TABLE IF NOT EXISTS siltstone_refused (user_id TEXT NOT NULL, hash TEXT NOT NULL,
        PRIMARY KEY (user_id, hash)) {by_user}
    """,
)

STEPS: Final = (
    Step(
        _TABLES,
        ("siltstone_rows", "siltstone_terms", "siltstone_vectors", "siltstone_refused", "siltstone_users"),
    ),
    Step(("ALTER TABLE siltstone_users ADD COLUMN receipts TEXT NOT NULL DEFAULT ''",)),
    Step(
        (
            """
            CREATE TABLE siltstone_due (
                user_id TEXT NOT NULL, written_at BIGINT NOT NULL, due_at BIGINT NOT NULL, turn BIGINT NOT NULL,
                owner TEXT NOT NULL, leased_until BIGINT NOT NULL,
                PRIMARY KEY (user_id)
            ) {by_user}
            """,
            "CREATE INDEX siltstone_due_at ON siltstone_due (due_at)",
        ),
        ("siltstone_due",),
        ("INSERT INTO siltstone_due SELECT user_id, 0, 0, 1, '', 0 FROM siltstone_users",),
    ),
    Step(
        (
            """
            CREATE TABLE siltstone_audit (
                user_id TEXT NOT NULL, key BIGINT NOT NULL, said_at BIGINT NOT NULL, line TEXT NOT NULL,
                PRIMARY KEY (user_id, key)
            ) {by_user}
            """,
        ),
        ("siltstone_audit",),
    ),
    Step(
        (
            "ALTER TABLE siltstone_users ADD COLUMN key_id TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE siltstone_rows ADD COLUMN sealed {blob}",
            """
            CREATE TABLE siltstone_sealed (
                user_id TEXT NOT NULL, number BIGINT NOT NULL, vector {blob} NOT NULL, PRIMARY KEY (user_id, number)
            ) {by_user}
            """,
        ),
        ("siltstone_sealed",),
    ),
    Step(()),  # partitions are walled off as their tables are: see postgres_tables
    Step(  # the index tells how often a row holds a term: the table has each of them somewhere else
        (),
        on_server=(
            "ALTER TABLE siltstone_terms DROP CONSTRAINT siltstone_terms_pkey",
            "ALTER TABLE siltstone_terms ADD CONSTRAINT siltstone_terms_pkey "
            "PRIMARY KEY (user_id, term, number) INCLUDE (held)",
        ),
    ),
)
"""The first makes format 1 in an empty database, each later one the next format."""
FORMAT: Final = len(STEPS)
BY_USER: Final = tuple(table for step in STEPS for table in step.by_user)
"""Tables whose rows each belong to a user."""
OF_ITEMS: Final = tuple(table for table in BY_USER if table not in ("siltstone_refused", "siltstone_audit"))
"""Those of what a user has, as long as it is not forgotten."""


def check_format(location: str, format: int, *, migrates: bool) -> None:
    """Raise ``StoreVersionError`` for tables of a newer release, and for older ones unless they are to be migrated."""
    if format > FORMAT:
        raise StoreVersionError(
            f"{location} has format {format}, and this release knows {FORMAT}: nothing was changed; install a newer "
            "siltstone"
        )
    if format < FORMAT and not migrates:
        raise StoreVersionError(
            f"{location} has format {format}, and this release reads {FORMAT}: nothing was changed; open it once "
            f"without read_only, which brings it up to date, as siltstone consolidate --store {location} does"
        )
