"""Several worker processes over one database: they share what is due, and take over what a killed one had begun."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import shared_worker
from items import said
from memory_places import empty_location
from postgres_server import emptied
from siltstone import Settings, TieredMemory
from siltstone.lifecycle.consolidate import Consolidator
from siltstone.lifecycle.jobs import jobs
from siltstone.protocols import Claim
from siltstone.stores.sql.dialect import Transaction
from siltstone.stores.sql.due import take_due
from siltstone.stores.sql.sqlite import SqliteDatabase
from siltstone.stores.sql.store import SqlStore
from siltstone.stores.sql.veil import PlainVeils
from siltstone.testing import HashEmbedder, WordCounter

KILLS = int(os.environ.get("SILTSTONE_KILLS", "3"))
USERS = 24


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store of each engine is."""
    return empty_location(request.param, request, tmp_path)


@contextmanager
def opened(location: str) -> Iterator[TieredMemory]:
    """Open a memory that leaves consolidating to others."""
    settings = Settings(span_turns=4, span_idle=float("inf"), session_idle=float("inf"))
    with TieredMemory.open(location, embedder=HashEmbedder(), token_counter=WordCounter(), settings=settings) as memory:
        yield memory


def talk(memory: TieredMemory, numbers: range) -> None:
    """Have users say something that is due at once, each in a session of their own name."""
    for n in numbers:
        said = [
            ("user", f"I have a dog named Rex{n}. I love jazz."),
            ("assistant", "What a nice name for a dog that is."),
            ("user", "I'm flying to Kyoto on June 3."),
            ("assistant", "Have a good trip, and take care."),
        ]
        memory.for_user(f"u{n}").add(said, session_id=f"u{n}")


