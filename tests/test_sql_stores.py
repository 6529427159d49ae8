"""Stores on SQL engines, beyond the contract that all stores share: files, servers, walls between users, kills."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from items import asked, known, said, space, vector
from listening import NAMELESS, Listening
from memory_places import empty_location
from postgres_server import Server, emptied
from siltstone import Message, Settings, TieredMemory
from siltstone.errors import (
    BackendUnavailableError,
    ConfigurationError,
    NotFoundError,
    ReadOnlyError,
    StoreCorruptedError,
    StoreLockedError,
    StoreVersionError,
)
from siltstone.opening import open_store
from siltstone.protocols import Refusal, Where
from siltstone.stores.sql.postgres_tables import PARTITIONS
from siltstone.stores.sql.schema import BY_USER
from siltstone.stores.sql.sqlite import SqliteDatabase
from siltstone.stores.sql.store import SqlStore
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

TALK = [
    ("user", "I'm Alice, a front-end engineer in Shenzhen."),
    ("assistant", "Nice to meet you, Alice!"),
    ("user", "我对花生过敏，周末想去爬山。"),
    ("assistant", "好的，我记住了。"),
    ("user", "My cat is called Miez, and I moved to Lisbon in May."),
]
KILLS = int(os.environ.get("SILTSTONE_KILLS", "3"))
QUESTIONS = ["Where does Alice live?", "我对什么过敏？", "What is the cat called?"]


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store of each engine is."""
    return empty_location(request.param, request, tmp_path)


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    """Where the file of a SQLite store is to be."""
    return tmp_path / "memory.db"


def opened(location: str | Path, **options: Any) -> TieredMemory:
    """Open Alice's memory, with models that cost nothing."""
    options = {"user_id": "alice", "embedder": HashEmbedder(), "token_counter": WordCounter(), **options}
    return TieredMemory.open(location, clock=FrozenClock(), **options)


# --- the memory over them


def test_memory_is_the_same_on_every_engine(location: str, tmp_path: Path) -> None:
    """What was added in one opening is found in the next, in the order that the embedded store gives, and forgotten."""
    found = []
    for place in (tmp_path / "folder", location):
        with opened(place) as memory:
            memory.add(TALK, session_id="monday")
            memory.remember("Alice prefers tea.", kind="profile")
            memory.for_user("bob").add([("user", "My cat is called Tom.")], session_id="monday")
        with opened(place) as memory:
            found.append([[hit.record.text for hit in memory.search(question)] for question in QUESTIONS])
            assert "Miez" in memory.context("What is my cat called?", max_tokens=200).text
            assert "Tom" not in memory.context("What is my cat called?", max_tokens=200).text
            (tea,) = memory.records(kinds="profile")
            memory.update(tea.id, text="Alice prefers coffee.")
            assert [old.text for old in memory.history(tea.id)] == ["Alice prefers tea."]
            memory.forget(session_id="monday")
            assert [record.text for record in memory.records()] == ["Alice prefers coffee."]
            memory.add(TALK, session_id="monday")
            assert memory.messages("monday") == []  # what was forgotten stays forgotten
    assert found[0] == found[1]


