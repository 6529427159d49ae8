"""Recent turns in Redis: a true copy of the store, through outages, kills, evictions and other people's keys."""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from memory_places import empty_location
from plain_and_encrypted import KEY
from redis_server import Server, free_port, needed
from siltstone import Message, Settings, TieredMemory
from siltstone.errors import BackendUnavailableError, ConfigurationError
from siltstone.stores.ram import RamStore
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

pytest.importorskip("redis", reason="needs the extra redis")

from siltstone.stores.redis import keys
from siltstone.stores.redis.turns import RedisShortTerm

NOON = datetime(2026, 5, 8, 12, tzinfo=timezone.utc)
DEGRADE = Settings(short_term_down="degrade")
KILLS = int(os.environ.get("SILTSTONE_KILLS", "3"))
PROCESSES = multiprocessing.get_context("spawn")


def opened(location: Any, short_term: Any, **options: Any) -> TieredMemory:
    """Return a memory whose recent turns are in Redis."""
    return TieredMemory.open(
        location, embedder=HashEmbedder(), token_counter=WordCounter(), short_term=short_term, **options
    )


def windowed(memory: TieredMemory, session_id: str = "s") -> list[str]:
    """Return the contents of the window."""
    return [message.content for message in memory.window(session_id, max_tokens=10_000)]


# --- one line to ask for it


def test_an_address_is_all_it_takes(redis_url: str, own_redis: Server) -> None:
    """Turns are served from Redis: what is read is a copy there of the store as it is now."""
    with opened(":memory:", own_redis.url) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
        assert windowed(memory) == ["I keep bees."]
        memory.add([("assistant", "How nice.")], session_id="s")
        before = own_redis.client().info("commandstats")["cmdstat_rpush"]["calls"]
        for _ in range(3):
            assert windowed(memory) == ["I keep bees.", "How nice."]
        assert own_redis.client().info("commandstats")["cmdstat_rpush"]["calls"] == before
        assert "How nice." in own_redis.words()


def test_settings_reach_the_tier(redis_url: str, own_redis: Server) -> None:
    """Time to live, number of turns and prefix are settings, and the keys live no longer than the turns."""
    settings = Settings(short_term_ttl=100, short_term_turns=2, short_term_prefix="app:1")
    with opened(":memory:", own_redis.url, settings=settings) as memory:
        memory.add([("user", text) for text in ("one", "two", "three")], session_id="s")
        assert windowed(memory) == ["two", "three"]
        client = own_redis.client()
        assert {name.decode() for name in client.scan_iter()} == {"app:1:run", "app:1:{default}", "app:1:{default}:s"}
        assert 0 < client.pttl("app:1:{default}:s") <= 100_001


@pytest.mark.parametrize(
    ("short_term", "told"),
    [
        ("redis.example", "redis://HOST"),
        ("http://:s3cret@redis.example", "redis://HOST"),
        ("redis://:s3cret@host:port/0", "from_url"),
        ("redis://host:99999/0?socket_timeout=s3cret", "from_url"),
        (3, "int"),
    ],
)
def test_what_is_no_tier_is_refused(short_term: Any, told: str) -> None:
    """What cannot be a short-term tier is refused by name, with no password repeated."""
    with pytest.raises(ConfigurationError, match=told) as raised:
        opened(":memory:", short_term)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("limits", [{"ttl": timedelta(0)}, {"turns": 0}, {"prefix": "a{b}"}, {"prefix": ""}])
def test_limits_that_cannot_work_are_refused(limits: dict[str, Any]) -> None:
    """No time to live, no turns, and a prefix that would move keys to other slots."""
    with pytest.raises(ConfigurationError, match="nothing was opened"):
        RedisShortTerm("redis://localhost", **limits)


def test_an_encrypted_store_takes_none(tmp_path: Path) -> None:
    """Turns of an encrypted store are not put into Redis in the clear."""
    pytest.importorskip("cryptography", reason="needs the extra encryption")
    with pytest.raises(ConfigurationError, match="encrypted"):
        opened(tmp_path / "m", "redis://127.0.0.1:1/0", key=KEY)


