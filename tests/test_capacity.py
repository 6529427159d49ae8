"""Capacity: what a full memory keeps, and that what it has evicted can still be forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from long_lives import opened
from memory_places import empty_location
from siltstone import Digest, Message, ModelError, NotFoundError, Settings, TieredMemory
from siltstone.protocols import Compacts, Put, Where
from siltstone.records import HIDDEN_KINDS, Record, replace
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from siltstone.tiers.short_term import RamShortTerm
from vector_stores import over_vector_store

CANARY = "heliotrope"


@pytest.fixture
def clock() -> FrozenClock:
    """The noon of a Monday."""
    return FrozenClock("2024-05-06T12:00:00+00:00")


@pytest.fixture(params=["folder", "sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store may be made."""
    return empty_location(request.param, request, tmp_path)


def test_a_full_memory_keeps_what_matters(clock: FrozenClock) -> None:
    """Over its capacity a user loses old turns first, then what is of little importance, never what is pinned."""
    with opened(clock, capacity_records=50) as memory:
        pinned = memory.remember("the name of the boat is Ibis", pinned=True, importance=0.0)
        minor = memory.remember("a pelican flew by", importance=0.0)
        major = memory.remember("allergic to penicillin", importance=1.0)
        for day in range(60):
            memory.add([("user", f"On day {day} it rained on the roof.")], session_id=f"s{day}")
            clock.advance(days=1)
        report = memory.consolidate()
        assert report.count("evict") > 0
        assert memory.stats().records <= 50
        left = {record.id for record in memory.records()}
        assert {pinned, major, minor} <= left
        assert "day 59" in " ".join(record.text for record in memory.records())
        assert not any("day 0 " in record.text for record in memory.records())
        assert memory.consolidate().count("evict") == 0


def test_what_made_room_for_others_can_still_be_forgotten(tmp_path: Path, clock: FrozenClock) -> None:
    """By the id of an evicted message all that is left of it goes: what was made of it, and its short-term copy."""
    tier = RamShortTerm(clock)
    with TieredMemory.open(
        tmp_path / "m",
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        clock=clock,
        short_term=tier,
        settings=Settings(embed_wait=5.0, capacity_records=10),
    ) as memory:
        (gone,) = memory.add([("user", f"The word is {CANARY}.")], session_id="s")
        resting = memory.remember(f"the word: {CANARY}", source_ids=[gone], pinned=True)
        kept = memory.remember("the name of the boat is Ibis", pinned=True)
        for hour in range(12):
            clock.advance(hours=1)
            memory.add([("user", f"In hour {hour} it rained on the roof.")], session_id="t")
        assert memory.consolidate().count("evict")
        with pytest.raises(NotFoundError):
            memory.get(gone)
        assert memory.get(resting)
        assert tier.recent("default", "s")
        assert memory.forget(ids=[gone], dry_run=True).derived == (resting,)
        report = memory.forget(ids=[gone])
        assert (report.messages, report.records, report.derived) == ((), (resting,), (resting,))
        assert tier.recent("default", "s") == []
        assert memory.get(kept)
        assert not [p for p in tmp_path.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]
        assert memory.forget(ids=[gone, "never there"]).records == ()


def own_bytes(memory: TieredMemory) -> int:
    """Return what a user takes on disk."""
    return sum(memory.stats().own_bytes.values())


def test_capacity_in_bytes(location: str, clock: FrozenClock) -> None:
    """A limit in bytes is kept to in the same way, wherever the store is."""
    with opened(clock, location, capacity_bytes=200_000) as memory:
        for day in range(30):
            memory.add([("user", f"On day {day}: " + "it rained on the roof. " * 400)], session_id=f"s{day}")
            clock.advance(days=1)
        for _ in range(5):
            memory.consolidate()
        assert own_bytes(memory) <= 200_000
        assert memory.stats().records > 5


def test_capacity_in_bytes_is_of_one_user(location: str, clock: FrozenClock) -> None:
    """Nothing of a small user is evicted for what others have, nor for the room that a database takes by itself."""
    with opened(clock, location, capacity_bytes=50_000) as memory:
        memory.for_user("bob").add([("user", f"On day {n}: " + "it rained. " * 400) for n in range(40)], session_id="b")
        memory.add([("user", f"In hour {n} it rained on the roof.") for n in range(10)], session_id="s")
        report = memory.consolidate()
        assert report.count("evict") == 0
        assert len(memory.messages("s")) == 10
        assert own_bytes(memory) < 50_000 < own_bytes(memory.for_user("bob"))


