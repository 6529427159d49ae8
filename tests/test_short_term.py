"""Short-term memory: recent turns, for a time and a number of turns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest

from siltstone import Message, TieredMemory
from siltstone.stores.ram import RamStore
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from siltstone.tiers.short_term import RamShortTerm

NOON = datetime(2026, 5, 8, 12, tzinfo=timezone.utc)


Open = Callable[..., TieredMemory]


@pytest.fixture(params=["ram", "redis"])
def opened(request: pytest.FixtureRequest) -> Open:
    """Opens a memory whose recent turns are kept apart, on a store of the caller's own."""
    redis = request.getfixturevalue("redis_url") if request.param == "redis" else None

    def open_memory(clock: FrozenClock, **limits: object) -> TieredMemory:
        if redis is None:
            tier = RamShortTerm(clock, **limits)  # type: ignore[arg-type]
        else:
            from siltstone.stores.redis.turns import RedisShortTerm

            tier = RedisShortTerm(redis, clock=clock, **limits)  # type: ignore[arg-type,assignment]
        return TieredMemory.open(
            RamStore(), embedder=HashEmbedder(), token_counter=WordCounter(), short_term=tier, clock=clock
        )

    return open_memory


def windowed(memory: TieredMemory) -> list[str]:
    """Return the contents of the window."""
    return [message.content for message in memory.window("s", max_tokens=1000)]


def test_a_message_sent_again_is_in_the_window_once(opened: Open) -> None:
    """Repeats and updates take the place of the message that they repeat."""
    memory = opened(FrozenClock(NOON))
    for _ in range(3):
        memory.add([Message("user", "I keep bees.", id="a")], session_id="s")
    memory.add([("user", "And goats.")], session_id="s")
    assert windowed(memory) == ["I keep bees.", "And goats."]
    memory.update("a", text="I keep wasps.")
    assert windowed(memory) == ["I keep wasps.", "And goats."]


def test_turns_leave_the_window_after_their_time(opened: Open) -> None:
    """After the time to live a turn is out of the window, and still found by a search."""
    clock = FrozenClock(NOON)
    memory = opened(clock, ttl=timedelta(hours=1))
    memory.add([("user", "I keep bees.")], session_id="s")
    clock.advance(timedelta(hours=2))
    memory.add([("user", "And goats.")], session_id="s")
    assert windowed(memory) == ["And goats."]
    assert memory.search("bees")


def test_only_so_many_turns_are_kept(opened: Open) -> None:
    """Over the limit the oldest turn goes first."""
    memory = opened(FrozenClock(NOON), turns=2)
    memory.add([("user", text) for text in ("one", "two", "three")], session_id="s")
    assert windowed(memory) == ["two", "three"]


def test_forgetting_reaches_the_short_term_tier(opened: Open) -> None:
    """A forgotten message is not in the window; another user's turns stay."""
    memory = opened(FrozenClock(NOON))
    bob = memory.for_user("bob")
    memory.add([Message("user", "I keep bees.", id="a"), Message("user", "Hi", id="b")], session_id="s")
    bob.add([("user", "I am Bob.")], session_id="s")
    memory.forget(ids=["a"])
    assert windowed(memory) == ["Hi"]
    memory.forget(everything=True)
    assert windowed(memory) == []
    assert windowed(bob) == ["I am Bob."]


def test_what_another_memory_forgets_is_served_no_more(opened: Open) -> None:
    """A memory of the same store that knows nothing of the tier forgets and changes: the window follows."""
    memory = opened(FrozenClock(NOON))
    memory.add([Message("user", text, id=text[0]) for text in ("a bee", "b cow", "c dog")], session_id="s")
    assert windowed(memory) == ["a bee", "b cow", "c dog"]
    store = memory._engine.store
    other = TieredMemory.open(store, embedder=HashEmbedder(), token_counter=WordCounter())
    other.forget(ids=["a"])
    other.update("b", text="b yak")
    assert windowed(memory) == ["b yak", "c dog"]


def test_a_session_that_is_replaced_is_replaced_there(opened: Open) -> None:
    """The window has what the session holds now, and nothing of before."""
    memory = opened(FrozenClock(NOON))
    memory.add([("user", "one"), ("assistant", "two")], session_id="s")
    assert windowed(memory) == ["one", "two"]
    memory.replace_session("s", [("user", "one"), ("assistant", "zwei"), ("user", "drei")])
    assert windowed(memory) == ["one", "zwei", "drei"]
