"""Messages that wait while the memory fails, and the steps that write and read through it."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from siltstone import BackendUnavailableError, Message, Settings, StoreCorruptedError, TieredMemory
from siltstone.outbox import Outbox, own_outbox, shared_outbox
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.twins import Steps, arun, call, run


class FlakyMemory(TieredMemory):
    """A memory whose store does not answer while ``failing``, and never stores the session ``damaged``."""

    failing = False
    damaged = ""

    def add(self, messages: Any, *, session_id: str, **options: Any) -> list[str]:
        """Store messages, unless they are of the damaged session."""
        if session_id == self.damaged:
            raise StoreCorruptedError("this session is damaged, as this test asked for")
        return super().add(messages, session_id=session_id, **options)

    def _open_engine(self) -> Any:
        if self.failing:
            raise BackendUnavailableError("the store does not answer, as this test asked for")
        return super()._open_engine()


@pytest.fixture
def memory() -> Iterator[TieredMemory]:
    """An empty memory."""
    with FlakyMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        yield memory


def said(memory: TieredMemory, session_id: str = "s") -> list[str]:
    """Return the session's texts."""
    return [message.content for message in memory.messages(session_id)]


def opened(folder: Path) -> TieredMemory:
    """Open a memory on disk that does not wait long for a lock."""
    settings = Settings(lock_timeout=0.05)
    return TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter(), settings=settings)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the locks of all users that are in a store, as another process would."""
    locks = [path.open("rb+") for path in folder.glob("users/*/*/LOCK")]
    assert locks
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    yield
    for lock in locks:
        lock.close()


def keep(memory: TieredMemory, *sessions: str) -> Outbox:
    """Say one thing in each session to the user's shared outbox."""
    outbox = shared_outbox(memory)
    for session_id in sessions:
        run(memory, outbox.save(session_id, [Message("user", f"said in {session_id}")]))
    return outbox