def started(location: str, log: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a worker process; return when it has the store open."""
    command = [sys.executable, shared_worker.__file__, location, str(log), str(seconds), *sys.path]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "open\n"
    return worker


def killed(workers: list[subprocess.Popen[str]]) -> None:
    """Kill workers at once."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()
        assert worker.stdout is not None
        worker.stdout.close()


def wait_until_at_work(worker: subprocess.Popen[str], log: Path) -> None:
    """Wait until a worker has begun with another span."""
    before = log.read_text() if log.exists() else ""
    deadline = time.monotonic() + 60
    while f"{worker.pid} " not in log.read_text()[len(before) :]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def left(memory: TieredMemory) -> set[str]:
    """Return who is still due."""
    database = memory.handle.store._database  # type: ignore[attr-defined]
    return {user for (user,) in database.read(None, lambda t: t.rows("SELECT user_id FROM siltstone_due"))}


def wait_until_done(memory: TieredMemory, seconds: float = 120) -> None:
    """Wait until nobody is due any more."""
    deadline = time.monotonic() + seconds
    while left(memory):
        assert time.monotonic() < deadline, f"still due: {left(memory)}"
        time.sleep(0.1)


def check_once(memory: TieredMemory, count: int) -> None:
    """Check that what each user said has been taken in exactly once."""
    for n in range(count):
        view = memory.for_user(f"u{n}")
        covered = [id for job in jobs(memory.handle.store, f"u{n}") if job.covers for id in job.source_ids]  # type: ignore[attr-defined]
        assert len(covered) == len(set(covered)) == 4
        (pet,) = [record for record in view.records() if record.topic == "user · pet"]
        assert (pet.text, pet.support) == (f"I have a dog named Rex{n}", 1)


def test_workers_share_what_is_due(location: str, tmp_path: Path) -> None:
    """Two worker processes digest what 24 users said, each span once, and both do their part."""
    log = tmp_path / "log"
    with opened(location) as memory:
        workers = [started(location, log, 0.05) for _ in range(2)]
        talk(memory, range(USERS))
        wait_until_done(memory)
        killed(workers)
        check_once(memory, USERS)
    lines = [line.split() for line in log.read_text().splitlines()]
    assert Counter(session for _, session in lines) == {f"u{n}": 1 for n in range(USERS)}
    assert {int(pid) for pid, _ in lines} == {worker.pid for worker in workers}


@pytest.mark.timeout(300 + 60 * KILLS)
def test_killed_workers_are_taken_over(location: str, tmp_path: Path) -> None:
    """Workers killed while they are at work, again and again: others begin anew, and all is taken in once."""
    log, count = tmp_path / "log", 4 * KILLS
    with opened(location) as memory:
        workers = [started(location, log, 0.5) for _ in range(2)]
        for round in range(KILLS):
            talk(memory, range(4 * round, 4 * round + 4))
            victim = workers.pop(0)
            wait_until_at_work(victim, log)
            killed([victim])
            workers.append(started(location, log, 0.5))
        wait_until_done(memory)
        killed(workers)
        check_once(memory, count)
    begun = Counter(line.split()[1] for line in log.read_text().splitlines())
    again = sum(times - 1 for times in begun.values())
    print(f"{KILLS} workers killed at work: {again} spans begun again, {count} of {count} taken in, once each")
    assert again == KILLS
    assert set(begun) == {f"u{n}" for n in range(count)}


def test_workers_who_look_at_once_take_different_users(postgres: str) -> None:
    """Whoever looks while another is taking a user takes somebody else, or nobody, and does not wait."""
    from siltstone.stores.sql.postgres import PostgresDatabase

    emptied(postgres)
    database = PostgresDatabase(postgres, lock_timeout=1.0)
    with closing(SqlStore(database)) as store:
        for user in ("u", "v"):
            store.commit(user, [said("1", "I love jazz.", user=user)])

        def taking(transaction: Transaction) -> list[Claim | None]:
            first = take_due(database, transaction, PlainVeils(database), "first", 0.0, 60.0)
            return [first, *(store.claim(owner, pause=0.0, lease=60.0) for owner in ("second", "third"))]

        claims = database.write(None, taking)
    assert [claim and claim.user_id for claim in claims] == ["u", "v", None]


def test_a_write_during_the_work_is_not_taken_for_done(tmp_path: Path) -> None:
    """A user who writes while a worker has them is due again when that gives them back, and another can take them."""
    store = SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"))
    with TieredMemory.open(store, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "one")], session_id="s")
        claim = store.claim("me", pause=0.0, lease=60.0)
        assert claim is not None
        assert claim.user_id == "default"
        assert store.claim("other", pause=0.0, lease=60.0) is None
        memory.add([("user", "two")], session_id="s")
        store.release(claim, None)
        again = store.claim("other", pause=0.0, lease=60.0)
        assert again is not None
        assert again.turn > claim.turn
        store.release(claim, None)  # late, and no longer its own
        assert store.claim("third", pause=0.0, lease=60.0) is None
        store.release(again, 60.0)
        assert store.claim("third", pause=0.0, lease=60.0) is None
        memory.forget(everything=True)
        assert left(memory) == set()


def test_a_failure_stays_in_sight_while_nobody_is_due(tmp_path: Path) -> None:
    """What went wrong is told until a run goes well, not until the next look at an empty queue."""
    settings = Settings(span_turns=4, worker=True, worker_pause=0.0, retry_wait=600.0)
    looked = threading.Semaphore(0)
    claim = SqlStore.claim

    def counted(store: SqlStore, *args: Any, **options: Any) -> Claim | None:
        looked.release()
        return claim(store, *args, **options)

    with (
        patch.object(Consolidator, "run", side_effect=RuntimeError("no such thing")),
        patch.object(SqlStore, "claim", counted),
        TieredMemory.open(
            f"sqlite:///{tmp_path / 'memory.db'}",
            embedder=HashEmbedder(),
            token_counter=WordCounter(),
            settings=settings,
        ) as memory,
    ):
        talk(memory, range(1))
        deadline = time.monotonic() + 60
        while memory.stats().last_error is None:
            assert time.monotonic() < deadline
        while looked.acquire(blocking=False):
            pass
        for _ in range(3):  # looks that find nobody
            assert looked.acquire(timeout=60)
        assert memory.stats().last_error == "RuntimeError: no such thing"