def test_a_reader_writes_nothing(redis_url: str, own_redis: Server, tmp_path: Path) -> None:
    """A memory that is opened read-only reads copies, and makes none."""
    with opened(tmp_path / "m", None) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
    with opened(tmp_path / "m", own_redis.url, read_only=True) as memory:
        assert windowed(memory) == ["I keep bees."]
    assert "bees" not in own_redis.words()


# --- the same answer as without it


class Copies(RuleBasedStateMachine):
    """Two memories with Redis and one without it write to one store; Redis loses things; each window is the store's."""

    url = ""

    @initialize()
    def start(self) -> None:
        """Begin with an empty store and an empty Redis."""
        import redis

        self.redis = redis.Redis.from_url(self.url)
        self.redis.flushall()
        self.clock, self.store, self.said = FrozenClock(NOON), RamStore(), 0
        limits = {"ttl": timedelta(hours=1), "turns": 5, "clock": self.clock}
        both = [RedisShortTerm(self.url, **limits) for _ in range(2)]
        self.memories = [opened(self.store, tier, clock=self.clock) for tier in (*both, None)]
        self.saved: list[tuple[bytes, bytes]] = []

    who = st.integers(0, 2)
    session = st.sampled_from(["s", "t"])

    @rule(who=who, session=session, ago=st.sampled_from([0, 0, 0, 60]), count=st.integers(1, 3))
    def add(self, who: int, session: str, ago: int, count: int) -> None:
        """Say something, now or with a time that puts it further up."""
        self.said += count
        at = self.clock.now() - timedelta(minutes=ago)
        roles = ["user", "assistant", "tool"]
        said = [Message(roles[n], f"{self.said} {n}", id=f"{self.said}.{n}") for n in range(count)]
        self.memories[who].add(said, session_id=session, created_at=at)

    @rule(who=who, session=session, data=st.data())
    def change(self, who: int, session: str, data: st.DataObject) -> None:
        """Change, expire, forget or send again one of the newest messages."""
        held = self.memories[2].messages(session, limit=4)
        if held:
            id, memory = data.draw(st.sampled_from([message.id for message in held])), self.memories[who]
            deed = data.draw(st.sampled_from(["update", "expire", "forget", "again"]))
            (stored,) = self.store.fetch("default", [id])
            if deed == "forget":
                memory.forget(ids=[id])
            elif deed == "again":
                memory.add([stored.message], session_id=session)
            elif stored.record is not None:
                changes = {"text": f"new {self.said}"} if deed == "update" else {"expires_at": self.clock.now()}
                memory.update(stored.record.id, **changes)

    @rule(who=who, session=session)
    def replace(self, who: int, session: str) -> None:
        """Have a session hold other messages."""
        held = self.memories[2].messages(session)
        self.memories[who].replace_session(session, [*held[1:], ("user", f"last {self.said}")])

    @rule(who=who)
    def remember(self, who: int) -> None:
        """Write what is no turn."""
        self.memories[who].remember("Alice keeps bees.")

    @rule(who=who)
    def erase(self, who: int) -> None:
        """Forget all."""
        self.memories[who].forget(everything=True)

    @rule(minutes=st.sampled_from([1, 20, 45]))
    def wait(self, minutes: int) -> None:
        """Let time pass."""
        self.clock.advance(timedelta(minutes=minutes))

    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        """Lose a key, as by eviction."""
        if names := sorted(self.redis.scan_iter()):
            self.redis.delete(data.draw(st.sampled_from(names)))

    @rule()
    def save(self) -> None:
        """Take a copy of all of Redis."""
        self.saved = [(name, self.redis.dump(name)) for name in self.redis.scan_iter()]

    @rule()
    def fall_back(self) -> None:
        """Have Redis be as it was, as after a crash."""
        self.redis.flushall()
        for name, value in self.saved:
            self.redis.restore(name, 0, value)

    @invariant()
    def windows_are_right(self) -> None:
        """Whoever looks sees the last turns of the store that are neither old nor expired."""
        now = self.clock.now()
        for session in ("s", "t"):
            ids = [message.id for message in self.store.messages("default", session, limit=5)]
            stored = [item for item in self.store.fetch("default", ids) if item is not None]
            live, since = [], None
            for item in stored:
                said = item.message.created_at
                since = item.record.stored_at if item.record else said if since is None else max(said, since)
                gone = item.record and item.record.expires_at and item.record.expires_at <= now
                if now <= since + timedelta(hours=1) and not gone:
                    live.append(item.message)
            for memory in self.memories[:2]:
                assert memory._engine.turns.page("default", session, 32, now) == live
                assert memory._engine.turns.page("default", session, 2, now) == live[-2:]