def test_what_could_not_be_stored_is_stored_first_next_time(memory: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The order is kept, the failure is logged once and its end as well."""
    outbox = Outbox()
    memory.failing = True
    with caplog.at_level(logging.INFO, "siltstone"):
        for text in ("one", "two"):
            assert run(memory, outbox.save("s", [Message("user", text)])) == []
        assert [message.content for message in outbox.held("s")] == ["one", "two"]
        memory.failing = False
        assert len(run(memory, outbox.save("s", [Message("user", "three")]))) == 1
    assert said(memory) == ["one", "two", "three"]
    assert outbox.held("s") == []
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_any_turn_that_is_stored_brings_all_that_waits_along(memory: Any, asynchronous: bool) -> None:
    """Each session's messages get into their own session, in order, whichever session speaks first again."""
    outbox = Outbox()
    memory.failing = True
    for session_id, text in [("s", "one"), ("t", "1"), ("s", "two"), ("t", "2")]:
        run(memory, outbox.save(session_id, [Message("user", text)]))
    assert outbox.waiting() == {"s": 2, "t": 2}
    memory.failing = False
    steps = outbox.save("u", [Message("user", "other")])
    ids = asyncio.run(arun(memory, steps)) if asynchronous else run(memory, steps)
    assert len(ids) == 1
    assert [said(memory, session_id) for session_id in "stu"] == [["one", "two"], ["1", "2"], ["other"]]
    assert outbox.waiting() == {}


def test_session_that_still_fails_stays_and_holds_up_no_other(memory: Any, caplog: pytest.LogCaptureFixture) -> None:
    """What is wrong with one session keeps its own messages waiting; those of the others are stored."""
    memory.failing = True
    outbox = keep(memory, "s", "t")
    memory.failing, memory.damaged = False, "s"
    keep(memory, "u")
    assert outbox.waiting() == {"s": 1}
    assert (said(memory, "t"), said(memory, "u")) == (["said in t"], ["said in u"])
    assert "works again" not in caplog.text
    memory.damaged = ""
    keep(memory, "v")
    assert said(memory) == ["said in s"]


def test_what_waits_in_another_outbox_of_the_user_is_stored_too(memory: Any) -> None:
    """An outbox of an adapter's own is served by the shared one, even when the adapter is gone; of other users none."""
    bob = memory.for_user("bob")
    waiting: list[dict[str, Any]] = []
    memory.failing = True
    run(memory, own_outbox(memory, waiting).save("s", [Message("user", "one")]))
    run(memory, own_outbox(bob, []).save("s", [Message("user", "hers", id="m1")]))  # through a view that fails
    gc.collect()
    memory.failing = False
    keep(memory, "t")
    assert waiting == []
    assert said(memory) == ["one"]
    assert said(bob) == []
    memory.flush()
    assert said(bob) == []
    keep(bob, "t")
    assert said(bob) == ["hers"]


def test_message_said_while_another_thread_stores_what_waits_comes_after_it(memory: Any) -> None:
    """The order of a session holds whoever is faster, and nothing is stored twice."""
    outbox = Outbox()
    memory.failing = True
    run(memory, outbox.save("s", [Message("user", "one")]))
    memory.failing = False
    slower = outbox.retry()
    request = next(slower)
    assert [message.content for message in outbox.held("s")] == ["one"]  # a reader misses nothing meanwhile
    run(memory, outbox.save("s", [Message("user", "two")]))
    with pytest.raises(StopIteration):
        slower.send(memory.add(*request.args, **request.options))
    assert said(memory) == ["one", "two"]
    assert outbox.waiting() == {}


def test_what_is_stored_already_is_not_told_as_held(memory: Any) -> None:
    """A reader that sees a message in the store while it leaves the outbox sees it once."""
    outbox = Outbox()
    memory.failing = True
    run(memory, outbox.save("s", [Message("user", "one", id="m1"), Message("user", "two")]))
    memory.failing = False
    memory.add([Message("user", "one", id="m1")], session_id="s")
    assert [message.content for message in outbox.held("s", memory.messages("s"))] == ["two"]


@pytest.mark.parametrize("verb", ["flush", "aflush", "close", "aclose"])
def test_flush_and_close_store_what_waits(tmp_path: Path, verb: str, caplog: pytest.LogCaptureFixture) -> None:
    """A store that is free again takes everything at the next flush or at the close, though nobody speaks again."""
    memory = opened(tmp_path)
    memory.add([("user", "Hello")], session_id="s")
    with locked(tmp_path):
        outbox = keep(memory, "s", "t", "s")
    ending = getattr(memory, verb)()
    if ending is not None:
        asyncio.run(ending)
    assert outbox.waiting() == {}
    memory.close()
    with opened(tmp_path) as again:
        assert said(again) == ["Hello", "said in s", "said in s"]
        assert said(again, "t") == ["said in t"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_close_stores_what_waits_for_every_user(tmp_path: Path) -> None:
    """Views of other users are closed with the memory that was opened."""
    with opened(tmp_path) as memory:
        users = [memory.for_user(name) for name in ("alice", "bob")]
        for user in users:
            user.add([("user", "Hello")], session_id="s")
        with locked(tmp_path):
            for user in users:
                keep(user, user.user_id)
        users[0].close()  # closes nothing
        assert said(users[0], "alice") == []
    with opened(tmp_path) as again:
        assert [said(again.for_user(name), name) for name in ("alice", "bob")] == [["said in alice"], ["said in bob"]]


def test_what_is_lost_at_the_close_is_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The close does not raise: one error says how many messages of which sessions and users are lost."""
    memory = opened(tmp_path)
    alice = memory.for_user("alice")
    for user in (memory, alice):
        user.add([("user", "Hello")], session_id="s")
    with locked(tmp_path):
        keep(memory, "s", "t", "s")
        keep(alice, "monday")
        caplog.clear()
        memory.close()
        memory.close()
    (record,) = (record for record in caplog.records if record.levelno == logging.ERROR)
    assert "could not store 4 messages" in record.message
    for told in ("2 of session 's' of 'default'", "1 of session 't' of 'default'", "1 of session 'monday' of 'alice'"):
        assert told in record.message
    assert record.message.endswith("lost")


def test_what_a_saved_state_may_hold_is_not_called_lost(memory: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A list that an adapter saves may outlive the close: the error says so."""
    memory.failing = True
    run(memory, own_outbox(memory, []).save("s", [Message("user", "one")]))
    memory.close()
    assert caplog.records[-1].levelname == "ERROR"
    assert "1 message (1 of session 's' of 'default')" in caplog.text
    assert caplog.text.strip().endswith("except where a saved state holds them")


def test_list_that_waits_already_is_stored_at_the_close(tmp_path: Path) -> None:
    """An outbox that takes up a saved list needs no further turn either."""
    waiting: list[dict[str, Any]] = []
    with opened(tmp_path) as memory:
        memory.add([("user", "Hello")], session_id="s")
        with locked(tmp_path):
            run(memory, Outbox(waiting).save("s", [Message("user", "one")]))
    with opened(tmp_path) as memory:
        own_outbox(memory, json.loads(json.dumps(waiting)))
    with opened(tmp_path) as memory:
        assert said(memory) == ["Hello", "one"]


def test_flush_that_cannot_store_what_waits_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It waits for the vectors of what is stored; what is not stays, and a warning names it."""
    with opened(tmp_path) as memory:
        memory.add([("user", "Hello")], session_id="s")
        memory.flush()
        with locked(tmp_path):
            outbox = keep(memory, "s")
            memory.flush()
        assert outbox.waiting() == {"s": 1}
        assert "still keeps 1 message (1 of session 's' of 'default')" in caplog.text


def test_keeper_that_fails_does_not_keep_a_memory_open(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is asked at the close, the store is given back; the failure is logged."""

    def keeper(_: object, closing: bool) -> None:
        raise RuntimeError(f"closing: {closing}")

    memory = opened(tmp_path)
    memory.handle.keepers.join(keeper)
    memory.close()
    assert "closing: True" in caplog.text
    with pytest.raises(Exception, match="is closed"):
        memory.sessions()


def test_what_waits_does_not_come_back_after_it_was_forgotten(memory: Any) -> None:
    """Forgetting reaches what was said while the store was away, as if it had been stored at once."""
    memory.failing = True
    keep(memory, "s", "t")
    memory.failing = False
    memory.forget(session_id="s")
    keep(memory, "u")
    assert said(memory) == []
    assert said(memory, "t") == ["said in t"]
    memory.failing = True
    keep(memory, "v")
    memory.failing = False
    memory.forget(everything=True)
    memory.flush()
    assert memory.sessions() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_what_waits_at_a_fork_is_stored_once(tmp_path: Path) -> None:
    """Child and parent both hold it; whoever stores it first, it is there once, and what the child says too."""
    with opened(tmp_path) as memory:
        memory.add([("user", "Hello")], session_id="s")
        with locked(tmp_path):
            keep(memory, "s", "t")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:  # pragma: no cover
            code = 1
            try:
                keep(memory, "child")
                memory.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert said(memory, "t") == ["said in t"]
    with opened(tmp_path) as again:
        assert [said(again, one) for one in ("s", "t", "child")] == [
            ["Hello", "said in s"],
            ["said in t"],
            ["said in child"],
        ]


def test_waiting_messages_are_json_and_keep_everything(memory: Any) -> None:
    """They can be saved with a state and taken up by another outbox."""
    waiting: list[dict[str, Any]] = []
    outbox = Outbox(waiting)
    memory.failing = True
    run(memory, outbox.save("s", [Message("assistant", "", name="bot", metadata={"tool_calls": [{"id": "1"}]})]))
    memory.failing = False
    run(memory, Outbox(json.loads(json.dumps(waiting))).save("s"))
    (message,) = memory.messages("s")
    assert (message.role, message.name, message.metadata) == ("assistant", "bot", {"tool_calls": [{"id": "1"}]})


def test_refused_message_does_not_hold_up_the_others(memory: TieredMemory, caplog: pytest.LogCaptureFixture) -> None:
    """What will be refused again is logged as lost; what stands around it is stored."""
    outbox = Outbox()
    with caplog.at_level(logging.ERROR, "siltstone"):
        run(memory, outbox.save("s", [Message("user", "one"), Message("king", "two"), Message("user", "three")]))
    assert said(memory) == ["one", "three"]
    assert outbox.held("s") == []
    assert "unknown role" in caplog.text


def test_cancelled_save_is_kept(memory: TieredMemory) -> None:
    """A request that is cancelled half-way loses nothing: its id makes the retry store it once."""
    outbox = Outbox()
    steps = outbox.save("s", [Message("user", "one", id="m1")])
    next(steps)
    steps.close()
    assert [message.content for message in outbox.held("s")] == ["one"]
    run(memory, outbox.save("s"))
    run(memory, outbox.save("s", [Message("user", "one", id="m1")]))
    assert said(memory) == ["one"]


def test_read_falls_back(memory: Any) -> None:
    """A read of a failing memory is its default."""
    outbox = Outbox()
    memory.failing = True
    assert run(memory, outbox.read(call("messages", "s"), ["fallback"])) == ["fallback"]
    memory.failing = False
    assert run(memory, outbox.read(call("messages", "s"), ["fallback"])) == []


def test_one_body_runs_sync_and_async(memory: TieredMemory) -> None:
    """Steps make the same calls either way; properties are read, errors arrive at their step."""

    def body() -> Steps[tuple[list[str], str]]:
        ids = yield call("add", [("user", "one")], session_id="s")
        before = yield call("revision")
        try:
            yield call("get", "unknown")
        except KeyError as exc:
            return ids, f"{type(before).__name__}: {exc}"
        raise AssertionError("no error")

    ids, told = run(memory, body())
    again, told_async = asyncio.run(arun(memory, body()))
    assert len(ids) == len(again) == 1
    assert told == told_async == "str: this user has no message or record 'unknown'"


def test_errors_that_a_body_does_not_catch_are_raised(memory: TieredMemory) -> None:
    """They pass through both drivers as they are."""

    def body() -> Steps[None]:
        yield call("get", "unknown")

    with pytest.raises(KeyError):
        run(memory, body())
    with pytest.raises(KeyError):
        asyncio.run(arun(memory, body()))
