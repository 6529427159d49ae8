"""A streaming replica that searches read: they find what was written, whoever wrote it, or ask the primary."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from plain_and_encrypted import KEYS
from postgres_cluster import Standby, caught_up, streaming, told, wait_for
from postgres_server import Server, emptied, started
from siltstone import Settings, TieredMemory
from siltstone.cli.environment import settings as settings_of
from siltstone.errors import ConfigurationError
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

TALK = [("user", "My cat is called Miez."), ("assistant", "A good name."), ("user", "I live in Lisbon.")]


def opened(location: str | Path, replica: str | None = None, *, key: bytes | None = None) -> TieredMemory:
    """Open Alice's memory, with models that cost nothing."""
    return TieredMemory.open(
        location,
        user_id="alice",
        key=key,
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        clock=FrozenClock(),
        settings=Settings(embed_wait=10.0, replica=replica),
    )


Opened: TypeAlias = Callable[..., TieredMemory]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Standby]]:
    """A primary, and a standby that streams from it, for all tests here."""
    with started(tmp_path_factory.mktemp("runtime")) as primary, streaming(primary) as standby:
        yield primary, standby


@pytest.fixture
def pair(cluster: tuple[Server, Standby]) -> tuple[Server, Standby]:
    """The two, with nothing in them."""
    primary, standby = cluster
    emptied(primary.url)
    standby.again()
    caught_up(primary, standby)
    return cluster


@pytest.fixture(params=KEYS)
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """What opens the memory on a server, one that is plain or encrypted, with a standby or without."""
    key: bytes | None = request.param

    def opening(server: Server, standby: Standby | None = None) -> TieredMemory:
        location = server.url if key is None else f"{server.url}&keys={tmp_path / 'keys'}"
        return opened(location, None if standby is None else standby.url, key=key)

    return opening


def served(memory: TieredMemory) -> int:
    """Return how many reads the replica has answered."""
    store: Any = memory.handle.store  # type: ignore[attr-defined]
    return int(store._database._replica.served)


def found(memory: TieredMemory, question: str) -> list[str]:
    """Return the texts that a search finds."""
    return [hit.record.text for hit in memory.search(question)]


def test_searches_read_the_replica(pair: tuple[Server, Standby], opening: Opened) -> None:
    """A replica that has everything answers searches, with what the primary would answer; no other user's, either.

    It is read once for a user of few records: what was read is kept.
    """
    primary, standby = pair
    with opening(primary, standby) as memory, opening(primary) as straight:
        memory.add(TALK, session_id="monday")
        memory.for_user("bob").add([("user", "My cat is called Tom.")], session_id="monday")
        memory.flush()
        caught_up(primary, standby)
        before = served(memory)
        for question in ("What is the cat called?", "Where does Alice live?"):
            assert found(memory, question) == found(straight, question) != []
            assert not any("Tom" in text for text in found(memory, question))
        assert served(memory) == before + 1
        assert "Miez" in memory.context("What is my cat called?", max_tokens=200).text


def test_what_was_written_is_read(pair: tuple[Server, Standby], opening: Opened) -> None:
    """While a replica is behind, searches of users who were written to since read the primary: whoever wrote, added to
    or forgot; other users' go on reading the replica.
    """
    primary, standby = pair
    with opening(primary, standby) as memory, opening(primary) as other:
        memory.for_user("bob").add(TALK, session_id="monday")
        memory.add(TALK, session_id="monday")
        memory.flush()
        caught_up(primary, standby)
        told(standby, "SELECT pg_wal_replay_pause()")
        wait_for(standby, "SELECT pg_get_wal_replay_pause_state()", "paused")
        memory.remember("Alice prefers tea.")
        before = served(memory)
        assert "Alice prefers tea." in found(memory, "What does Alice prefer?")
        other.remember("Alice plays the oboe.")
        assert "Alice plays the oboe." in found(memory, "What does Alice play?")
        other.forget(session_id="monday")
        assert not any("Miez" in text for text in found(memory, "What is the cat called?"))
        assert served(memory) == before
        assert any("Miez" in text for text in found(memory.for_user("bob"), "What is the cat called?"))
        assert served(memory) == before + 1
        told(standby, "SELECT pg_wal_replay_resume()")
        other.remember("Alice plays the flute.")
        caught_up(primary, standby)
        assert "Alice plays the flute." in found(memory, "What does Alice play?")
        assert served(memory) == before + 2


def test_without_its_replica_a_search_reads_the_primary(
    pair: tuple[Server, Standby], opening: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    """A replica that is gone, at the opening or later, is named in the log, once, and nothing else is missing."""
    primary, standby = pair
    with opening(primary, standby) as memory:
        memory.add(TALK, session_id="monday")
        memory.flush()
        caught_up(primary, standby)
        standby.kill()
        with caplog.at_level(logging.WARNING, "siltstone"):
            for _ in range(3):
                assert any("Miez" in text for text in found(memory, "What is the cat called?"))
    assert [record.message.split(" (")[0] for record in caplog.records] == [
        f"the replica at postgresql://postgres@/postgres?host={standby.data} does not answer"
    ]
    with opening(primary, standby) as memory:
        assert any("Miez" in text for text in found(memory, "What is the cat called?"))


def test_another_database_is_no_replica(pair: tuple[Server, Standby], postgres: str) -> None:
    """A replica that is a store of its own is refused at the opening."""
    primary, _ = pair
    emptied(postgres)
    for url in (postgres, primary.url):
        with opened(url) as memory:
            memory.add(TALK, session_id="monday")
    with pytest.raises(ConfigurationError, match="is no replica of"):
        opened(primary.url, postgres)


def test_a_replica_is_of_a_server_alone(tmp_path: Path) -> None:
    """A folder, a file and ``:memory:`` have no replica, and say so; a variable can name one."""
    for location in (tmp_path / "folder", f"sqlite:///{tmp_path / 'memory.db'}", ":memory:"):
        with pytest.raises(ConfigurationError, match=r"Settings\.replica is for a postgresql:// store"):
            opened(location, "postgresql://standby/memory")
    assert settings_of({"SILTSTONE_REPLICA": "postgresql://standby/memory"}).replica == "postgresql://standby/memory"