def lived(memory: TieredMemory, clock: FrozenClock, session: str, about: str) -> list[str]:
    """Add a conversation of two spans, let it be over, and consolidate; return the ids of its messages."""
    said = f"That day of the {about} we sorted the tools by size, oiled them all and put them away, and had tea."
    ids = memory.add([("user", said), ("assistant", "What did you do after that?")] * 8, session_id=session)
    clock.advance(hours=1)
    memory.consolidate()
    return ids


def summaries(memory: TieredMemory, level: int) -> list[str]:
    """Return the ids of the summaries of a level."""
    return [record.id for record in memory.records(kinds="summary") if record.level == level]


def notes(memory: TieredMemory, kind: str) -> list[str]:
    """Return the ids of a user's hidden records of a kind."""
    assert kind in HIDDEN_KINDS
    engine = memory._open_engine()
    return [record.id for record in engine.store.scan("default", Where(kinds=(kind,)))]


def test_a_conversation_without_end_goes_on_being_digested(clock: FrozenClock) -> None:
    """However much has been evicted of it: its newest turns are there, and what they told is known."""
    with opened(clock, capacity_records=60) as memory:
        for n in range(300):
            told = f"My friend number {n} is called Name{n}, and she lives in Town{n} near the river with her cats."
            memory.add([("user", told)], session_id="s")
            clock.advance(minutes=5)
            if n % 10 == 9:
                memory.consolidate()
        assert memory.stats().records <= 60
        newest = [message.content for message in memory.messages("s")][-10:]
        assert [text.split()[3] for text in newest] == [str(n) for n in range(290, 300)]
        facts = " ".join(record.text for record in memory.records(kinds="fact"))
        assert all(f"Town{n} " in facts for n in range(270, 280))


def test_what_was_digested_is_not_digested_again(clock: FrozenClock) -> None:
    """Though its summary made room for facts: a memory in which nothing has happened stays as it is."""
    with opened(clock, capacity_records=100, span_turns=8, worker=False) as memory:
        for n in range(120):
            memory.remember(f"fact number {n}")
        said = "My sister Ana lives in Porto near the river, where she sorts tools by size and oils them all each day."
        memory.add([("user", said), ("assistant", "What does she do after that?")] * 4, session_id="s")
        clock.advance(seconds=1)
        assert memory.consolidate().count("evict")
        assert memory.messages("s")
        assert summaries(memory, 0) == []
        assert memory.consolidate().rows == ()


def filled_for_long(memory: TieredMemory, clock: FrozenClock) -> None:
    """Live long in little room, as the limit in bytes is one of what is held."""
    known = memory.remember("the name of the boat is Ibis")
    for n in range(60):
        asked = [("user", f"Tell me about number {n}, my friend."), ("assistant", "word " * 200)]
        memory.add([*asked, ("user", "That will do."), ("assistant", "Good.")], session_id=f"s{n}")
        clock.advance(hours=2)
        memory.consolidate()
        assert own_bytes(memory) <= 100_000
    assert memory.get(known)
    assert memory.stats().kinds["turn"] > 40


def test_what_is_dead_on_disk_costs_no_memory_its_place(location: str, clock: FrozenClock) -> None:
    """However long a small memory has lived, what it has given up takes no room from what it holds."""
    with opened(clock, location, capacity_bytes=100_000, worker=False) as memory:
        filled_for_long(memory, clock)


def test_what_is_dead_beside_a_vector_store_can_be_taken_out(clock: FrozenClock, tmp_path: Path) -> None:
    """Where the vectors are in an engine of their own, the files of the texts are no other."""
    store = over_vector_store("simple-over-folder", tmp_path)
    assert isinstance(store, Compacts)
    now = clock.now()
    for version in range(1, 40):
        noted = Record(id="f", text=f"note {version} " * 50, version=version, created_at=now, stored_at=now)
        store.commit("default", [Put(noted)])
    store.remove("default", ["f"])
    assert store.compact("default") > 0


