"""Summaries of topics: what was said of one thing in several conversations, kept together as it grows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from siltstone import Record, Settings, TieredMemory
from siltstone.lifecycle.topics import LOOSE, grouped
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

CANARY = "heliotrope"
TALK = {
    "violin": "The violin strings squeak, so the violin teacher corrects my violin bow in lesson {}.",
    "bread": "My sourdough bread dough rises, and sourdough bread crust number {} needs a hotter oven.",
    "marathon": "Marathon training week {}: a long marathon run, sore knees, and marathon shoes are worn.",
    "小提琴": "小提琴的琴弦吱吱响，小提琴老师第{}课纠正我拉小提琴的弓法。",
    "面包": "酸面包的面团发起来了，第{}个酸面包的面包皮要烤箱更热一些。",
    "马拉松": "马拉松训练第{}周：马拉松长跑以后膝盖酸，马拉松跑鞋也磨坏了。",
}


@pytest.fixture
def clock() -> FrozenClock:
    """The noon of a Monday."""
    return FrozenClock("2024-05-06T12:00:00+00:00")


def opened(clock: FrozenClock, location: str | Path = ":memory:") -> TieredMemory:
    """Return a memory that waits for its vectors."""
    settings = Settings(embed_wait=5.0)
    return TieredMemory.open(
        location, embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock, settings=settings
    )


@pytest.fixture
def memory(clock: FrozenClock) -> Iterator[TieredMemory]:
    """A memory in which nothing was said yet."""
    with opened(clock) as memory:
        yield memory


def talk(memory: TieredMemory, about: str, n: int, extra: str = "") -> str:
    """Have a conversation about one thing, long enough for one summary; return its session."""
    session = f"{about}-{n}"
    lines = [TALK[about].format(10 * n + k) for k in range(8)]
    memory.add([("user", line) for line in [*lines, *([extra] if extra else [])]], session_id=session)
    return session


def talks(memory: TieredMemory, clock: FrozenClock, subjects: list[str], times: range) -> None:
    """Talk about each thing, again and again, some days apart, and consolidate."""
    for n in times:
        for about in subjects:
            talk(memory, about, n)
        clock.advance(days=3)
    memory.consolidate()


def topics(memory: TieredMemory) -> dict[str, Record]:
    """Return the summaries of topics by what they are about; each holds conversations about nothing else."""
    by_id = {record.id: record for record in memory.records(kinds="summary")}
    found = {}
    for record in by_id.values():
        if record.level == 4:
            (about,) = {str(by_id[id].session_id).partition("-")[0] for id in record.source_ids}
            found[about] = record
    return found


@pytest.mark.parametrize("subjects", [["violin", "bread", "marathon"], ["小提琴", "面包", "马拉松"], list(TALK)])
def test_a_topic_of_several_conversations_gets_a_summary(
    memory: TieredMemory, clock: FrozenClock, subjects: list[str]
) -> None:
    """It is made once three conversations are about it, rests on them, keeps its language, and is not made again."""
    talks(memory, clock, subjects, range(2))
    assert topics(memory) == {}
    talks(memory, clock, subjects, range(2, 4))
    found = topics(memory)
    assert set(found) == set(subjects)
    for about, record in found.items():
        assert about in record.text
        assert record.topic is not None
        assert about.isascii() == record.text.isascii()
        assert (len(record.source_ids), record.session_id, record.made_by) == (4, None, "extractive")
    assert memory.consolidate().rows == ()


def test_it_is_found_by_search_and_by_kind(memory: TieredMemory, clock: FrozenClock) -> None:
    """A search among summaries finds it, and so does a look at those of its level."""
    talks(memory, clock, ["violin", "bread", "marathon"], range(4))
    hits = memory.search("violin teacher", kinds="summary", top_k=20)
    assert topics(memory)["violin"].id in [hit.record.id for hit in hits]
    assert hits[0].record.topic is not None
    assert "violin" in hits[0].record.topic


def test_it_stays_the_same_topic_as_it_grows(memory: TieredMemory, clock: FrozenClock) -> None:
    """Further conversations become sources of the same record, which has versions; its size does not grow with them."""
    talks(memory, clock, ["violin", "bread", "marathon"], range(4))
    before = topics(memory)
    talks(memory, clock, ["violin"], range(4, 6))
    after = topics(memory)
    assert {about: record.id for about, record in after.items()} == {about: r.id for about, r in before.items()}
    assert set(after["violin"].source_ids) > set(before["violin"].source_ids)
    assert (after["violin"].version, after["bread"].version) == (2, 1)
    assert memory.token_counter.count(after["violin"].text) <= memory.token_counter.count(before["violin"].text) * 2


def test_a_forgotten_conversation_leaves_the_topic_that_it_was_part_of(tmp_path: Path, clock: FrozenClock) -> None:
    """The topic is made again of the others, under the same id, though the one that founded it has gone."""
    with opened(clock, tmp_path / "m") as memory:
        for n in range(4):
            for about in ("violin", "bread", "marathon"):
                talk(
                    memory, about, n, extra=f"The {CANARY} violin is the violin." if (about, n) == ("violin", 0) else ""
                )
            clock.advance(days=3)
        memory.consolidate()
        before = topics(memory)["violin"]
        memory.forget(session_id="violin-0")
        assert "violin" not in topics(memory)
        memory.consolidate()
        again = topics(memory)["violin"]
        assert (again.id, len(again.source_ids)) == (before.id, 3)
        memory.forget(session_id="violin-1")
        memory.consolidate()
        assert "violin" not in topics(memory)
        assert memory.consolidate().rows == ()
        talk(memory, "violin", 4)
        clock.advance(days=3)
        memory.consolidate()
        assert topics(memory)["violin"].id == before.id
    assert not [f for f in (tmp_path / "m").rglob("*") if f.is_file() and CANARY.encode() in f.read_bytes()]


def test_a_changed_message_changes_the_topic(memory: TieredMemory, clock: FrozenClock) -> None:
    """A corrected message is in the topic's summary no more as it was, and the topic is made again."""
    talks(memory, clock, ["violin", "bread", "marathon"], range(3))
    session = talk(memory, "violin", 9, f"The violin of the {CANARY} violin maker has {CANARY} strings.")
    clock.advance(days=1)
    memory.consolidate()
    before = topics(memory)["violin"]
    assert len(before.source_ids) == 4
    wrong = memory.messages(session)[-1]
    memory.update(f"turn:{wrong.id}", text="The violin of the honest violin maker and teacher.")
    assert "violin" not in topics(memory)
    clock.advance(days=1)
    memory.consolidate()
    again = topics(memory)["violin"]
    assert (again.id, len(again.source_ids)) == (before.id, 4)
    assert CANARY not in again.text