def test_export_is_the_same_from_every_engine(location: str, tmp_path: Path) -> None:
    """A user's file comes out of an engine as it went in, byte for byte."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    with opened(tmp_path / "folder") as memory:
        ids = memory.add(TALK, session_id="monday")
        memory.add([("user", "I moved to Porto.")], session_id="tuesday")
        memory.remember("Alice has a cat.", source_ids=ids[4:], metadata={"sure": 0.9})
        memory.export_to(first)
    with opened(location) as memory:
        assert memory.import_from(first).failed == 0
        memory.export_to(second)
    assert first.read_bytes() == second.read_bytes()


def test_consolidation_runs_on_every_engine(location: str) -> None:
    """Spans are digested, statements revised, and jobs kept, as in the embedded store."""
    with opened(location, settings=Settings(span_turns=4)) as memory:
        memory.add([("user", "I live in Berlin."), ("assistant", "Good.")] * 4, session_id="monday")
        memory.add([("user", "I live in Lisbon now."), ("assistant", "Good.")] * 4, session_id="tuesday")
        memory.consolidate()
        current = [record.text for record in memory.records(kinds=["profile", "fact"]) if record.valid_until is None]
        assert current
        assert memory.stats().jobs.get("waiting", 0) == 0


def test_ids_of_any_characters_come_back(location: str) -> None:
    """NUL, backslashes and quotes in ids of users and sessions neither break a statement nor collide."""
    odd = ["a\\0b", "a\0b", "a\\\0b", "'; DROP TABLE siltstone_rows; --", '"%s?', "用户\\"]
    with opened(location) as memory:
        for number, name in enumerate(odd):
            memory.for_user(name).add([("user", f"number {number}")], session_id=name)
    with opened(location) as memory:
        for number, name in enumerate(odd):
            view = memory.for_user(name)
            assert [info.session_id for info in view.sessions()] == [name]
            assert [message.content for message in view.messages(name)] == [f"number {number}"]


def test_an_id_that_no_store_can_have_is_not_there(location: str) -> None:
    """A lone surrogate in an id that is looked for finds nothing, nor what has its escape for an id."""
    with opened(location) as memory:
        memory.add([Message("user", "hello there", id="\\ud800")], session_id="s")
        assert [hit.record.text for hit in memory.search("hello", exclude_ids=["\ud800"])] == ["hello there"]
        assert memory.search("hello", exclude_ids=["\\ud800"]) == []
        with pytest.raises(NotFoundError):
            memory.messages("s", before="\ud800")


def test_refusals_of_opening_are_sentences(location: str) -> None:
    """A store that is not there is not made where that was not asked for; a reader writes nothing."""
    if location.startswith("sqlite"):
        for options in ({"create": False}, {"read_only": True}):
            with pytest.raises(NotFoundError, match="nothing was made"):
                opened(location, **options)
    with opened(location) as memory:
        memory.add(TALK, session_id="monday")
    with opened(location, read_only=True) as memory, pytest.raises(ReadOnlyError):
        memory.add(TALK, session_id="monday")
    for wrong in ("sqlite://", "sqlite:///", "sqlite://file.db", "mysql://server/db"):
        with pytest.raises(ConfigurationError):
            opened(wrong)


def test_forked_child_uses_connections_of_its_own(location: str) -> None:
    """A child that was forked with the store open writes and reads, and so does its parent afterwards."""
    with opened(location) as memory:
        memory.add([("user", "before the fork")], session_id="s")
        context = multiprocessing.get_context("fork")
        child = context.Process(target=lambda: memory.add([("user", "in the child")], session_id="s"))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        memory.add([("user", "after the fork")], session_id="s")
        assert [m.content for m in memory.messages("s")] == ["before the fork", "in the child", "after the fork"]


def test_no_turn_of_the_usage_is_lost_between_two_processes(location: str) -> None:
    """Two openings that count on one page at once lose no count."""
    stores: list[Any] = [
        open_store(location, durability="fsync", read_only=False, create=True, lock_timeout=30, history=1).store
        for _ in range(2)
    ]

    def counting(store: Any) -> None:
        for _ in range(40):
            store.turn_usage(lambda page: {"n": page.get("n", 0) + 1})

    threads = [threading.Thread(target=counting, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores[0].usage() == {"n": 80}
    for store in stores:
        store.close()


# --- walls between users


class Overheard(SqliteDatabase):
    """A database all of whose statements are noted."""

    statements: set[str]

    def read(self, user_id: str | None, work: Any) -> Any:
        """Listen to its transaction."""
        return super().read(user_id, lambda inner: work(Listening(inner, self._note)))

    def write(self, user_id: str | None, work: Any) -> Any:
        """Listen to its transaction."""
        return super().write(user_id, lambda inner: work(Listening(inner, self._note)))

    def _note(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self.statements.add(statement)


def test_every_statement_names_the_user(sqlite_file: Path) -> None:
    """No statement on a table of users' rows lacks the user, of any table in it: so users can live on other nodes.

    Only the list of users has none to name, and the look at who is due.
    """
    database = Overheard(sqlite_file, "sqlite:///memory.db")
    database.statements = set()
    store = SqlStore(database)
    store.set_fingerprint(space())
    store.commit("u", [said(str(n), f"text {n} of cats", minute=n, seed=n) for n in range(30)])
    store.commit("u", [said("1", "changed", version=2), known("f", "a fact", source_ids=["1"], metadata={"a": 1})])
    store.put_vectors("u", store.pending("u", 9), np.stack([vector(50), vector(51)]))
    store.candidates("u", asked("cat", "text", seed=3, metadata={"a": 1}, exclude_ids=["2"], session_id="s"))
    for list_all in (store.scan("u", Where()), store.items("u")):
        list(list_all)
    store.messages("u", "s", limit=3, before="9")
    store.dependents("u", ["1"])
    store.resolve("u", [1])
    store.vectors("u", [1])
    store.stats("u")
    store.sessions("u")
    store.refused("u", [said("1", "x")])
    store.remove("u", ["3"], transcripts=[Refusal("s", id="3")])
    store.remove("u", [], everything=True)
    store.set_fingerprint(space(name="other", seed=9))
    list(store.users())
    for statement in database.statements:
        tables = re.findall(r"(?:FROM|JOIN|INTO|UPDATE) (siltstone_\w+)(?: ([a-z])\b)?", statement)
        for table, alias in tables:
            if table not in BY_USER or statement.startswith(NAMELESS):
                continue
            column = f"{alias}.user_id" if alias else "user_id"
            named = rf"{re.escape(column)} = |= {re.escape(column)}\b|INTO {table} \([^)]*user_id"
            assert re.search(named, statement), statement


def test_server_shows_a_user_nothing_of_others(postgres: str) -> None:
    """Row-level security is a wall of its own: a connection that has not said for whom it asks sees no row.

    So it is in the partitions, which another program may read past their table.
    """
    import psycopg

    emptied(postgres)
    with opened(postgres) as memory:
        memory.add(TALK, session_id="monday")
        memory.for_user("bob").add([("user", "My cat is called Tom.")], session_id="monday")
        for one in (memory, memory.for_user("bob")):
            one.forget(ids=[one.remember("Nobody should know.")])
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("INSERT INTO siltstone_sealed VALUES ('alice', 1, ''), ('bob', 1, '')")
        connection.execute("DROP ROLE IF EXISTS app")
        connection.execute("CREATE ROLE app")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO app")
        connection.execute("SET ROLE app")
        for tenant, expected in (("", set()), ("alice", {"alice"}), ("bob", {"bob"}), ("carol", set())):
            connection.execute("SELECT set_config('siltstone.tenant', %s, false)", (tenant,))
            for table in BY_USER:
                parts = " UNION ".join(f"SELECT user_id FROM {table}_{part}" for part in range(PARTITIONS))
                for query in (f"SELECT DISTINCT user_id FROM {table}", parts):
                    seen = connection.execute(query).fetchall()
                    if table != "siltstone_refused":
                        assert {user for (user,) in seen} == expected, query
        connection.execute("SET siltstone.tenant = 'bob'")
        assert connection.execute("DELETE FROM siltstone_rows WHERE user_id = 'alice'").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO siltstone_refused VALUES ('alice', 'hash')")
        connection.execute("RESET ROLE")
        connection.execute("DROP OWNED BY app")
        connection.execute("DROP ROLE app")


# --- SQLite's file


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """A file that is made can be read by nobody else; one that was there keeps the mode that it was given."""
    file = tmp_path / "new.db"
    old_mask = os.umask(0o022)
    try:
        opened(f"sqlite:///{file}").close()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.chmod(0o640)
        opened(f"sqlite:///{file}").close()
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
    finally:
        os.umask(old_mask)


def test_forgotten_words_are_in_no_byte_of_the_file(sqlite_file: Path) -> None:
    """After ``forget`` neither text nor vector is in the file or beside it, in any of their versions."""
    word = "Kanarienvogel"
    with opened(f"sqlite:///{sqlite_file}") as memory:
        memory.add([("user", f"number {n}") for n in range(50)], session_id="other")
        ids = memory.add([("user", f"My {word} sings.")], session_id="monday")
        memory.flush()
        noted = memory.remember(f"Alice has a {word}.", source_ids=ids, metadata={"pet": word})
        memory.update(noted, text=f"Alice had a {word}.")
        half = HashEmbedder().embed_documents([f"user: My {word} sings."])[0].astype(np.float16).tobytes()
        assert word.encode() in sqlite_file.read_bytes()
        memory.forget(session_id="monday")
        for file in sqlite_file.parent.iterdir():
            for hidden in (word.encode(), word.encode("utf-16-le"), word.encode("utf-16-be"), half[:64]):
                assert hidden not in file.read_bytes(), file


def test_other_files_are_refused(sqlite_file: Path) -> None:
    """Another program's database, a newer format, and bytes that are no database are told apart, and left alone."""
    other = sqlite3.connect(sqlite_file)
    other.execute("CREATE TABLE mine (x)")
    other.close()
    before = sqlite_file.read_bytes()
    with pytest.raises(StoreCorruptedError, match="something else"):
        opened(f"sqlite:///{sqlite_file}")
    assert sqlite_file.read_bytes() == before
    sqlite_file.write_bytes(b"no database at all, but long enough to be looked at" * 50)
    with pytest.raises(StoreCorruptedError, match="no database"):
        opened(f"sqlite:///{sqlite_file}")
    sqlite_file.unlink()
    opened(f"sqlite:///{sqlite_file}").close()
    newer = sqlite3.connect(sqlite_file)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(StoreVersionError, match="99"):
        opened(f"sqlite:///{sqlite_file}")


