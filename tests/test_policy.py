"""What the policy decides, from values alone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from siltstone import Record, Settings, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.tiers.policy import Policy, worth_recalling

NOW = datetime(2024, 5, 8, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "hi there",
        "Thanks a lot, that helps!",
        "ok",
        "👍",
        "Good morning :)",
        "你好！",
        "好的，谢谢你",
        "嗯嗯",
        "再见~",
        "",
    ],
)
def test_a_greeting_needs_no_memory(text: str) -> None:
    """Greetings, thanks, nods and emoji are not worth a search."""
    assert not worth_recalling(text)


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "hi, what was the name of my dog?",
        "thanks, and my sister?",
        "Lisbon",
        "ok computer",
        "你好，我上次说的餐厅叫什么？",
        "好的那家餐厅",
        "生日",
        "是不是该续费了",
        "42",
    ],
)
def test_whatever_says_something_may_need_memory(text: str) -> None:
    """A question, and anything that names something, is searched for, whatever else it says."""
    assert worth_recalling(text)


def test_a_context_for_a_greeting_recalls_nothing() -> None:
    """The profile stands in it all the same."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "Hello! I keep bees.")], session_id="s")
        memory.remember("keeps bees", kind="profile")
        assert memory.context("Hello!").hits == ()
        assert "keeps bees" in memory.context("Hello!").text
        assert memory.context("Hello, do I keep bees?").hits != ()


@pytest.mark.parametrize(
    ("turns", "tokens", "silent", "why"),
    [
        (3, 100, 60, None),
        (24, 100, 60, "24 turns"),
        (3, 2000, 60, "2000 tokens"),
        (3, 100, 1800, "the session is silent"),
    ],
)
def test_when_a_span_is_due(turns: int, tokens: int, silent: float, why: str | None) -> None:
    """By turns, by tokens, or by silence."""
    assert Policy(Settings()).due(turns, tokens, NOW - timedelta(seconds=silent), NOW) == why


def test_what_is_evicted_first() -> None:
    """Old turns before new ones, turns before facts, what was replaced before what holds, the unimportant first."""
    policy = Policy(Settings())

    def value(kind: str, days: float = 0, **fields: object) -> float:
        said = NOW - timedelta(days=days)
        record = Record(id="r", text="t", kind=kind, created_at=said, stored_at=said, **fields)  # type: ignore[arg-type]
        return policy.value(record, NOW)

    assert value("turn", 300) < value("turn", 1) < value("event", 1) < value("fact", 300) < value("profile", 300)
    assert value("fact", superseded_by="x") < value("fact")
    assert value("fact", importance=0.0) < value("fact") < value("fact", importance=1.0)
    assert value("fact") < value("fact", support=4)