def test_windows_are_the_stores_whatever_becomes_of_redis(redis_url: str) -> None:
    """Any order of writes by anyone, of losses, and of falls back leaves every window as the store has it."""
    machine = type("Machine", (Copies,), {"url": redis_url})
    run_state_machine_as_test(machine, settings=hypothesis_settings(max_examples=30, stateful_step_count=25))


# --- Redis is away


def test_reads_are_refused_where_that_is_chosen(own_redis: Server) -> None:
    """While Redis is away, a window is an error that says what is safe and what to do; writes and searches go on."""
    with opened(":memory:", own_redis.url) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
        own_redis.kill()
        memory.add([("user", "And goats.")], session_id="s")
        assert memory.search("goats")
        for _ in range(2):
            with pytest.raises(BackendUnavailableError, match="safe in the store"):
                memory.window("s", max_tokens=100)
        with pytest.raises(BackendUnavailableError, match="degrade"):
            memory.context("bees", session_id="s")
        assert "refused until it is back" in " ".join(memory.stats().health)
        own_redis.start()
        assert eventually(lambda: windowed(memory)) == ["I keep bees.", "And goats."]
        assert memory.stats().health == ()


def test_reads_degrade_where_that_is_chosen(own_redis: Server, caplog: pytest.LogCaptureFixture) -> None:
    """While Redis is away windows are the store's, by the same limits; the log says so once, and that it is back."""
    clock = FrozenClock(NOON)
    settings = Settings(short_term_down="degrade", short_term_turns=2, short_term_ttl=3600)
    with opened(":memory:", own_redis.url, settings=settings, clock=clock) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
        clock.advance(timedelta(minutes=50))
        own_redis.kill()
        memory.add([("user", text) for text in ("And goats.", "And cows.")], session_id="s")
        for _ in range(3):
            assert windowed(memory) == ["And goats.", "And cows."]
        clock.advance(timedelta(minutes=20))
        assert windowed(memory) == ["And goats.", "And cows."]
        clock.advance(timedelta(minutes=50))
        assert windowed(memory) == []
        assert "read from the store" in " ".join(memory.stats().health)
        own_redis.start()
        while memory.stats().health:
            windowed(memory)
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert ["read from the store" in told[0], "answers again" in told[1], len(told)] == [True, True, 2]


def test_opening_without_redis_is_a_choice(tmp_path: Path) -> None:
    """Where nobody answers, a memory opens only if it may degrade, and stays of use."""
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    with pytest.raises(BackendUnavailableError, match="nothing was opened"):
        opened(tmp_path / "m", nowhere)
    with opened(tmp_path / "m", nowhere, settings=DEGRADE) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
        assert windowed(memory) == ["I keep bees."]


def eventually(work: Any) -> Any:
    """Return what ``work`` returns once the server is asked again after a failure."""
    while True:
        try:
            return work()
        except BackendUnavailableError:
            time.sleep(0.05)


def test_a_server_that_fell_back_serves_nothing_stale(tmp_path: Path) -> None:
    """Killed and started on an older file of its own, no turn that was forgotten, changed or missed comes back."""
    needed()
    with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:
        server = Server(Path(folder))
        try:
            with opened(tmp_path / "m", server.url, settings=DEGRADE) as memory:
                memory.add(
                    [Message("user", f"{name} word", id=name) for name in ("heliotrope", "hyacinth", "lupin")],
                    session_id="s",
                )
                memory.add([Message("user", "yarrow word", id="yarrow")], session_id="t")
                assert (len(windowed(memory)), len(windowed(memory, "t"))) == (3, 1)
                server.client().save()
                memory.forget(ids=["heliotrope", "yarrow"])
                memory.update("hyacinth", text="other")
                memory.add([("user", "mullein")], session_id="s")
                assert "heliotrope" not in server.words()
                server.kill()
                server.start()
                assert "heliotrope" in server.words()
                assert windowed(memory) == ["other", "lupin word", "mullein"]
                assert windowed(memory) == ["other", "lupin word", "mullein"]
                assert not any(word in server.words() for word in ("heliotrope", "hyacinth word", "yarrow"))
        finally:
            server.kill()


