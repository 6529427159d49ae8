"""What becomes of messages that are added: ids, repeats and conflicts, decided without a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import pytest

from siltstone import ConflictError, Message
from siltstone.protocols import Stored
from siltstone.records import turn_of
from siltstone.tiers.long_term import Plan, plan_add

NOW = datetime(2026, 5, 8, tzinfo=timezone.utc)


class Table:
    """The little of a store that planning looks at."""

    def __init__(self) -> None:
        self.items: dict[str, Stored] = {}

    def lookup(self, ids: Sequence[str]) -> list[Stored | None]:
        """Return what is stored under the ids."""
        return [self.items.get(id) for id in ids]

    def add(self, *messages: Message, on_conflict: str = "error") -> Plan:
        """Plan an add and carry it out."""
        plan = plan_add(messages, self.lookup, "alice", NOW, on_conflict)  # type: ignore[arg-type]
        for put in plan.puts:
            version = self.items[put.id].version + 1 if put.id in self.items else 1
            self.items[put.id] = Stored(version, put.record, put.message, put.supplied_id)
        return plan


def said(text: str, id: str | None = None, session: str = "s") -> Message:
    """Return a message as ``read_messages`` would."""
    return Message("user", text, id=id, session_id=session, created_at=NOW)


def test_a_supplied_id_is_kept_where_it_is_free() -> None:
    """The stored id is the caller's own."""
    assert Table().add(said("hi", "1")).ids == ("1",)


def test_the_same_message_again_is_no_write() -> None:
    """Sending a message twice, in one call or two, stores it once."""
    table = Table()
    assert len(table.add(said("hi", "1"), said("hi", "1")).puts) == 1
    again = table.add(said("hi", "1"))
    assert again.puts == ()
    assert again.ids == ("1",)


def test_messages_without_id_are_never_taken_for_repeats() -> None:
    """Saying "ok" twice is two messages."""
    plan = Table().add(said("ok"), said("ok"))
    assert len(plan.puts) == len(set(plan.ids)) == 2


def test_other_text_under_a_known_id_is_a_conflict() -> None:
    """By default nothing is replaced unasked, within a batch either."""
    table = Table()
    table.add(said("hi", "1"))
    with pytest.raises(ConflictError, match="on_conflict"):
        table.add(said("bye", "1"))
    with pytest.raises(ConflictError):
        Table().add(said("a", "1"), said("b", "1"))


def test_update_replaces_and_skip_keeps() -> None:
    """The caller chooses what a changed message means."""
    table = Table()
    table.add(said("hi", "1"))
    assert table.add(said("bye", "1"), on_conflict="skip").puts == ()
    (put,) = table.add(said("bye", "1"), on_conflict="update").puts
    assert put.message is not None
    assert put.message.content == "bye"
    assert put.record is not None
    assert put.record.version == 2


def test_another_sessions_id_is_qualified() -> None:
    """Two sessions may number their messages alike, and repeats are recognised in both."""
    table = Table()
    table.add(said("hi", "1", "a"))
    assert table.add(said("你好", "1", "b")).ids == ("b/1",)
    assert table.add(said("你好", "1", "b")).puts == ()
    del table.items["1"]  # the first session's message is forgotten
    assert table.add(said("你好", "1", "b")).puts == ()


def test_an_id_taken_on_both_ways_is_refused() -> None:
    """Where even the qualified id belongs to another message, nothing is guessed."""
    table = Table()
    table.add(said("x", "1", "a"), said("y", "b/1", "c"))
    with pytest.raises(ConflictError, match="choose another id"):
        table.add(said("z", "1", "b"))


def test_what_nobody_said_has_no_turn() -> None:
    """System and tool messages and bare tool calls are kept without a record to search for."""
    for message in (Message("system", "Be kind."), Message("tool", "42"), Message("assistant", " ")):
        assert turn_of(message, "alice", NOW) is None
