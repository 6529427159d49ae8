"""The tables of SQL engines by numbered steps: old ones are brought up to date once, newer ones are left alone."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from postgres_server import Server
from siltstone import TieredMemory
from siltstone.errors import StoreLockedError, StoreVersionError
from siltstone.settings import Settings
from siltstone.stores.sql.postgres_tables import PARTITIONS
from siltstone.stores.sql.schema import BY_USER, FORMAT
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

OLD = Path(__file__).parent / "fixtures/sql/format-1.sql"
"""A file of format 1, as the release that made it left it: a message, and a record, of Alice's."""
BACK_TO_1 = (
    "DROP TABLE siltstone_sealed",
    "ALTER TABLE siltstone_rows DROP COLUMN sealed",
    "ALTER TABLE siltstone_users DROP COLUMN key_id",
    "DROP TABLE siltstone_audit",
    "DROP TABLE siltstone_due",
    "ALTER TABLE siltstone_users DROP COLUMN receipts",
    "UPDATE siltstone_meta SET value = '1' WHERE name = 'format'",
)
"""What makes format 1 of PostgreSQL's tables."""
WRITER = textwrap.dedent(
    """
    import sys
    sys.path[:0] = sys.argv[3:]
    from siltstone import TieredMemory
    from siltstone.testing import HashEmbedder, WordCounter

    location, name = sys.argv[1:3]
    with TieredMemory.open(location, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", f"I am {name}")], session_id=name)
    """
)


def opened(location: str, *, read_only: bool = False, lock_timeout: float = 10.0) -> TieredMemory:
    """Open Alice's memory, with models that cost nothing."""
    return TieredMemory.open(
        location,
        user_id="alice",
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        clock=FrozenClock(),
        read_only=read_only,
        settings=Settings(lock_timeout=lock_timeout),
    )


def four_at_once(location: str) -> None:
    """Open a store in four processes at the same moment; each adds a message."""
    names = [f"w{n}" for n in range(4)]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, location, name, *sys.path]) for name in names]
    assert [writer.wait(120) for writer in writers] == [0] * 4
    with opened(location) as memory:
        assert {info.session_id for info in memory.sessions()} >= set(names)


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file of format 1."""
    file = tmp_path / "memory.db"
    connection = sqlite3.connect(file)
    connection.executescript(OLD.read_text())
    connection.close()
    return file


def format_of(file: Path) -> int:
    """Return the format of a file."""
    connection = sqlite3.connect(file)
    (format,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(format)


def test_old_file_is_brought_up_to_date(old_file: Path) -> None:
    """What a file of the first format holds is found, changed and added to, and the file is of the present format."""
    with opened(f"sqlite:///{old_file}") as memory:
        assert [m.content for m in memory.messages("monday")] == [
            "My cat is called Miez, and I moved to Lisbon in May."
        ]
        assert "Miez" in memory.context("What is my cat called?", max_tokens=200).text
        memory.add([("user", "My dog is called Rex.")], session_id="monday")
        memory.forget(kinds="profile")
        assert len(memory.messages("monday")) == 2
    assert format_of(old_file) == FORMAT


def test_old_file_is_brought_up_to_date_once(old_file: Path) -> None:
    """Four processes that open an old file at once take its steps once between them."""
    four_at_once(f"sqlite:///{old_file}")


def test_new_file_is_made_once(tmp_path: Path) -> None:
    """Four processes that open a missing file at once make it once between them."""
    four_at_once(f"sqlite:///{tmp_path / 'new.db'}")


def test_old_file_is_not_changed_by_a_reader(old_file: Path) -> None:
    """A reader is told that the format is an older one, and what brings it up to date; the file stays as it was."""
    before = old_file.read_bytes()
    with pytest.raises(
        StoreVersionError,
        match=r"has format 1, and .* without read_only.* siltstone consolidate --store sqlite",
    ):
        opened(f"sqlite:///{old_file}", read_only=True)
    assert old_file.read_bytes() == before


def test_a_step_that_fails_changes_nothing(old_file: Path) -> None:
    """A file in which a step stumbles over what is there already stays as it was, in its old format."""
    connection = sqlite3.connect(old_file)
    connection.execute("ALTER TABLE siltstone_users ADD COLUMN receipts TEXT")
    connection.close()
    before = old_file.read_bytes()
    with pytest.raises(Exception, match="receipts"):
        opened(f"sqlite:///{old_file}")
    assert old_file.read_bytes() == before


def test_processes_that_start_at_once_make_the_tables_once(own_server: Server) -> None:
    """Four openings of an empty database at the same moment all succeed, and what each adds is there."""
    four_at_once(own_server.url)


def test_old_tables_are_brought_up_to_date_once(own_server: Server) -> None:
    """Openings of a database of the first format at once keep what it holds, and add to it; a reader is refused."""
    import psycopg

    with opened(own_server.url) as memory:
        memory.add([("user", "My cat is called Miez.")], session_id="monday")
    with psycopg.connect(own_server.url) as connection:
        for statement in BACK_TO_1:
            connection.execute(statement)
    with pytest.raises(StoreVersionError, match="has format 1"):
        opened(own_server.url, read_only=True)
    four_at_once(own_server.url)
    with opened(own_server.url) as memory:
        assert [m.content for m in memory.messages("monday")] == ["My cat is called Miez."]


def test_old_partitions_are_walled_off(own_server: Server) -> None:
    """Partitions of a format that had walls around whole tables only get their own, of every table."""
    import psycopg

    opened(own_server.url).close()
    bare = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND NOT relforcerowsecurity"
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        assert connection.execute(bare).fetchall() == []
        parts = connection.execute("SELECT tablename FROM pg_policies WHERE tablename ~ '_[0-9]+$'").fetchall()
        assert len(parts) == PARTITIONS * len(BY_USER)
        for (part,) in parts:
            connection.execute(f"DROP POLICY siltstone_by_user ON {part}")
            connection.execute(f"ALTER TABLE {part} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY")
        connection.execute("UPDATE siltstone_meta SET value = '5' WHERE name = 'format'")
        opened(own_server.url).close()
        assert connection.execute(bare).fetchall() == []
        assert connection.execute("SELECT count(*) FROM pg_policies").fetchall() == [((PARTITIONS + 1) * len(BY_USER),)]


def test_tables_in_use_are_left_alone(own_server: Server) -> None:
    """A step that needs a table which another program holds waits for ``lock_timeout``, and then changes nothing."""
    import psycopg

    opened(own_server.url).close()
    with psycopg.connect(own_server.url, autocommit=True) as connection, psycopg.connect(own_server.url) as other:
        for statement in BACK_TO_1:
            connection.execute(statement)
        other.execute("SELECT * FROM siltstone_users")
        with pytest.raises(StoreLockedError):
            opened(own_server.url, lock_timeout=0.2)
        assert connection.execute("SELECT value FROM siltstone_meta WHERE name = 'format'").fetchall() == [("1",)]


def test_tables_of_a_newer_release_are_refused(own_server: Server) -> None:
    """Tables of a newer format are named, and nothing is changed."""
    import psycopg

    opened(own_server.url).close()
    with psycopg.connect(own_server.url) as connection:
        connection.execute("UPDATE siltstone_meta SET value = '99' WHERE name = 'format'")
    with pytest.raises(StoreVersionError, match=f"format 99, and this release knows {FORMAT}: nothing was changed"):
        opened(own_server.url)