def test_persistence_is_warned_of(own_redis: Server, caplog: pytest.LogCaptureFixture) -> None:
    """A server that writes to its disk keeps what is forgotten there: opening says so, and how to end it."""
    own_redis.kill()
    own_redis.start("--appendonly", "yes")
    opened(":memory:", own_redis.url).close()
    assert "--appendonly no" in caplog.text


# --- forgetting


def test_what_is_forgotten_is_gone_from_redis(own_redis: Server) -> None:
    """After any kind of forget no key holds the words, and other users keep theirs."""
    with opened(":memory:", own_redis.url) as memory:
        bob = memory.for_user("bob")
        bob.add([("user", "I am Bob.")], session_id="s")
        windowed(bob)
        for condition in ({"ids": ["a"]}, {"session_id": "s"}, {"since": "2000-01-01T00:00Z"}, {"everything": True}):
            memory.add([Message("user", "heliotrope", id="a")], session_id="s")
            windowed(memory)
            memory.forget(**condition)
            assert "heliotrope" not in own_redis.words()
            memory.forget(everything=True)
        assert "I am Bob." in own_redis.words()


@pytest.fixture(params=["folder", "sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store of each durable kind is."""
    return empty_location(request.param, request, tmp_path)


@pytest.mark.parametrize("everything", [False, True])
def test_a_forget_without_redis_says_so_and_is_finished_later(
    own_redis: Server, location: str, everything: bool
) -> None:
    """With Redis out of reach a forget is an error that says what is done; whoever opens next finishes it."""
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    with opened(location, own_redis.url) as memory:
        memory.add([Message("user", "heliotrope", id="a"), Message("user", "Hi", id="b")], session_id="s")
        windowed(memory)
    assert "heliotrope" in own_redis.words()
    with opened(location, nowhere, settings=DEGRADE) as memory:
        with pytest.raises(BackendUnavailableError, match="forgotten in the store"):
            memory.forget(**({"everything": True} if everything else {"ids": ["a"]}))
        assert "heliotrope" not in " ".join(windowed(memory))
    assert "heliotrope" in own_redis.words()
    with opened(location, own_redis.url) as memory:
        assert "heliotrope" not in own_redis.words()
        assert windowed(memory) == ([] if everything else ["Hi"])
        assert memory._engine.store.owed() == {}


def test_a_forget_that_is_owed_is_finished_by_the_next_use(own_redis: Server, tmp_path: Path) -> None:
    """In the process that forgot, any read or flush finishes it once Redis, which others still reach, is back."""
    proxy = Proxy(own_redis)
    with opened(tmp_path / "m", proxy.url, settings=DEGRADE) as memory:
        forget_without(proxy, memory)
        assert "heliotrope" in own_redis.words()
        with opened(tmp_path / "m", own_redis.url, read_only=True) as other:
            assert windowed(other) == []
        proxy.mend()
        while "heliotrope" in own_redis.words():
            memory.flush()
        assert memory.forget(ids=["a"]).messages == ()


@pytest.mark.parametrize("owed_by", ["this process", "an earlier one"])
def test_what_is_owed_is_removed_though_nobody_asks(own_redis: Server, tmp_path: Path, owed_by: str) -> None:
    """Once Redis is back, a process that does nothing removes what it could not remove while it was away, or what an
    earlier one has left; and then stops trying.
    """
    proxy = Proxy(own_redis)
    with opened(tmp_path / "m", proxy.url, settings=DEGRADE) as memory:
        forget_without(proxy, memory)
        if owed_by == "an earlier one":
            memory.close()
            memory = opened(tmp_path / "m", proxy.url, settings=DEGRADE)
        with memory:
            assert "heliotrope" in own_redis.words()
            proxy.mend()
            while "heliotrope" in own_redis.words():
                time.sleep(0.05)
            while "siltstone-owed" in [thread.name for thread in threading.enumerate()]:
                time.sleep(0.05)
            assert memory._engine.store.owed() == {}


def test_what_comes_to_be_owed_while_owed_copies_are_removed_is_removed_too(own_redis: Server, tmp_path: Path) -> None:
    """A forget that fails while the thread is at what earlier ones owe is not taken for done with them."""
    proxy = Proxy(own_redis)
    with opened(tmp_path / "m", proxy.url, settings=DEGRADE) as memory:
        store = memory._engine.store
        turn_owed = store.turn_owed

        def striking(turn: Any) -> None:
            if threading.current_thread().name == "siltstone-owed" and vars(store).pop("turn_owed", None):
                windowed(memory)
                assert "hyacinth" in own_redis.words()
                proxy.cut()
                with pytest.raises(BackendUnavailableError):
                    memory.forget(ids=["b"])
            turn_owed(turn)

        memory.add([Message("user", "heliotrope", id="a"), Message("user", "hyacinth", id="b")], session_id="s")
        windowed(memory)
        proxy.cut()
        with pytest.raises(BackendUnavailableError):
            memory.forget(ids=["a"])
        store.turn_owed = striking
        proxy.mend()
        while "turn_owed" in vars(store) or "b" in {message.id for message in memory.messages("s")}:
            time.sleep(0.05)
        proxy.mend()
        while "hyacinth" in own_redis.words():
            time.sleep(0.05)


def forget_without(proxy: Proxy, memory: TieredMemory) -> None:
    """Store a turn ``a`` that is copied to Redis, and forget it while Redis is away: its copy is owed."""
    memory.add([Message("user", "heliotrope", id="a")], session_id="s")
    windowed(memory)
    proxy.cut()
    with pytest.raises(BackendUnavailableError):
        memory.forget(ids=["a"])


class Proxy:
    """A way to a server that can be cut while the server goes on for others."""

    def __init__(self, server: Server) -> None:
        self._path = server.folder / "proxy.sock"
        self._server = server
        self.url = f"unix://{self._path}"
        self.mend()

    def cut(self) -> None:
        """Have new connections fail, and old ones break."""
        self._path.unlink()
        self._server.client().client_kill_filter(_type="normal", skipme=True)

    def mend(self) -> None:
        """Have them get through."""
        os.link(self._server.socket, self._path)


def test_a_damaged_note_removes_everybodys_copies(own_redis: Server, tmp_path: Path) -> None:
    """Where it cannot be told any more whose copies were owed, all of them go."""
    with opened(tmp_path / "m", own_redis.url) as memory:
        memory.add([("user", "heliotrope")], session_id="s")
        windowed(memory)
    (tmp_path / "m" / "OWED").write_bytes(b"{broken")
    with opened(tmp_path / "m", own_redis.url):
        assert "heliotrope" not in own_redis.words()
    with opened(tmp_path / "m", own_redis.url) as memory:
        assert windowed(memory) == ["heliotrope"]


def test_nobody_who_read_before_puts_back_what_was_dropped(redis_url: str) -> None:
    """A copy that was read from the store before a drop, and comes after it, is not taken."""
    tier = RedisShortTerm(redis_url)
    now = datetime.now(timezone.utc)
    from siltstone.protocols import Turn

    turn = Turn(Message("user", "heliotrope", id="a", session_id="s", created_at=now), now + timedelta(hours=1))
    fence = tier.copied("alice", "s", 9, now=now).fence
    tier.drop("alice")
    tier.copy("alice", "s", [turn], as_of="1", fence=fence, now=now)
    assert tier.copied("alice", "s", 9, now=now).as_of is None
    tier.copy("alice", "s", [turn], as_of="1", fence=tier.copied("alice", "s", 9, now=now).fence, now=now)
    assert tier.copied("alice", "s", 9, now=now).messages == (turn.message,)


# --- little room, short lives, other people's keys


def test_keys_expire_by_themselves(own_redis: Server) -> None:
    """What nobody asks for leaves Redis on its own when its time is over."""
    with opened(":memory:", own_redis.url, settings=Settings(short_term_ttl=1.0)) as memory:
        memory.add([("user", "heliotrope")], session_id="s")
        windowed(memory)
        while "heliotrope" in own_redis.words():
            time.sleep(0.05)
        assert windowed(memory) == []
        assert memory.search("heliotrope")


@pytest.mark.parametrize("down", ["refuse", "degrade"])
def test_a_full_server_is_one_that_is_away(own_redis: Server, down: Any) -> None:
    """Where Redis has no room and evicts nothing, reads do as was chosen; with room again all is as before."""
    with opened(":memory:", own_redis.url, settings=Settings(short_term_down=down)) as memory:
        memory.add([("user", "one")], session_id="s")
        assert windowed(memory) == ["one"]
        own_redis.client().config_set("maxmemory", "1")
        memory.add([("user", "two")], session_id="s")
        if down == "degrade":
            assert windowed(memory) == ["one", "two"]
        else:
            with pytest.raises(BackendUnavailableError, match="maxmemory"):
                windowed(memory)
        own_redis.client().config_set("maxmemory", "0")
        assert eventually(lambda: windowed(memory)) == ["one", "two"]


def test_a_server_that_evicts_loses_nothing_that_counts(own_redis: Server) -> None:
    """With room for a part of the turns windows stay right, and a forget finds even what Redis has lost its list of."""
    client = own_redis.client()
    dice = random.Random(7)
    with opened(":memory:", own_redis.url) as memory:
        memory.add([("user", "one")], session_id="s")
        windowed(memory)
        client.config_set("maxmemory-policy", "allkeys-random")
        client.config_set("maxmemory", str(client.info("memory")["used_memory"] + 500_000))
        for n in range(120):
            view, session = memory.for_user(f"user {n % 6}"), f"session {dice.randrange(4)}"
            view.add([("user", f"heliotrope {n} " + "x" * 8000)], session_id=session)
            assert len(windowed(view, session)) == len(view.messages(session))
        assert client.info("stats")["evicted_keys"] > 0
        client.config_set("maxmemory", "0")
        client.delete(keys.of_user("siltstone", "user 1"))
        for n in range(6):
            memory.for_user(f"user {n}").forget(everything=True)
        assert "heliotrope" not in own_redis.words()


@pytest.mark.parametrize("deed", ["text in place of hash", "text in place of list", "no turn", "no message", "no json"])
def test_foreign_keys_are_no_turns(own_redis: Server, deed: str) -> None:
    """What somebody else put under our names is neither served nor an obstacle: the copy is made anew."""
    client = own_redis.client()
    with opened(":memory:", own_redis.url) as memory:
        memory.add([("user", "heliotrope")], session_id="s")
        for _ in range(2):
            assert windowed(memory) == ["heliotrope"]
            if deed == "text in place of hash":
                client.set("siltstone:{default}", "theirs")
            elif deed == "text in place of list":
                client.set("siltstone:{default}:s", "theirs")
            else:
                theirs = {
                    "no turn": b"theirs",
                    "no message": b"9999999999999999|0|a|[]",
                    "no json": b"9999999999999999|0|a|\xff",
                }
                client.lset("siltstone:{default}:s", 0, theirs[deed])
        assert windowed(memory) == ["heliotrope"]
        client.set("siltstone:{default}", "theirs")
        memory.add([("user", "two")], session_id="s")
        assert windowed(memory) == ["heliotrope", "two"]
        client.set("siltstone:{default}", "theirs")
        memory.forget(everything=True)
        assert "heliotrope" not in own_redis.words()


# --- several processes, and kills


def talk(folder: str, url: str, name: str, ready: Any, go: Any) -> None:
    """Say things in a session of one's own and a common one, looking at both; report what was acknowledged."""
    said = []
    with opened(folder, url, settings=DEGRADE) as memory:
        ready.send(name)
        while not go.is_set():
            text = f"{name} {len(said)}"
            for session in (name, "common"):
                memory.add([("user", text)], session_id=session)
                assert text in windowed(memory, session)
            said.append(text)
            assert windowed(memory, name) == said[-200:]
        ready.send(said)


@pytest.mark.slow
def test_windows_are_right_while_redis_is_killed_under_two_processes(tmp_path: Path) -> None:
    """Two processes talk while Redis is killed and started; each sees at once all it has said, and all is stored."""
    needed()
    folder, dice = str(tmp_path / "m"), random.Random(7)
    with tempfile.TemporaryDirectory(prefix="siltstone-") as place:
        server = Server(Path(place))
        go = PROCESSES.Event()
        pipes = [PROCESSES.Pipe(duplex=False) for _ in range(2)]
        talkers = [
            PROCESSES.Process(target=talk, args=(folder, server.url, name, theirs, go))
            for name, (_, theirs) in zip(("ada", "ben"), pipes, strict=True)
        ]
        try:
            for talker in talkers:
                talker.start()
            for ours, _ in pipes:
                assert ours.poll(120)
                ours.recv()
            for _ in range(KILLS):
                time.sleep(0.1 + dice.random() * 0.3)
                if dice.random() < 0.5:
                    server.client().save()
                server.kill()
                time.sleep(dice.random() * 0.3)
                server.start()
            go.set()
            said = []
            for ours, _ in pipes:
                assert ours.poll(120)
                said.append(ours.recv())
            for talker in talkers:
                talker.join()
                assert talker.exitcode == 0
            with opened(folder, server.url) as memory:
                for name, texts in zip(("ada", "ben"), said, strict=True):
                    assert [message.content for message in memory.messages(name)] == texts
                    assert windowed(memory, name) == texts[-200:]
                assert windowed(memory, "common") == [m.content for m in memory.messages("common")][-200:]
                memory.forget(everything=True)
            assert "ada 0" not in server.words()
        finally:
            for talker in talkers:
                talker.kill()
            server.kill()


def test_a_forked_child_talks_on(own_redis: Server) -> None:
    """A child that was forked with an open memory has connections of its own."""
    with opened(":memory:", own_redis.url) as memory:
        memory.add([("user", "one")], session_id="s")
        windowed(memory)
        child = os.fork()
        if child == 0:
            os._exit(0 if windowed(memory) == ["one"] and windowed(memory) == ["one"] else 1)
        for _ in range(20):
            assert windowed(memory) == ["one"]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_share_a_memory(own_redis: Server) -> None:
    """Eight threads write and read through one memory, and each sees its own words at once."""
    failed: list[BaseException] = []

    def work(memory: TieredMemory, name: str) -> None:
        try:
            for n in range(10):
                memory.add([("user", f"{name} {n}")], session_id=name)
                assert len(windowed(memory, name)) == n + 1
        except BaseException as exc:
            failed.append(exc)

    with opened(":memory:", own_redis.url) as memory:
        threads = [threading.Thread(target=work, args=(memory, f"t{n}")) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed


# --- clusters


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_all_of_a_user_is_in_one_slot(user: str, session: str, other: str, elsewhere: str) -> None:
    """The hash tag of every key is the user alone; no other pair of ids has the same key."""
    from redis.crc import key_slot

    name = keys.of_user("app:1", user)
    first = keys.of_session("app:1", user, keys.encoded(session))
    second = keys.of_session("app:1", other, keys.encoded(elsewhere))
    assert key_slot(first.encode()) == key_slot(name.encode())
    assert (first == second) == ((user, session) == (other, elsewhere))
    assert first[len("app:1:") :].count("{") == first.count("}") == 1
    assert keys.of_runs("app:1") != first


@pytest.fixture
def cluster() -> Iterator[list[Server]]:
    """Three nodes that share the slots."""
    needed()
    with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:
        servers: list[Server] = []
        buses: list[int] = []
        try:
            for n in range(3):
                place = Path(folder, str(n))
                place.mkdir()
                bus = free_port()  # by default 10,000 above the port, which may be none
                buses.append(bus)
                servers.append(Server(place, "--cluster-enabled", "yes", "--cluster-port", str(bus), port=free_port()))
            parts = [(0, 5460), (5461, 10922), (10923, 16383)]
            for server, (first, last) in zip(servers, parts, strict=True):
                server.client().execute_command("CLUSTER ADDSLOTSRANGE", first, last)
            for server, bus in zip(servers[1:], buses[1:], strict=True):
                servers[0].client().execute_command("CLUSTER MEET", "127.0.0.1", server.port, bus)
            while not all(
                server.client().cluster("info")["cluster_state"] == "ok"
                and server.client().cluster("info")["cluster_known_nodes"] == "3"
                for server in servers
            ):
                time.sleep(0.05)
            yield servers
        finally:
            for server in servers:
                server.kill()


def test_a_cluster_takes_the_turns_of_all_users(cluster: list[Server]) -> None:
    """Through any node: users are spread over all nodes, windows are right, and a forget reaches what it means."""
    with opened(":memory:", cluster[0].url) as memory:
        users = [f"user {n}" for n in range(20)]
        for user in users:
            view = memory.for_user(user)
            for session in ("s", "t"):
                view.add([("user", f"heliotrope of {user}")], session_id=session)
                assert windowed(view, session) == [f"heliotrope of {user}"]
            view.add([("user", "more")], session_id="s")
            assert windowed(view) == [f"heliotrope of {user}", "more"]
        assert all("heliotrope" in server.words() for server in cluster)
        memory.for_user("user 0").forget(everything=True)
        assert not any('heliotrope of user 0"' in server.words() for server in cluster)
        memory._engine.turns._tier.clear()
        assert not any("heliotrope" in server.words() for server in cluster)
        for user in users[1:]:
            assert windowed(memory.for_user(user)) == [f"heliotrope of {user}", "more"]


# --- secrets


def test_no_password_is_ever_told(own_redis: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With a password in the address it is in no ``repr``, error or log, whether it is right or wrong."""
    own_redis.kill()
    own_redis.start("--requirepass", "s3cret")
    told: list[str] = []
    right = f"{own_redis.url}?password=s3cret"
    with opened(tmp_path / "m", right) as memory:
        memory.add([("user", "one")], session_id="s")
        assert windowed(memory) == ["one"]
        tier = memory._engine.turns._tier
        told += [repr(memory), repr(tier), repr(vars(tier)), tier.location, str(memory.stats())]
        own_redis.kill()
        with pytest.raises(BackendUnavailableError) as raised:
            windowed(memory)
        told.append(str(raised.value))
    own_redis.start("--requirepass", "another")
    with pytest.raises(BackendUnavailableError) as refused:
        opened(tmp_path / "m", right)
    told += [str(refused.value), caplog.text]
    assert "s3cret" not in " ".join(told)


def test_tls_is_spoken(tmp_path: Path) -> None:
    """Over ``rediss://`` with a certificate of one's own; without its authority nothing is sent."""
    needed()
    if shutil.which("openssl") is None:
        pytest.skip("needs the program openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run(made, check=True, capture_output=True)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:
        options = ["--tls-port", str(port), "--tls-cert-file", str(certificate), "--tls-key-file", str(key)]
        server = Server(Path(folder), *options, "--tls-ca-cert-file", str(certificate), "--tls-auth-clients", "no")
        try:
            url = f"rediss://127.0.0.1:{port}/0"
            with opened(":memory:", f"{url}?ssl_ca_certs={certificate}") as memory:
                memory.add([("user", "one")], session_id="s")
                assert windowed(memory) == windowed(memory) == ["one"]
            with pytest.raises(BackendUnavailableError, match="certificate"):
                opened(":memory:", url)
        finally:
            server.kill()


# --- whoever uses a memory


def test_the_command_line_takes_an_address(own_redis: Server, sh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag, a variable or the file say where recent turns are; without a password in what is shown of it."""
    monkeypatch.setenv("SILTSTONE_EMBEDDER", "")
    monkeypatch.chdir(own_redis.folder)
    assert sh("--short-term", own_redis.url, "add", "I keep bees.", "--session", "s").code == 0
    assert sh("--short-term", own_redis.url, "context", "bees", "--session", "s").code == 0
    shown = sh("--short-term", "redis://:s3cret@host:1/0", "config", "show")
    assert "redis://host:1/0" in shown.out
    assert "s3cret" not in shown.out
    (own_redis.folder / "siltstone.toml").write_text('short_term = "redis://127.0.0.1:1/0"\n')
    assert "nothing was opened" in sh("context", "bees", "--session", "s").err
    monkeypatch.setenv("SILTSTONE_SHORT_TERM", own_redis.url)
    assert "bees" in sh("context", "bees", "--session", "s").out
    assert "no setting" not in sh("--set", "short_term_down=degrade", "stats").err
