"""How memory ages: summaries roll up, events pass, what has expired goes, and a full memory keeps what matters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from long_lives import opened
from siltstone import Settings, TieredMemory
from siltstone.protocols import Floats
from siltstone.testing import FrozenClock, HashEmbedder

CANARY = "heliotrope"


@pytest.fixture
def clock() -> FrozenClock:
    """The noon of a Monday."""
    return FrozenClock("2024-05-06T12:00:00+00:00")


@pytest.fixture
def memory(clock: FrozenClock) -> Iterator[TieredMemory]:
    """A memory with short spans."""
    with opened(clock, span_turns=8) as memory:
        yield memory


def talk(memory: TieredMemory, session: str, about: str, turns: int = 16) -> list[str]:
    """Add a conversation of several spans about something."""
    messages = []
    for n in range(turns // 2):
        messages.append(("user", f"Today we spent hour number {n} in the workshop with the {about} and some tools."))
        messages.append(("assistant", f"What did you find out about the {about} in hour {n}, and what comes next?"))
    return memory.add(messages, session_id=session)


def levels(memory: TieredMemory) -> list[int]:
    """Return the levels of all summaries but those of topics."""
    return sorted(record.level for record in memory.records(kinds="summary") if record.level < 4)


def test_summaries_roll_up_as_they_age(memory: TieredMemory, clock: FrozenClock) -> None:
    """Spans become a session's summary when it is over, sessions a week's, weeks a month's; each within its budget."""
    for day in range(10):
        talk(memory, f"s{day}", f"boat engine {day}")
        memory.consolidate()
        clock.advance(days=1)
    clock.advance(days=40)
    memory.consolidate()
    found = levels(memory)
    assert (found.count(0), found.count(1), found.count(2), found.count(3)) == (20, 10, 2, 1)
    by_id = {record.id: record for record in memory.records(kinds="summary")}
    count = memory.token_counter.count
    for record in by_id.values():
        if record.level in (1, 2, 3):
            sources = [by_id[id] for id in record.source_ids]
            assert {source.level for source in sources} == {record.level - 1}
            assert count(record.text) <= max(sum(count(source.text) for source in sources) // 5, 24)
    assert memory.consolidate().rows == ()
    assert {hit.record.level for hit in memory.search("boat engine", kinds="summary", top_k=50)} == {0, 1, 2, 3, 4}


@hypothesis.settings(max_examples=15)
@hypothesis.given(
    turns=strategies.lists(strategies.integers(2, 40), min_size=1, max_size=12),
    words=strategies.sampled_from(["violin", "小提琴和老师", "ünïcödé 🎻"]),
    budget=strategies.integers(24, 80),
)
def test_the_summary_of_a_running_session_stays_within_its_budget(turns: list[int], words: str, budget: int) -> None:
    """However long a session runs, its rolling summary keeps to ``Settings.summary_tokens``, and is one record."""
    clock = FrozenClock("2024-05-06T12:00:00+00:00")
    with opened(clock, span_turns=8, summary_tokens=budget) as memory:
        for n, number in enumerate(turns):
            talk(memory, "s", f"{words} {n}", number)
            clock.advance(minutes=5)
            memory.consolidate()
            rolling = [record for record in memory.records(kinds="summary") if record.level == 1]
            assert len(rolling) <= 1
            for record in rolling:
                assert memory.token_counter.count(record.text) <= budget
        if sum(turns) > 6 * 8:
            assert len(rolling) == 1


def test_a_late_session_is_rolled_into_its_week(memory: TieredMemory, clock: FrozenClock) -> None:
    """A week's summary is made again when another session of that week comes to light."""
    talk(memory, "a", "kiln")
    talk(memory, "b", "loom")
    clock.advance(days=20)
    memory.consolidate()
    (week,) = [record for record in memory.records(kinds="summary") if record.level == 2]
    memory.add(
        [("user", f"In the garden shed we fixed plank {n} of the old greenhouse roof.") for n in range(16)],
        session_id="c",
        created_at="2024-05-07T12:00:00+00:00",
    )
    memory.consolidate()
    (again,) = [record for record in memory.records(kinds="summary") if record.level == 2]
    assert (again.id, again.version) == (week.id, 2)
    assert len(again.source_ids) == 3


def test_a_forgotten_summary_of_a_session_is_made_of_what_comes_after(clock: FrozenClock) -> None:
    """What the forgotten one had covered enters no other of its session, however far that runs on."""
    with opened(clock, span_turns=8) as memory:
        for n in range(8):
            talk(memory, "s", f"violin {n}")
        memory.consolidate()
        (rolling,) = [record for record in memory.records(kinds="summary") if record.level == 1]
        memory.forget(ids=[rolling.id])
        memory.consolidate()
        assert 1 not in levels(memory)
        for n in range(8):
            talk(memory, "s", f"cello {n}")
        memory.consolidate()
        (again,) = [record for record in memory.records(kinds="summary") if record.level == 1]
        assert not set(again.source_ids) & set(rolling.source_ids)
        assert memory.consolidate().rows == ()


def test_a_forgotten_session_leaves_nothing_in_any_summary(tmp_path: Path, clock: FrozenClock) -> None:
    """Summaries of every level and facts that rested on a session are removed or made again without its words."""
    folder = tmp_path / "m"
    with opened(clock, folder, span_turns=8) as memory:
        for name in ("a", "b", "c"):
            talk(memory, name, CANARY if name == "b" else f"oak {name}")
        memory.add([("user", f"I have a dog named {CANARY}. I live in Lisbon.")], session_id="b")
        memory.add([("user", "I live in Lisbon.")], session_id="c")
        clock.advance(days=60)
        memory.consolidate()
        assert any(CANARY in r.text for r in memory.records(kinds="summary") if r.level == 2)
        memory.forget(session_id="b")
        assert not [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
        memory.consolidate()
        assert levels(memory) == [0, 0, 0, 0, 1, 1, 2]
        assert not any(CANARY in record.text for record in memory.records())
        assert [r.text for r in memory.records(kinds="profile")] == ["I live in Lisbon"]
    assert not [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_events_leave_the_profile_when_they_have_passed(memory: TieredMemory, clock: FrozenClock) -> None:
    """A trip stands in the profile until its day is over, and is found by search afterwards."""
    memory.add([("user", "I'm flying to Kyoto on June 3. I live in Lisbon.")], session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    assert "Kyoto" in memory.context(sections=["profile"]).text
    clock.advance(days=60)
    text = memory.context(sections=["profile"]).text
    assert "Kyoto" not in text
    assert "Lisbon" in text
    assert any("Kyoto" in hit.record.text for hit in memory.search("When did I fly to Kyoto?", kinds="event"))


def test_what_has_expired_is_purged(memory: TieredMemory, clock: FrozenClock) -> None:
    """An expired record is not read any more, and is taken out by the next run; a pinned one stays."""
    gone = memory.remember("the door code is 4711", ttl=timedelta(days=1))
    kept = memory.remember("the alarm code is 1234", ttl=timedelta(days=1), pinned=True)
    clock.advance(days=2)
    report = memory.consolidate()
    assert [(row.action, row.ids) for row in report.rows] == [("expire", (gone,))]
    assert [record.id for record in memory.records()] == [kept]


def test_what_is_recalled_lives_on(clock: FrozenClock) -> None:
    """With ``Settings.refresh`` a memory that comes into a context in the second half of its time has it again."""
    with opened(clock, refresh=True) as memory:
        code = memory.remember("the door code of the cabin is 4711", ttl=timedelta(days=30))
        other = memory.remember("the parking ticket number is 9", ttl=timedelta(days=30))
        clock.advance(days=10)
        memory.context("What is the door code of the cabin?", sections=["recalled"])
        assert memory.get(code).version == 1  # type: ignore[union-attr]
        clock.advance(days=10)
        memory.context("What is the door code of the cabin?", sections=["recalled"], now="2024-05-20T12:00:00+00:00")
        assert memory.get(code).version == 1  # type: ignore[union-attr]
        for _ in range(3):
            assert "4711" in memory.context("What is the door code of the cabin?", max_tokens=40).text
        assert memory.get(code).version == 2  # type: ignore[union-attr]
        clock.advance(days=29)
        assert [row.ids for row in memory.consolidate().rows] == [(other,)]
        assert [record.id for record in memory.records()] == [code]
        clock.advance(days=2)
        assert list(memory.records()) == []


def test_without_the_setting_a_context_writes_nothing(memory: TieredMemory, clock: FrozenClock) -> None:
    """What is recalled expires when it says."""
    memory.remember("the door code of the cabin is 4711", ttl=timedelta(days=30))
    clock.advance(days=29)
    before = memory.revision
    assert "4711" in memory.context("What is the door code of the cabin?").text
    assert memory.revision == before
    clock.advance(days=2)
    assert list(memory.records()) == []


class SynonymEmbedder(HashEmbedder):
    """An embedder that knows that an allergy is something that one is allergic to."""

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a text, ``(dim,)``."""
        return super().embed_query(
            text.replace("I have a bad peanut allergy since childhood", "I'm allergic to peanuts")
        )


def test_what_says_the_same_is_merged(clock: FrozenClock) -> None:
    """Statements that words do not tell to be the same, but vectors do, become one; the others are its history."""
    settings = Settings(embed_wait=5.0)
    with TieredMemory.open(":memory:", embedder=SynonymEmbedder(), clock=clock, settings=settings) as memory:
        first = memory.add([("user", "I'm allergic to peanuts.")], session_id="a")
        clock.advance(hours=1)
        memory.consolidate()
        said = [("user", "I have a bad peanut allergy since childhood."), ("user", "I'm allergic to cashews.")]
        second = memory.add(said, session_id="b")
        clock.advance(hours=1)
        report = memory.consolidate()
        assert report.count("merge") == 1
        kept, other, apart = (r for r in memory.records(kinds="profile") if r.topic == "user · health")
        assert (kept.support, kept.source_ids) == (2, (first[0], second[0]))
        assert (other.superseded_by, apart.superseded_by) == (kept.id, None)
        assert other.text in [record.text for record in memory.history(kept.id)]
        memory.forget(ids=first)
        memory.consolidate()
        left = [record.text for record in memory.records(kinds="profile") if record.valid_until is None]
        assert sorted(left) == ["I have a bad peanut allergy since childhood", "I'm allergic to cashews"]
