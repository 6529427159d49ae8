"""A PostgreSQL primary of a test's own with streaming standbys, which can be killed and promoted."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postgres_server import Server


class Standby(Server):
    """A standby that streams from a server; started by ``pg_ctl``, which knows when a standby is ready.

    What lies where its data are to be is deleted: a former primary starts over.
    """

    def __init__(self, data: Path, primary: Server) -> None:
        from pgserver.postgres_server import POSTGRES_BIN_PATH

        self._bin = Path(POSTGRES_BIN_PATH)
        self._user = "pgserver" if os.geteuid() == 0 else None
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(mode=0o700)
        self.data = data
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            os.chown(data, owner.pw_uid, owner.pw_gid)
        self._run("pg_basebackup", "-D", str(data), "-d", primary.url, "-R", "-X", "stream", "-c", "fast")
        super().__init__(data)

    def start(self) -> str:
        """Start it where it does not run; return its URL."""
        (self.data / ".s.PGSQL.5432.lock").unlink(missing_ok=True)  # copied from the primary, or left by a kill
        log, options = self.data / "log", f"-h '' -k {self.data}"
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "-l", str(log), "-o", options, "start")
        return f"postgresql://postgres:@/postgres?host={self.data}"

    def promote(self) -> None:
        """Have it become the primary; return when it takes writes."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "promote")

    def again(self) -> None:
        """Start it if it was killed, and have it replay if that was stopped."""
        if not (self.data / "postmaster.pid").exists():
            self.start()
        told(self, "SELECT pg_wal_replay_resume()")

    def alone(self) -> None:
        """Have commits wait for no standby of its own any more."""
        told(self, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._bin / program, *arguments]
        done = subprocess.run(command, user=self._user, cwd="/", capture_output=True, text=True, timeout=120)
        if done.returncode:
            log = self.data / "log"
            pytest.fail(f"{program}: {done.stderr} {log.read_text() if log.exists() else ''}")


def asked(server: Server, query: str) -> Any:
    """Return the one value that a query gives."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        ((value,),) = connection.execute(query).fetchall()
    return value


def told(server: Server, *statements: str) -> None:
    """Carry out statements."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def wait_for(server: Server, query: str, value: Any) -> None:
    """Wait until a query gives a value."""
    deadline = time.monotonic() + 60
    while (present := asked(server, query)) != value:
        assert time.monotonic() < deadline, f"{query}: {present!r}"
        time.sleep(0.02)


def synchronous(primary: Server) -> None:
    """Have commits of a primary wait until its standby has them on disk."""
    told(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
    wait_for(primary, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", 1)


def caught_up(primary: Server, standby: Standby) -> None:
    """Wait until a standby has replayed what the primary has written."""
    wait_for(standby, f"SELECT pg_last_wal_replay_lsn() >= '{asked(primary, 'SELECT pg_current_wal_lsn()')}'", True)


@pytest.fixture
def pair(own_server: Server) -> Iterator[tuple[Server, Standby]]:
    """A primary, and a standby that streams from it."""
    with streaming(own_server) as standby:
        yield own_server, standby


@contextmanager
def streaming(primary: Server) -> Iterator[Standby]:
    """Give a standby that streams from a server as long as the block."""
    with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:
        os.chmod(folder, 0o755)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("pgserver")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        standby = Standby(Path(folder, "standby"), primary)
        wait_for(primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", 1)
        yield standby
        standby.kill()