def test_a_writer_that_waits_too_long_says_so(sqlite_file: Path) -> None:
    """While another program has the file, a write waits for ``lock_timeout`` and then fails, with nothing changed."""
    with opened(f"sqlite:///{sqlite_file}", settings=Settings(lock_timeout=0.2)) as memory:
        memory.add([("user", "one")], session_id="s")
        other = sqlite3.connect(sqlite_file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError):
            memory.add([("user", "two")], session_id="s")
        other.execute("ROLLBACK")
        other.close()
        memory.add([("user", "three")], session_id="s")
        assert [m.content for m in memory.messages("s")] == ["one", "three"]


def test_a_user_of_a_server_who_is_held_too_long_is_an_error(postgres: str) -> None:
    """While another connection holds a user, a write of theirs waits for ``lock_timeout`` and fails; others go on."""
    import psycopg

    emptied(postgres)
    with opened(postgres, settings=Settings(lock_timeout=0.2)) as memory:
        memory.add([("user", "one")], session_id="s")
        with psycopg.connect(postgres) as other:
            other.execute("SELECT pg_advisory_xact_lock(hashtextextended('alice', 5117))")
            with pytest.raises(StoreLockedError, match=r"more than 0\.2 s"):
                memory.add([("user", "two")], session_id="s")
            assert memory.for_user("bob").add([("user", "mine")], session_id="s")
        memory.add([("user", "three")], session_id="s")
        assert [m.content for m in memory.messages("s")] == ["one", "three"]