def test_results_of_tools_make_room_with_their_turns(location: str, clock: FrozenClock) -> None:
    """However long they are, the limit in bytes holds, and what is known stays."""
    with opened(clock, location, capacity_bytes=150_000, worker=False) as memory:
        known = memory.remember("the name of the boat is Ibis", pinned=True)
        for n in range(10):
            asked = [("user", f"Look up number {n}."), Message("tool", "a result " * 4_000), ("assistant", "Done.")]
            memory.add([Message("system", "Be brief."), *asked], session_id=f"s{n}")
            clock.advance(hours=1)
            memory.consolidate()
            assert own_bytes(memory) <= 150_000
        assert memory.get(known)
        assert [message.role for message in memory.messages("s9")] == ["system", "user", "tool", "assistant"]
        assert memory.messages("s0") == []


def test_what_was_replaced_goes_before_what_replaced_it(clock: FrozenClock) -> None:
    """Of what is pinned the successor stays, too: nothing that no longer holds is taken for true."""
    with opened(clock, capacity_records=40, worker=False) as memory:
        memory.add([("user", "I live in Lisbon.")], session_id="early")
        clock.advance(days=3)
        memory.consolidate()
        (old,) = memory.records(kinds="profile")
        memory.update(old.id, pinned=True)
        memory.add([("user", "I moved to Porto last week, I live in Porto now.")], session_id="late")
        clock.advance(days=3)
        memory.consolidate()
        assert memory.get(old.id).superseded_by is not None
        for n in range(60):
            memory.remember(f"fact number {n}", importance=1.0)
        assert memory.consolidate().count("evict")
        clock.advance(days=3)
        assert memory.consolidate().rows == ()
        assert memory.get(old.id).superseded_by is not None
        assert "Porto" in memory.context("Where do I live?").text


def test_what_stands_alone_now_is_told_at_once(clock: FrozenClock) -> None:
    """Where one of two statements that contradict each other makes room, the next run has nothing to do."""
    with opened(clock, capacity_records=30, worker=False) as memory:
        for home in ("Lisbon", "Porto"):
            memory.add([("user", f"I live in {home}.")], session_id=home)
            clock.advance(minutes=30)
        memory.consolidate()
        one, other = memory.records(kinds="profile")
        assert {one.flags, other.flags} == {("contradicted",)}
        memory.update(one.id, pinned=True)
        memory.update(other.id, importance=0.0)
        for n in range(40):
            memory.remember(f"fact number {n}", importance=1.0)
        report = memory.consolidate()
        assert other.id in {id for row in report.rows if row.action == "evict" for id in row.ids}
        assert report.count("reopen") == 1
        assert memory.get(one.id).flags == ()
        assert memory.consolidate().rows == ()


class Silent:
    """A summarizer whose model does not answer."""

    name = "silent"

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Fail."""
        raise ModelError("no answer")


def test_what_nothing_was_made_of_outlives_what_was_digested(tmp_path: Path, clock: FrozenClock) -> None:
    """Turns that wait for a model make no room for turns that were digested, however old they are."""
    folder = tmp_path / "m"
    with opened(clock, folder, Silent(), span_turns=8, worker=False) as memory:
        waiting = memory.add([("user", f"I keep bees, and hive {n} is blue.") for n in range(8)], session_id="early")
        clock.advance(hours=1)
        assert memory.consolidate().count("fail")
    with opened(clock, folder, span_turns=8, worker=False) as memory:
        later = memory.add([("user", f"It rained on day {n}.") for n in range(64)], session_id="late")
        clock.advance(seconds=1)
        memory.consolidate()  # the job of the early ones is not due yet
    with opened(clock, folder, Silent(), span_turns=8, worker=False, capacity_records=40) as memory:
        assert memory.consolidate().count("evict")
        left = {message.id for message in memory.messages("early")}
        assert left == set(waiting)
        assert len(memory.messages("late")) < len(later)


def test_facts_do_not_crowd_out_the_conversation(clock: FrozenClock) -> None:
    """The newest turns of a running session are there, digested or not, though everything else is worth more."""
    with opened(clock, capacity_records=100, span_turns=8, worker=False) as memory:
        for n in range(120):
            memory.remember(f"fact number {n}")
        ids = memory.add([("user", f"I keep bees, and hive {n} is blue.") for n in range(16)], session_id="s")
        clock.advance(seconds=1)
        assert memory.consolidate().count("evict")
        assert {message.id for message in memory.messages("s")} >= set(ids[-8:])


def test_summaries_do_not_crowd_out_turns(clock: FrozenClock) -> None:
    """However many conversations a full memory has seen, in one week even, most of what it holds is turns."""
    with opened(clock, capacity_records=300, span_turns=8, worker=False) as memory:
        kept = []
        for n in range(110):
            lived(memory, clock, f"s{n}", f"workshop{n}")
            kept.append(len(list(memory.records(kinds="summary"))))
        assert max(kept[60:]) <= max(kept[:60]) < 110
        assert memory.stats().kinds["turn"] > 150


class Words:
    """A summarizer that keeps the longest words of what it is given: nothing is lost on the way up."""

    name, model_free = "words", True

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return them, each once, without its full stop."""
        said = " ".join(message.content for message in messages).replace(".", "").split()
        words = list(dict.fromkeys(word for word in said if len(word) > 8))
        ids = tuple(dict.fromkeys(message.id for message in messages if message.id is not None))
        return Digest("", " ".join(words), source_ids=ids, made_by=self.name)


