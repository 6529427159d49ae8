"""A primary killed under load, its synchronous standby promoted: clients find it by themselves, and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from postgres_cluster import Standby, asked, synchronous
from postgres_server import Server
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

KILLS = int(os.environ.get("SILTSTONE_KILLS", "3"))
WRITERS = 4
WRITER = textwrap.dedent(
    """
    import sys
    sys.path[:0] = sys.argv[4:]
    from siltstone import TieredMemory
    from siltstone.testing import HashEmbedder, WordCounter

    location, user, name = sys.argv[1:4]
    memory = TieredMemory.open(location, user_id=user, embedder=HashEmbedder(), token_counter=WordCounter())
    for n in range(100_000):
        memory.add([("user", f"{name} {n} a"), ("user", f"{name} {n} b")], session_id=name)
        print(n, flush=True)
    """
)


class Writer:
    """A process that adds pairs of messages without end, and notes each that was acknowledged."""

    def __init__(self, location: str, user: str, name: str, folder: Path) -> None:
        self.user, self.name, self._log = user, name, folder / name
        with self._log.open("w") as log:
            command = [sys.executable, "-c", WRITER, location, user, name, *sys.path]
            self._process = subprocess.Popen(command, stdout=log)

    def acknowledged(self) -> int:
        """Return how many pairs were acknowledged."""
        return self._log.read_text().count("\n")

    def wait_for(self, count: int) -> None:
        """Wait until so many pairs are acknowledged."""
        deadline = time.monotonic() + 90
        while self.acknowledged() < count:
            assert self._process.poll() is None, f"{self.name} has given up"
            assert time.monotonic() < deadline, f"{self.name} does not recover"
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill it."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def stored(server: Server, writer: Writer) -> int:
    """Return how many messages of a writer a server has."""
    return int(asked(server, f"SELECT count(*) FROM siltstone_rows WHERE session = '{writer.name}' AND is_message"))


def whole_pairs(memory: TieredMemory, writer: Writer) -> int:
    """Return how many pairs of a writer are stored, each once and whole."""
    texts = [message.content for message in memory.for_user(writer.user).messages(writer.name)]
    assert texts == [f"{writer.name} {n} {half}" for n in range(len(texts) // 2) for half in "ab"]
    return len(texts) // 2


@pytest.mark.timeout(300 + 60 * KILLS)
def test_failover_loses_nothing_and_clients_recover(
    pair: tuple[Server, Standby], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The primary is killed under load and its standby promoted, again and again, and a new standby made of the loser.

    Four writers, two of them for one user, go on by themselves through the URL that names both servers; all that was
    acknowledged is on the promoted server, each message once.
    """
    primary: Server
    standby: Server
    primary, standby = pair
    hosts = ",".join(str(server.data) for server in (primary, standby))
    location = f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write"
    TieredMemory.open(location, embedder=HashEmbedder(), token_counter=WordCounter()).close()
    writers = [Writer(location, f"u{n // 2}", f"w{n}", tmp_path) for n in range(WRITERS)]
    request.addfinalizer(lambda: [writer.kill() for writer in writers])
    for writer in writers:
        writer.wait_for(1)
    away = []
    for round in range(KILLS):
        synchronous(primary)
        before = [writer.acknowledged() for writer in writers]
        for writer, count in zip(writers, before, strict=True):
            writer.wait_for(count + 2)
        time.sleep(random.Random(round).uniform(0.0, 0.3))
        primary.kill()
        began = time.monotonic()
        assert isinstance(standby, Standby)
        standby.promote()
        acknowledged = [writer.acknowledged() for writer in writers]
        there = [stored(standby, writer) for writer in writers]
        assert all(have >= 2 * told for have, told in zip(there, acknowledged, strict=True)), (there, acknowledged)
        standby.alone()
        for writer, count in zip(writers, acknowledged, strict=True):
            writer.wait_for(count + 2)
        away.append(time.monotonic() - began)
        timeline = asked(standby, "SELECT pg_walfile_name(pg_current_wal_lsn())")[:8]
        print(
            f"kill {round + 1}: timeline {int(timeline, 16)}, {sum(acknowledged)} pairs acknowledged, "
            f"{sum(there) / 2:g} on the promoted server; all clients are back after {away[-1]:.1f} s"
        )
        assert int(timeline, 16) == round + 2
        primary, standby = standby, Standby(primary.data, standby)
    for writer in writers:
        writer.kill()
    standby.kill()
    with TieredMemory.open(location, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        for writer in writers:
            assert whole_pairs(memory, writer) - writer.acknowledged() in (0, 1)
