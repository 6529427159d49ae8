"""What the stages of the work have cost: counted for all users of an opened store, and watched call by call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from siltstone import InvalidInputError, Settings, TieredMemory
from siltstone.meter import STAGES, Call, Meter
from siltstone.testing import FrozenClock, HashEmbedder, ScriptedChatModel


@pytest.fixture
def memory() -> Iterator[TieredMemory]:
    """A memory whose conversations are due for a digest at once."""
    with TieredMemory.open(
        ":memory:", embedder=HashEmbedder(64), clock=FrozenClock(), settings=Settings(span_turns=2, embed_wait=60.0)
    ) as opened:
        yield opened


def test_a_new_memory_has_spent_nothing(memory: TieredMemory) -> None:
    """Stages without a call are left out."""
    assert dict(memory.meter.spent()) == {}


def test_each_stage_counts_its_calls_and_items(memory: TieredMemory) -> None:
    """Messages and notes stored, hits returned, texts embedded, messages digested, rows reported."""
    memory.add([("user", "I live in Lisbon."), ("assistant", "A fine town.")], session_id="s")
    memory.remember("Likes tea.")
    hits = memory.search("Where do I live?")
    context = memory.context("What do I like to drink?")
    rows = memory.consolidate().rows

    spent = memory.meter.spent()

    assert [stage for stage in STAGES if stage in spent] == list(spent)
    assert set(STAGES) - set(spent) == {"ask"}
    assert (spent["add"].calls, spent["add"].items) == (2, 3)
    assert (spent["search"].calls, spent["context"].calls) == (2, 1)
    assert spent["search"].items >= len(hits)
    assert (spent["context"].items, spent["context"].tokens) == (len(context.hits), context.tokens)
    assert spent["embed"].items >= 5  # three texts and two questions
    assert spent["embed"].tokens > 3 * 3
    assert (spent["summarize"].calls, spent["summarize"].items) == (1, 2)
    assert (spent["consolidate"].calls, spent["consolidate"].items) == (1, len(rows))
    assert all(one.seconds > 0 and not one.failures for one in spent.values())


def test_all_users_of_a_store_have_one_meter(memory: TieredMemory) -> None:
    """A view of another user counts into the same figures."""
    memory.for_user("bob").add([("user", "Hi.")], session_id="s")

    assert memory.meter.spent()["add"].calls == 1


def test_a_call_that_is_refused_is_a_failure(memory: TieredMemory) -> None:
    """It counts as a call and as a failure, and nothing came of it."""
    with pytest.raises(InvalidInputError):
        memory.search("x", top_k=0)

    spent = memory.meter.spent()["search"]

    assert (spent.calls, spent.failures, spent.items) == (1, 1, 0)


def test_requests_to_a_language_model_count_with_their_tokens() -> None:
    """``ask`` counts both sides of each request, also of a summarizer that is a language model."""
    model = ScriptedChatModel(["I cannot answer that."] * 9)
    clock = FrozenClock()
    with TieredMemory.open(
        ":memory:", embedder=HashEmbedder(64), summarizer=model, clock=clock, settings=Settings(span_turns=2)
    ) as memory:
        memory.add([("user", "I live in Lisbon."), ("assistant", "A fine town.")], session_id="s")
        memory.consolidate()
        spent = memory.meter.spent()

    assert spent["ask"].calls == spent["ask"].items == len(model.calls) > 0
    assert spent["ask"].tokens > spent["summarize"].tokens > 0


def test_async_twins_and_workers_are_counted(memory: TieredMemory) -> None:
    """Calls of many threads at once are all counted."""
    threads = [Thread(target=lambda: [memory.search("tea") for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert memory.meter.spent()["search"].calls == 80


async def test_an_async_twin_is_counted_once(memory: TieredMemory) -> None:
    """``asearch`` is one search."""
    await memory.asearch("tea")

    assert memory.meter.spent()["search"].calls == 1


def seen_by(meter: Meter) -> tuple[list[tuple[str, Call]], Callable[[], None]]:
    """Return a list of what begins and ends, and what ends the watching."""
    seen: list[tuple[str, Call]] = []

    @contextmanager
    def watch(call: Call) -> Iterator[None]:
        seen.append(("begin", call))
        try:
            yield
        finally:
            seen.append(("end", call))

    return seen, meter.watch(watch)


def test_a_watcher_sees_each_call_begin_and_end_nested(memory: TieredMemory) -> None:
    """A search within a context begins after it and ends before it; at its end a call says what it cost."""
    memory.remember("Likes tea.")
    seen, leave = seen_by(memory.meter)
    memory.context("What do I like to drink?")
    leave()
    memory.search("tea")

    order = [(what, call.stage) for what, call in seen if call.stage != "embed"]
    assert order == [("begin", "context"), ("begin", "search"), ("end", "search"), ("end", "context")]
    assert seen[-1][1].tokens > 0
    assert seen[-1][1].seconds > 0


def test_a_watcher_learns_that_a_call_failed_and_no_words(memory: TieredMemory) -> None:
    """The class of the error is told, never its message, which may quote what a user wrote."""
    seen, _ = seen_by(memory.meter)
    with pytest.raises(InvalidInputError):
        memory.add([("robot", "my secret")], session_id="s")

    assert seen[-1][1].error is InvalidInputError
    assert "secret" not in repr(seen[-1][1])