def test_a_summary_is_made_again_of_itself_where_its_sources_were_evicted(clock: FrozenClock) -> None:
    """A session that goes on beyond what a full memory holds has a summary that tells its beginning, too."""
    with opened(clock, summarizer=Words(), capacity_records=60, span_turns=8, worker=False) as memory:
        for n in range(40):
            said = f"We looked at expedition{n} again, and wrote down what it had cost, who came along, and its end."
            memory.add([("user", said), ("assistant", "How did it go, and what comes next?")] * 4, session_id="s")
            clock.advance(minutes=1)
            memory.consolidate()
        assert len(summaries(memory, 0)) < 30
        (session,) = [record for record in memory.records(kinds="summary") if record.level == 1]
        assert all(f"expedition{n}" in session.text.split() for n in range(36))
        assert memory.consolidate().count("roll up") == 0


def filled(memory: TieredMemory, clock: FrozenClock) -> list[str]:
    """Live so long that nothing but the summary of a week is left of the first session; return its messages' ids."""
    ids = lived(memory, clock, "first", CANARY)
    n = 0
    while any(record.level < 2 and CANARY in record.text for record in memory.records(kinds="summary")):
        lived(memory, clock, f"s{n}", f"workshop{n}")
        n += 1
        assert n < 200
    assert memory.messages("first") == []
    assert [record.level for record in memory.records(kinds="summary") if CANARY in record.text] == [2]
    return ids


FORGOTTEN: dict[str, Callable[[list[str]], dict[str, object]]] = {
    "id": lambda ids: {"ids": [ids[3]]},
    "session": lambda ids: {"session_id": "first"},
    "time": lambda ids: {"until": "2024-05-06T12:30:00+00:00"},
}


@pytest.mark.parametrize("how", FORGOTTEN)
def test_what_is_left_of_something_evicted_goes_with_it(location: str, clock: FrozenClock, how: str) -> None:
    """Also where what was made of it, of which that was made, has been evicted in between."""
    with opened(clock, location, Words(), capacity_records=120, span_turns=8, worker=False) as memory:
        ids = filled(memory, clock)
        condition = FORGOTTEN[how](ids)
        told = memory.forget(**condition, dry_run=True)  # type: ignore[arg-type]
        report = memory.forget(**condition)  # type: ignore[arg-type]
        assert report.records == told.records != ()
        memory.consolidate()
        assert not any(CANARY in record.text for record in memory.records())


ELSEWHERE: dict[str, dict[str, object]] = {
    "session": {"session_id": "first"},
    "time": {"until": "2024-05-06T12:30:00+00:00"},
    "metadata": {"metadata": {"place": "garden"}},
    "kind": {"kinds": "turn"},
}


