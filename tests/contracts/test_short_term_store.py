"""The contract of short-term stores: it holds in this process's memory, and in Redis."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from siltstone import Message
from siltstone.protocols import ShortTermStore
from siltstone.testing import FrozenClock
from siltstone.tiers.short_term import RamShortTerm

NOON = datetime(2026, 5, 8, 12, tzinfo=timezone.utc)
Make = Callable[..., ShortTermStore]


@pytest.fixture
def clock() -> FrozenClock:
    """Where the present comes from."""
    return FrozenClock(NOON)


@pytest.fixture(params=["ram", "redis"])
def make(request: pytest.FixtureRequest, clock: FrozenClock) -> Make:
    """Makes a short-term store, with limits."""
    if request.param == "ram":
        return lambda **limits: RamShortTerm(clock, **limits)
    url = request.getfixturevalue("redis_url")
    from siltstone.stores.redis.turns import RedisShortTerm

    return lambda **limits: RedisShortTerm(url, clock=clock, **limits)


def said(text: str, id: str | None = None, **more: Any) -> Message:
    """Return a message of the session."""
    return Message("user", text, id=id or text, session_id="s", created_at=NOON, **more)


def texts(tier: ShortTermStore, user_id: str = "alice", session_id: str = "s", limit: int | None = None) -> list[str]:
    """Return what the tier has of a session."""
    return [message.content for message in tier.recent(user_id, session_id, limit)]


def test_it_is_a_short_term_store(make: Make) -> None:
    """Whatever holds recent turns has the three verbs."""
    assert isinstance(make(), ShortTermStore)


def test_messages_come_back_as_they_were(make: Make) -> None:
    """Role, name, time, id, metadata and every character of the text are kept, in order."""
    tier = make()
    messages = [
        Message("system", "Be brief.", id="0", session_id="s", created_at=NOON),
        said("花生过敏 🐝\n|a|b", "1|2", name="Alice", metadata={"calls": [{"id": 1, "x": None}], "f": 0.5}),
        Message("tool", "", id="t", session_id="s", created_at=NOON - timedelta(days=30_000)),
    ]
    tier.append("alice", "s", messages[:1])
    tier.append("alice", "s", messages[1:])
    assert tier.recent("alice", "s") == messages


def test_the_newest_are_given(make: Make) -> None:
    """A limit gives the newest, oldest first; none of it gives nothing."""
    tier = make()
    tier.append("alice", "s", [said(text) for text in ("one", "two", "three")])
    assert texts(tier, limit=2) == ["two", "three"]
    assert texts(tier, limit=9) == ["one", "two", "three"]
    assert texts(tier, limit=0) == []
    assert texts(tier, session_id="other") == []


def test_a_message_of_a_known_id_takes_its_place(make: Make) -> None:
    """What is sent again is there once, in its old place with its new words."""
    tier = make()
    tier.append("alice", "s", [said("one"), said("two")])
    tier.append("alice", "s", [said("uno", "one"), said("three"), said("tres", "three")])
    assert texts(tier) == ["uno", "two", "tres"]


def test_the_oldest_go_over_the_limit(make: Make) -> None:
    """Each session keeps so many turns."""
    tier = make(turns=2)
    tier.append("alice", "s", [said("one")])
    tier.append("alice", "s", [said("two"), said("three")])
    tier.append("alice", "t", [said("four")])
    assert texts(tier) == ["two", "three"]
    assert texts(tier, session_id="t") == ["four"]


def test_turns_expire_one_by_one(make: Make, clock: FrozenClock) -> None:
    """A turn is kept for its time, whatever came before or after it."""
    tier = make(ttl=timedelta(hours=1))
    tier.append("alice", "s", [said("one")])
    clock.advance(timedelta(minutes=40))
    tier.append("alice", "s", [said("two")])
    clock.advance(timedelta(minutes=20))
    assert texts(tier) == ["one", "two"]
    clock.advance(timedelta(seconds=1))
    assert texts(tier) == ["two"]
    clock.advance(timedelta(hours=1))
    assert texts(tier) == []


def test_drops_reach_what_is_named_and_nothing_else(make: Make) -> None:
    """Messages, a session, or all of a user go; others stay."""
    tier = make()
    for user in ("alice", "bob"):
        for session in ("s", "t"):
            tier.append(user, session, [said("one"), said("two")])
    tier.drop("alice", session_id="s", ids=["one"])
    assert (texts(tier), texts(tier, session_id="t")) == (["two"], ["one", "two"])
    tier.drop("alice", ids=["two", "absent"])
    assert (texts(tier), texts(tier, session_id="t")) == ([], ["one"])
    tier.drop("bob", session_id="t")
    assert (texts(tier, "bob"), texts(tier, "bob", "t")) == (["one", "two"], [])
    tier.drop("bob")
    assert (texts(tier, "bob"), texts(tier, session_id="t")) == ([], ["one"])
    tier.drop("nobody")


@pytest.mark.parametrize("id", ["}:s", "{alice}", "a:b", "a*", "run", "%%", " ", "\0", "é", "\ud800", "x" * 5000, "爱"])
def test_no_id_reaches_into_another(make: Make, id: str) -> None:
    """Whatever ids are made of, users and sessions stay apart."""
    tier = make()
    pairs = [(id, "s"), ("s", id), (id, id), ("alice", "s"), (id + "x", "s"), ("a", "b"), ("a:b", "c"), ("a", "b:c")]
    pairs = list(dict.fromkeys(pairs))
    for n, (user, session) in enumerate(pairs):
        tier.append(user, session, [said(f"{n}")])
    assert [texts(tier, user, session) for user, session in pairs] == [[f"{n}"] for n in range(len(pairs))]
    tier.drop(id)
    assert [texts(tier, *pair) == [] for pair in pairs] == [user == id for user, _ in pairs]
