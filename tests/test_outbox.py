"""Messages that wait while the memory fails, and the steps that write and read through it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from siltstone import BackendUnavailableError, Message, TieredMemory
from siltstone.outbox import Outbox
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.twins import Steps, arun, call, run


class FlakyMemory(TieredMemory):
    """A memory whose store does not answer while ``failing``."""

    failing = False

    def _open_engine(self) -> Any:
        if self.failing:
            raise BackendUnavailableError("the store does not answer, as this test asked for")
        return super()._open_engine()


@pytest.fixture
def memory() -> Iterator[TieredMemory]:
    """An empty memory."""
    with FlakyMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        yield memory


def said(memory: TieredMemory) -> list[str]:
    """Return the session's texts."""
    return [message.content for message in memory.messages("s")]


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


def test_sessions_wait_apart(memory: Any) -> None:
    """What waits for one session is not stored with another."""
    outbox = Outbox()
    memory.failing = True
    run(memory, outbox.save("s", [Message("user", "one")]))
    memory.failing = False
    run(memory, outbox.save("t", [Message("user", "other")]))
    assert [message.content for message in outbox.held("s")] == ["one"]
    run(memory, outbox.save("s"))
    assert said(memory) == ["one"]


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