@pytest.mark.parametrize("how", ELSEWHERE)
@pytest.mark.parametrize("kept", [False, True])
def test_what_rests_elsewhere_on_the_evicted_goes_with_it(clock: FrozenClock, how: str, kept: bool) -> None:
    """What belongs to another session, or to none, is found by all that the evicted message, or fact, was known by."""
    with opened(clock, capacity_records=20, span_turns=8, worker=False) as memory:
        said = Message("user", f"The word is {CANARY}.", metadata={"place": "garden"})
        (gone,) = memory.add([said], session_id="first")
        if kept:
            gone = memory.remember(f"the word: {CANARY}", source_ids=[gone], metadata={"place": "garden"}, importance=0)
        resting = memory.remember(f"so much for {CANARY}", source_ids=[gone], pinned=True)
        clock.advance(hours=1)
        memory.consolidate()
        for n in range(30):
            memory.remember(f"fact number {n}", importance=1.0)
        clock.advance(hours=1)
        assert memory.consolidate().count("evict")
        with pytest.raises(NotFoundError):
            memory.get(gone)
        assert memory.get(resting)
        condition = ELSEWHERE[how] if how != "kind" or not kept else {"kinds": "fact"}
        assert resting in memory.forget(**condition, dry_run=True).records  # type: ignore[arg-type]
        assert resting in memory.forget(**condition).records  # type: ignore[arg-type]
        assert not any(CANARY in record.text for record in memory.records())


def test_the_caller_s_metadata_is_not_taken_for_the_memory_s_own(clock: FrozenClock) -> None:
    """What was made of evicted messages does not go by a condition that only a hidden record meets."""
    with opened(clock, capacity_records=20, span_turns=8, worker=False) as memory:
        memory.add([("user", "My sister Ana lives in Porto."), ("assistant", "I see.")], session_id="first")
        clock.advance(hours=1)
        memory.consolidate()
        for n in range(30):
            memory.remember(f"fact number {n}", importance=1.0)
        assert memory.consolidate().count("evict")
        assert memory.forget(metadata={"state": "done"}).records == ()
        assert memory.forget(metadata={"covers": True}).records == ()


def resting(memory: TieredMemory, ids: list[str]) -> bool:
    """Return whether something rests on one of the messages."""
    return any(set(ids).intersection(record.source_ids) for record in memory.records())


def test_what_is_left_of_the_evicted_moves_through_a_file(clock: FrozenClock, tmp_path: Path) -> None:
    """All that rests on something evicted is imported, and goes where that is forgotten, before or afterwards."""
    file = tmp_path / "memory.jsonl"
    with opened(clock, tmp_path / "early", Words(), span_turns=8, worker=False) as memory:
        ids = memory.add(
            [
                ("user", f"In the greenhouse we planted row {n} again, watered it well, and ate what had grown there.")
                for n in range(8)
            ],
            session_id="s",
        )
        memory.export_to(tmp_path / "early.jsonl")
    with opened(clock, tmp_path / "m", Words(), capacity_records=120, span_turns=8, worker=False) as memory:
        memory.import_from(tmp_path / "early.jsonl")
        clock.advance(hours=1)
        memory.consolidate()
        lately = filled(memory, clock)
        assert memory.messages("s") == []
        kept = {record.id: record.text for record in memory.records()}
        memory.export_to(file)
    with opened(clock, summarizer=Words(), worker=False) as other:
        assert other.import_from(file).skipped == 0
        assert {record.id: record.text for record in other.records()} == kept
        assert resting(other, ids)
        assert other.forget(ids=[lately[3]]).records
        assert not any(CANARY in record.text for record in other.records())
    with opened(clock, summarizer=Words(), worker=False) as other:
        other.import_from(tmp_path / "early.jsonl")
        other.forget(ids=ids)
        other.import_from(file)
        assert not resting(other, ids)


def test_what_earlier_versions_rested_on_may_be_evicted(clock: FrozenClock, tmp_path: Path) -> None:
    """A record whose earlier version names something evicted moves through a file with its whole history."""
    with opened(clock, capacity_records=20, worker=False) as memory:
        early, late = memory.add([("user", "We planted row 1."), ("user", "We planted row 2.")], session_id="s")
        kept = memory.remember("the rows are planted", source_ids=[early], pinned=True)
        version = replace(memory.get(kept), text="two rows are planted", source_ids=(late,), version=2)
        memory._open_engine().store.commit("default", [Put(version)])
        for n in range(30):
            memory.remember(f"fact number {n}", importance=1.0)
        clock.advance(hours=1)
        assert memory.consolidate().count("evict")
        assert memory.messages("s") == []
        memory.export_to(tmp_path / "m.jsonl")
        history = [record.source_ids for record in memory.history(kept)]
    with opened(clock, worker=False) as other:
        assert other.import_from(tmp_path / "m.jsonl").skipped == 0
        assert [record.source_ids for record in other.history(kept)] == history == [(early,)]


