"""Messages whose times cannot be right: nothing is lost of what they say, and nothing waits for the clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from siltstone import Message, Settings, TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

NOW = "2024-05-08T12:00:00+00:00"


@pytest.fixture
def memory() -> Iterator[TieredMemory]:
    """A memory at a clock that stands still."""
    with TieredMemory.open(
        ":memory:",
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        clock=FrozenClock(NOW),
        settings=Settings(embed_wait=5.0),
    ) as memory:
        yield memory


def homes(memory: TieredMemory) -> set[str]:
    """Return where the user is known to live."""
    return {record.text for record in memory.records() if record.topic == "user · home"}


@pytest.mark.parametrize("said_at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize(
    "dated",
    [
        "I'm flying to Oslo in 3 months.",
        "I'm flying to Rome on the 31st.",
        "I ran a marathon last Friday, before May.",
        "我下个月去上海。",
        "我明年春节去北京。",
    ],
)
def test_the_ends_of_the_calendar_date_nothing_and_stop_nothing(memory: TieredMemory, said_at: str, dated: str) -> None:
    """What is said to have been said in the year 1, as by programs that do not know, is taken in, without days."""
    memory.add([Message("user", f"I live in Oslo. {dated}", created_at=said_at)], session_id="s")
    assert memory.consolidate().count("fail") == 0
    assert homes(memory) == {"I live in Oslo"}
    assert all(record.occurred_at is None for record in memory.records())
    memory.search(dated, now=said_at)


def test_a_session_of_a_clock_that_was_ahead_is_compressed(memory: TieredMemory) -> None:
    """A message of years ahead does not keep its session from being compressed until then, nor give it a long wait."""
    memory.add([Message("user", "I live in Oslo.", created_at="2031-01-01T00:00:00Z")], session_id="s")
    memory.consolidate()
    assert homes(memory) == {"I live in Oslo"}
    memory.add([Message("user", "I live in Rome.", created_at="2024-05-08T12:00:05Z")], session_id="t")
    assert memory.consolidate().count("digest") == 0