def test_a_topic_that_was_forgotten_is_not_made_again(memory: TieredMemory, clock: FrozenClock) -> None:
    """What it rested on makes no other; what is said of it later may."""
    talks(memory, clock, ["violin", "bread", "marathon"], range(4))
    gone = topics(memory)["violin"]
    memory.forget(ids=[gone.id])
    memory.consolidate()
    assert "violin" not in topics(memory)
    talks(memory, clock, ["violin"], range(4, 7))
    assert not set(topics(memory)["violin"].source_ids) & set(gone.source_ids)
    assert memory.consolidate().rows == ()


def test_a_dry_run_says_which_are_due(memory: TieredMemory, clock: FrozenClock) -> None:
    """It names them, and writes none."""
    talks(memory, clock, ["violin", "bread", "marathon"], range(4))
    memory.forget(session_id="violin-0")
    rows = memory.consolidate(dry_run=True).rows
    assert "a topic, from 3 summaries" in [row.why for row in rows]
    assert "violin" not in topics(memory)


def spans(number: int, sessions: int) -> list[Record]:
    """Return summaries of spans, an hour apart."""
    moment = datetime(2024, 5, 6, tzinfo=timezone.utc)
    return [
        Record(
            id=f"{n:04}", text="words", kind="summary", session_id=f"s{n % sessions}", source_ids=("m",),
            created_at=moment.replace(day=1 + n // 24 % 28, hour=n % 24), stored_at=moment, made_by="extractive",
        )
        for n in range(number)
    ]  # fmt: skip


def test_spans_of_one_session_make_no_topic() -> None:
    """One long conversation about a thing has a summary of its own already."""
    axes = np.eye(4, dtype=np.float32)[[0, 0, 0, 1, 2, 3]]
    assert grouped(spans(6, 1), axes, {}) == {}
    assert [len(group) for group in grouped(spans(6, 2), axes, {}).values()] == [3]


def test_the_order_of_the_store_does_not_matter() -> None:
    """Groups follow from times and vectors."""
    few = spans(12, 4)
    axes = np.eye(4, dtype=np.float32)[[n % 3 for n in range(12)]]
    order = np.random.default_rng(7).permutation(12)
    shuffled = grouped([few[n] for n in order], axes[order], {})
    assert len(shuffled) == 3
    assert shuffled == grouped(few, axes, {})


def test_a_span_without_a_vector_waits() -> None:
    """What is not embedded yet is in no topic, and is no reason to take one apart."""
    few = spans(9, 3)
    axes = np.eye(3, dtype=np.float32)[[n % 3 for n in range(9)]]
    topics = {of: [span.id for span in group] for of, group in grouped(few, axes, {}).items()}
    axes[:3] = np.nan
    assert sum(len(group) for group in grouped(few, axes, {}).values()) == 0
    assert {of: [span.id for span in group] for of, group in grouped(few, axes, topics).items()} == topics


def test_only_the_newest_loose_spans_are_looked_at() -> None:
    """The cost of finding new topics does not grow with the memory."""
    many = spans(LOOSE + 3, 5)
    rows = np.random.default_rng(7).normal(size=(len(many), 64)).astype(np.float32)
    rows[:3] = rows[0]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert not any(many[0] in group for group in grouped(many, rows, {}).values())
    assert any(many[0] in group for group in grouped(many[:LOOSE], rows[:LOOSE], {}).values())
