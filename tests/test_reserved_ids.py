"""Ids that siltstone gives to its own records: nobody else can, and where something else has one, the rest goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from siltstone import InvalidInputError, Message, Settings, TieredMemory
from siltstone.lifecycle.jobs import LEDGER, REFLECTION, TOPIC_MARK
from siltstone.lifecycle.reviews import review_id
from siltstone.lifecycle.spans import hashed
from siltstone.protocols import Put
from siltstone.records import Record
from siltstone.stores.ram import RamStore
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

OLD = datetime.fromisoformat("2024-05-06T09:30:00+00:00")
LATER = "2024-06-01T09:30:00+00:00"
SETTINGS = Settings(span_idle=0.0, session_idle=0.0, review_share=1.0)
OWN = (LEDGER, REFLECTION, TOPIC_MARK + "x", "turn:1")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TieredMemory]:
    """A folder store in which every digest is queued for review."""
    with TieredMemory.open(
        tmp_path / "store",
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        clock=FrozenClock(LATER),
        settings=SETTINGS,
    ) as opened:
        yield opened


def say(memory: TieredMemory, session_id: str, text: str) -> None:
    """Add two messages with the session's name and ``-1`` or ``-2`` for ids, and silence after them."""
    messages = [Message("user", text, id=f"{session_id}-1"), Message("user", "That is all.", id=f"{session_id}-2")]
    memory.add(messages, session_id=session_id, created_at=OLD)


@pytest.mark.parametrize("id", OWN)
def test_nobody_gives_them(memory: TieredMemory, tmp_path: Path, id: str) -> None:
    """``add``, ``remember`` and a file of another program refuse such an id, and store nothing."""
    with pytest.raises(InvalidInputError, match="'job:'"):
        memory.add([Message("user", "hello", id=id)], session_id="s")
    with pytest.raises(InvalidInputError, match="'job:'"):
        memory.remember("a fact", id=id)
    memory.add([("user", "hello")], session_id="s", created_at=OLD)
    memory.export_to(tmp_path / "export.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "export.jsonl").read_text().splitlines()]
    lines[1]["id"] = id
    (tmp_path / "export.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = memory.for_user("bob").import_from(tmp_path / "export.jsonl")
    assert (report.added, report.failed) == (0, 1)
    assert memory.stats().messages == 1


def test_what_is_named_after_them_comes_back(memory: TieredMemory, tmp_path: Path) -> None:
    """A session may be called like one, and its messages survive export and import also where ids are shared."""
    for session_id in ("a", "job:ledger"):
        memory.add([Message("user", f"said in {session_id}", id="1")], session_id=session_id)
    memory.export_to(tmp_path / "export.jsonl")
    bob = memory.for_user("bob")
    assert bob.import_from(tmp_path / "export.jsonl").added == 2
    assert bob.add([Message("user", "said in job:ledger", id="1")], session_id="job:ledger") == ["/job:ledger/1"]
    assert bob.stats().messages == 2


@pytest.mark.parametrize("kind", ["summary", "job", "review"])
def test_a_clash_is_told_and_the_rest_goes_on(memory: TieredMemory, kind: str) -> None:
    """What has the id of something that is to be made stays as it is, a row says so, and other spans are taken in."""
    id = review_id("a", ["a-1", "a-2"]) if kind == "review" else hashed(kind, "a", "a-1", "a-2")
    say(memory, "a", "I live in Berlin and I love playing chess with my neighbours on Sundays. " * 20)
    memory.add([Message("user", "mine", id=id)], session_id="mine", created_at=OLD)
    say(memory, "b", "I work at Acme. I have a dog called Rex.")
    rows = memory.consolidate().rows
    assert [row.ids for row in rows if row.action == "skip"] == [(id,)]
    assert any("Acme" in record.text for record in memory.records(kinds=("profile", "fact")))
    assert [message.content for message in memory.messages("mine")] == ["mine"]


@pytest.mark.parametrize("message", [False, True])
def test_a_taken_ledger_is_told(message: bool) -> None:
    """Where something of the user has the ledger's id, it is not overwritten, and a row says why nothing is learned."""
    store = RamStore()
    put = Put(message=Message("tool", "mine", id=LEDGER, session_id="mine", created_at=OLD))
    if not message:
        put = Put(Record(id=LEDGER, text="mine", kind="fact", user_id="default", created_at=OLD, stored_at=OLD))
    store.commit("default", [put])
    with TieredMemory.open(
        store, embedder=HashEmbedder(), token_counter=WordCounter(), clock=FrozenClock(LATER), settings=SETTINGS
    ) as memory:
        say(memory, "a", "I work at Acme.")
        assert [(row.action, row.ids) for row in memory.consolidate().rows] == [("skip", (LEDGER,))]
        (kept,) = store.fetch("default", [LEDGER])
        assert kept is not None
        assert kept.version == 1
        memory.forget(ids=[LEDGER])
        assert "digest" in [row.action for row in memory.consolidate().rows]