NONSENSE: list[object] = ["x", {"a": 1}, [1], [None], [["a"]], 7, [""], ["\ud800"]]


@pytest.mark.parametrize("evicted", NONSENSE, ids=repr)
def test_nonsense_in_a_file_is_told(clock: FrozenClock, tmp_path: Path, evicted: object) -> None:
    """What a person has written into ``evicted`` fails that line, with its reason, and no other one."""
    file = tmp_path / "m.jsonl"
    with opened(clock, worker=False) as memory:
        memory.remember("the name of the boat is Ibis")
        kept = memory.remember("the rows are planted")
        memory.export_to(file)
    header, first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([header, json.dumps({**json.loads(first), "evicted": evicted}), *rest]) + "\n")
    with opened(clock, worker=False) as other:
        report = other.import_from(file)
        assert report.failed == 1
        assert report.problems[0].reason
        assert [record.id for record in other.records()] == [kept]


def test_a_file_brings_nothing_back_that_was_forgotten(clock: FrozenClock, tmp_path: Path) -> None:
    """Also where somebody wrote into it that what was forgotten had been evicted."""
    file = tmp_path / "m.jsonl"
    with opened(clock, worker=False) as memory:
        (said,) = memory.add([("user", f"The word is {CANARY}.")], session_id="s")
        memory.remember(f"the word: {CANARY}", source_ids=[said])
        memory.export_to(file)
        memory.forget(ids=[said])
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        lines = [{**line, "evicted": [said]} if line.get("type") == "record" else line for line in lines]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        memory.import_from(file)
        assert not any(CANARY in record.text for record in memory.records())


def test_links_go_with_what_they_hold(clock: FrozenClock) -> None:
    """Nothing hidden stays behind when the last summary that rested on something evicted has gone."""
    with opened(clock, summarizer=Words(), capacity_records=120, span_turns=8, worker=False) as memory:
        filled(memory, clock)
        assert notes(memory, "link")
        memory.forget(kinds="summary")
        memory.add([("user", f"It rained in hour {n}.") for n in range(130)], session_id="last")
        clock.advance(hours=1)
        assert memory.consolidate().count("evict")
        held = [id for record in memory.records(kinds="summary") for id in record.source_ids]
        assert {id.removeprefix("job:link:") for id in notes(memory, "link")} <= set(held)


def test_marks_of_small_talk_go_with_the_last_of_it(clock: FrozenClock) -> None:
    """That a greeting needs no digest is not kept for longer than the greeting."""
    with opened(clock, capacity_records=40, span_turns=4, worker=False) as memory:
        for n in range(60):
            memory.add([("user", "Hello!"), ("assistant", "Hi!")] * 2, session_id=f"s{n}")
            clock.advance(hours=1)
            memory.consolidate()
        assert len(notes(memory, "job")) < 20


def live_on(memory: TieredMemory, clock: FrozenClock) -> None:
    """Have many more conversations."""
    for n in range(200):
        lived(memory, clock, f"t{n}", f"workshop{n}")


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("after", ["commit", "remove"])
def test_an_eviction_that_was_cut_short_loses_no_link(
    clock: FrozenClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """Links are there before what they stand for is gone, and the next run goes on."""
    with opened(clock, tmp_path / "m", Words(), capacity_records=120, span_turns=8, worker=False) as memory:
        ids = filled(memory, clock)
        store = memory._open_engine().store
        whole = getattr(store, after)
        links = notes(memory, "link")

        def cut(*parameters: object, **named: object) -> object:
            done = whole(*parameters, **named)
            if len(notes(memory, "link")) > len(links):
                raise Killed
            return done

        with monkeypatch.context() as patched:
            patched.setattr(store, after, cut)
            with pytest.raises(Killed):
                live_on(memory, clock)
        memory.forget(ids=ids)
        memory.consolidate()
        assert not any(CANARY in record.text for record in memory.records())
        assert memory.stats().records <= 120