# --- kills

WRITER = textwrap.dedent(
    """
    import sys
    sys.path[:0] = sys.argv[3:]
    from siltstone import TieredMemory
    from siltstone.testing import HashEmbedder, WordCounter

    location, name = sys.argv[1:3]
    memory = TieredMemory.open(location, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter())
    for n in range(10_000):
        memory.add([("user", f"{name} {n} a"), ("user", f"{name} {n} b")], session_id=name)
        print(n, flush=True)
    """
)


def started(location: str, name: str) -> subprocess.Popen[str]:
    """Start a writer, which prints the number of each pair of messages that was acknowledged."""
    command = [sys.executable, "-c", WRITER, location, name, *sys.path]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(writer: subprocess.Popen[str]) -> int:
    """Return how many pairs a dead writer had acknowledged."""
    assert writer.stdout is not None
    count = len(writer.stdout.read().splitlines())
    writer.stdout.close()
    return count


def whole_pairs(memory: TieredMemory, name: str) -> int:
    """Return how many pairs of a writer are stored, each once and whole."""
    texts = [message.content for message in memory.messages(name)]
    assert texts == [f"{name} {n} {half}" for n in range(len(texts) // 2) for half in "ab"]
    return len(texts) // 2


@pytest.mark.timeout(300 + 60 * KILLS)
def test_killed_writers_lose_nothing(location: str) -> None:
    """Two writers killed at random moments, again and again: what was acknowledged is there, once, and whole."""
    opened(location).close()
    told = there = 0
    for round in range(KILLS):
        names = [f"w{round}-{n}" for n in range(2)]
        writers = [started(location, name) for name in names]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()  # one pair is in
        time.sleep(random.Random(round).uniform(0.05, 0.4))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        counts = [1 + acknowledged(writer) for writer in writers]
        with opened(location) as memory:
            for name, count in zip(names, counts, strict=True):
                stored = whole_pairs(memory, name)
                assert stored in (count, count + 1)
                told, there = told + count, there + stored
    print(f"{2 * KILLS} clients killed: {told} pairs acknowledged, {there} stored, each once and whole")


@pytest.mark.timeout(300 + 60 * KILLS)
def test_killed_server_loses_nothing_and_clients_recover(own_server: Server) -> None:
    """A server killed under load and started again: the writer goes on by itself, with each message once."""
    opened(own_server.url).close()
    writer = started(own_server.url, "w")
    assert writer.stdout is not None
    for _ in range(KILLS):
        for _ in range(5):
            assert writer.stdout.readline()
        own_server.kill()
        assert own_server.start() == own_server.url
    for _ in range(5):
        assert writer.stdout.readline()  # after at most as many seconds as the server takes to recover
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    count = 5 * KILLS + 5 + acknowledged(writer)
    with opened(own_server.url) as memory:
        stored = whole_pairs(memory, "w")
        print(f"server killed {KILLS} times: {count} pairs acknowledged, {stored} stored, each once and whole")
        assert stored in (count, count + 1)


def test_server_that_is_gone_is_an_error_within_a_deadline(own_server: Server) -> None:
    """Without a server a read and a write fail by name, and what was before is there when it comes back."""
    from siltstone.stores.sql.postgres import PostgresDatabase

    store = SqlStore(PostgresDatabase(own_server.url, deadline=1.0))
    store.commit("u", [said("a", "one")])
    own_server.kill()
    with pytest.raises(BackendUnavailableError, match="nothing was acknowledged"):
        store.commit("u", [said("b", "two")])
    with pytest.raises(BackendUnavailableError):
        store.messages("u", "s")
    own_server.start()
    store.commit("u", [said("c", "three", minute=1)])
    assert [message.content for message in store.messages("u", "s")] == ["one", "three"]
    store.close()
