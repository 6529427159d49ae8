"""Compressing what was said: what is due, what becomes of it, and that doing it twice changes nothing."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from items import known
from siltstone import BackendUnavailableError, Message, ReadOnlyError, Settings, TieredMemory
from siltstone.compress.llm import LLMSummarizer
from siltstone.protocols import Commit, Put
from siltstone.records import Digest, ImportReport
from siltstone.stores.ram import RamStore
from siltstone.testing import FrozenClock, HashEmbedder, ScriptedChatModel, WordCounter

TALK = [
    ("user", "Hi! I'm Alice. I live in Lisbon and I work as a nurse at the Santa Maria hospital."),
    ("assistant", "Nice to meet you, Alice. How can I help you today?"),
    ("user", "I'm allergic to peanuts, so please keep that in mind when you suggest recipes."),
    ("assistant", "Of course. I will leave peanuts out of every recipe that I suggest to you."),
    ("user", "I'm flying to Kyoto on June 3 with my sister Ana, and we want to see the temples."),
    (
        "assistant",
        "That sounds wonderful. Early June is warm, and the gardens are green after the rain. "
        "Book the night train early; it is often full in the season, and the view in the morning is worth it.",
    ),
    ("user", "Thanks, bye!"),
]


@pytest.fixture(params=["ram", "folder"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[TieredMemory]:
    """A memory in each embedded store, at a clock that stands still."""
    location = ":memory:" if request.param == "ram" else tmp_path / "m"
    with TieredMemory.open(
        location, embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock, settings=Settings(embed_wait=5.0)
    ) as memory:
        yield memory


@pytest.fixture
def clock() -> FrozenClock:
    """Noon of a spring day."""
    return FrozenClock("2024-05-08T12:00:00+00:00")


class Held:
    """A summarizer that waits to be told to go on, and notes how many spans it was given."""

    name = "held"

    def __init__(self) -> None:
        self.asked, self.go = 0, threading.Event()
        self.begun = threading.Event()

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Wait, and return a digest of nothing but a summary."""
        self.asked += 1
        self.begun.set()
        assert self.go.wait(60)
        return Digest(topic="talk", summary=f"They talked, {messages[0].content}", made_by="held")


def test_one_that_is_under_way_is_cut_between_two_jobs_when_the_memory_is_closed(tmp_path: Path) -> None:
    """What was made is stored, the rest stays due, and whoever asked is told so."""
    held, raised = Held(), []

    def consolidate() -> None:
        try:
            memory.consolidate()
        except BackendUnavailableError as exc:
            raised.append(str(exc))

    settings = Settings(worker=False, span_turns=4, close_wait=0.1)
    memory = TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), summarizer=held, settings=settings)
    for session in ("one", "two", "three"):
        memory.add([("user", f"Sentence {n} of {session}.") for n in range(8)], session_id=session)
    asking = threading.Thread(target=consolidate)
    asking.start()
    assert held.begun.wait(60)
    memory.close()
    held.go.set()
    asking.join(60)

    assert held.asked == 1
    assert "consolidate goes on" in raised[0]
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), summarizer=held, settings=settings) as memory:
        left = memory.consolidate()
        assert len(list(memory.records(kinds="turn"))) == 24
    assert 0 < left.count("digest") < held.asked


def test_what_a_model_was_asked_for_is_kept(tmp_path: Path, clock: FrozenClock) -> None:
    """A model's summary of a session of one turn is stored, if it found no statements; what the rules find is not.

    The row of a digest shows the text that is stored, and none where none is.
    """
    answer = '{"topic": "move", "summary": "They moved to Porto.", "facts": [], "preferences": [], "events": []}'
    for name, summarizer, kept in (
        ("model", LLMSummarizer(ScriptedChatModel([answer])), ["They moved to Porto."]),
        ("rules", None, []),
    ):
        with TieredMemory.open(
            tmp_path / name, embedder=HashEmbedder(), summarizer=summarizer, clock=clock, settings=Settings()
        ) as memory:
            memory.add([("user", "We have moved to Porto.")], session_id="s", created_at="2024-05-01T12:00:00Z")
            (row,) = (row for row in memory.consolidate().rows if row.action == "digest")
            assert [record.text for record in memory.records(kinds="summary")] == kept
            assert row.text == "".join(kept)
            assert ("too short" in row.why) == (not kept)


def test_no_model_is_asked_about_small_talk(tmp_path: Path, clock: FrozenClock) -> None:
    """A span of greetings and thanks has nothing to keep: it is covered without a request, and not due again."""
    model = ScriptedChatModel([])
    talk = [("user", "Hi!"), ("assistant", "Hello!"), ("user", "谢谢，再见！"), ("assistant", "👍")]
    with TieredMemory.open(
        tmp_path / "m", embedder=HashEmbedder(), summarizer=LLMSummarizer(model), clock=clock, settings=Settings()
    ) as memory:
        memory.add(talk, session_id="s", created_at="2024-05-01T12:00:00Z")
        assert [row.action for row in memory.consolidate().rows] == ["digest"]
        assert memory.consolidate().rows == ()
        assert derived(memory) == set()
    assert model.calls == []


@pytest.mark.parametrize("by_a_model", [False, True], ids=["rules", "model"])
def test_a_dry_run_shows_what_would_rest_on_what_it_does_not_write(
    tmp_path: Path, clock: FrozenClock, by_a_model: bool
) -> None:
    """Summaries of sessions, weeks and months appear with those that they are to be made of, in the same run."""

    def answer(messages: Sequence[Message]) -> str:
        return '{"topic": "trip", "summary": "So it goes.", "facts": [], "preferences": [], "events": []}'

    summarizer = LLMSummarizer(ScriptedChatModel([answer] * 50)) if by_a_model else None
    settings = Settings(embed_wait=5.0, span_turns=4)
    with TieredMemory.open(
        tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter(), summarizer=summarizer, clock=clock,
        settings=settings,
    ) as memory:  # fmt: skip
        for day in (1, 2, 16, 17):
            talk = [(role, f"{text} {'So it goes. ' * 20}") for role, text in TALK]
            memory.add([*talk, *talk], session_id=f"d{day}", created_at=f"2024-02-{day:02}T12:00:00Z")
        planned = [row.ids for row in memory.consolidate(dry_run=True).rows if row.action == "roll up"]
        assert derived(memory) == set()
        done = [row.ids for row in memory.consolidate().rows if row.action == "roll up"]
        levels = {record.id: record.level for record in memory.records(kinds="summary")}
    made = [ids for ids in done if levels[ids[0]] < 4]  # what belongs to a topic is told by vectors
    assert {levels[id] for (id,) in made} == {1, 2, 3}
    assert planned == made


def derived(memory: TieredMemory) -> set[tuple[str, str]]:
    """Return kind and text of all records that are no turns."""
    return {(record.kind, record.text) for record in memory.records() if record.kind != "turn"}


def test_nothing_is_due_while_the_talk_goes_on(memory: TieredMemory, clock: FrozenClock) -> None:
    """A short session that has just been written to is left alone; once it is silent, it is compressed."""
    memory.add(TALK, session_id="s")
    assert memory.consolidate().rows == ()
    clock.advance(minutes=31)
    report = memory.consolidate()
    assert report.count("digest") == 1
    assert report.rows[0].why.startswith("the session is silent")


def test_what_was_told_becomes_records_of_its_kind(memory: TieredMemory, clock: FrozenClock) -> None:
    """Lasting things become profile, a trip an event with its day, each with its message; small talk is nothing."""
    ids = memory.add(TALK, session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    by_topic = {record.topic: record for record in memory.records() if record.kind in ("profile", "event", "fact")}
    home, trip = by_topic["user · home"], by_topic["user · plan"]
    assert (home.kind, home.source_ids, home.session_id) == ("profile", (ids[0],), "s")
    assert (trip.kind, trip.source_ids) == ("event", (ids[4],))
    assert trip.occurred_at is not None
    assert trip.occurred_at.date().isoformat() == "2024-06-03"
    assert by_topic["user · health"].made_by == "extractive"
    assert not any("bye" in record.text for record in memory.records() if record.kind != "turn")
    (summary,) = memory.records(kinds="summary")
    assert (summary.level, summary.source_ids) == (0, tuple(ids))
    assert memory.search("What is the user allergic to?", kinds="profile")[0].record.topic == "user · health"


def test_doing_it_twice_does_nothing_new(memory: TieredMemory, clock: FrozenClock) -> None:
    """A second run, and one after reopening, find nothing due and leave every record as it was."""
    memory.add(TALK, session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    before = sorted((record.id, record.version, record.support) for record in memory.records())
    assert memory.consolidate().rows == ()
    assert sorted((record.id, record.version, record.support) for record in memory.records()) == before


def test_a_dry_run_says_what_would_happen(memory: TieredMemory, clock: FrozenClock) -> None:
    """The rows of a dry run are those of the run that follows, and nothing is written."""
    memory.add(TALK, session_id="s")
    memory.add([("user", "I live in Lisbon."), ("user", "I have a dog named Rex.")], session_id="t")
    memory.add([("user", "I've moved to Porto.")], session_id="u")
    clock.advance(hours=1)
    revision = memory.revision
    planned = memory.consolidate(dry_run=True)
    assert planned.dry_run
    assert (planned.count("repeat"), planned.count("supersede")) == (1, 1)
    assert memory.revision == revision
    assert memory.consolidate().rows == planned.rows


def test_a_dry_run_tells_the_text_of_a_rollup(memory: TieredMemory, clock: FrozenClock) -> None:
    """Of summaries that are stored, it says word for word what the run then writes of them."""
    for session in ("monday", "tuesday"):
        memory.add([message for message in TALK for _ in range(2)], session_id=session)
        clock.advance(hours=8)
        memory.consolidate()
    clock.advance(days=14)
    foretold = memory.consolidate(dry_run=True).rows
    assert foretold == memory.consolidate().rows
    assert [row.action for row in foretold if row.text] == ["roll up"]


def test_a_long_session_is_compressed_while_it_runs(memory: TieredMemory) -> None:
    """Each full span is due at once, and ends before a user speaks; the open end stays open."""
    turns = [(role, f"{role} says thing number {n}") for n in range(35) for role in ("user", "assistant")]
    ids = memory.add(turns, session_id="s")
    report = memory.consolidate()
    assert report.count("digest") == 2
    covered = [summary.source_ids for summary in memory.records(kinds="summary")]
    assert covered == [tuple(ids[:24]), tuple(ids[24:48])]


def test_small_talk_leaves_nothing_and_is_not_looked_at_again(memory: TieredMemory, clock: FrozenClock) -> None:
    """A greeting is kept as turns, becomes neither fact nor summary, and is due no more."""
    memory.add([("user", "Hello there!"), ("assistant", "Hello!"), ("user", "你好，谢谢，再见！")], session_id="s")
    clock.advance(hours=1)
    assert [row.action for row in memory.consolidate().rows] == ["digest"]
    assert derived(memory) == set()
    assert memory.consolidate().rows == ()


def test_what_is_added_later_is_compressed_later(memory: TieredMemory, clock: FrozenClock) -> None:
    """A session that goes on after it was compressed is due again for its new messages only."""
    first = memory.add(TALK, session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    more = memory.add([("user", "I have a dog named Rex.")], session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    (pet,) = [record for record in memory.records(kinds="profile") if record.topic == "user · pet"]
    assert pet.source_ids == tuple(more)
    assert all(set(record.source_ids) <= set(first) for record in memory.records(kinds="summary"))


def test_forgetting_a_message_remakes_its_digest(memory: TieredMemory, clock: FrozenClock) -> None:
    """The summary goes with a forgotten message, and the rest of the span is compressed anew."""
    ids = memory.add(TALK, session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    memory.forget(ids=[ids[2]])
    assert list(memory.records(kinds="summary")) == []
    memory.consolidate()
    assert not any("peanuts" in text for _, text in derived(memory) if "recipe" not in text)
    assert ids[2] not in {id for record in memory.records() for id in record.source_ids}
    covered = {id for record in memory.records(kinds="summary") for id in record.source_ids}
    assert memory.consolidate().rows == ()
    assert covered <= set(ids)


@pytest.mark.parametrize("by", ["id", "kind"])
@pytest.mark.parametrize("kind", ["profile", "event", "summary"])
def test_what_was_forgotten_itself_is_not_made_again(
    memory: TieredMemory, clock: FrozenClock, kind: str, by: str
) -> None:
    """The messages stay and are digested anew, and siltstone makes no such record of them; a person may."""
    memory.add(TALK, session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    gone = list(memory.records(kinds=kind))[: 1 if by == "id" else None]
    memory.forget(ids=[record.id for record in gone]) if by == "id" else memory.forget(kinds=kind)
    kept = derived(memory)
    memory.consolidate()
    assert gone
    assert not {(record.kind, record.text) for record in gone} & derived(memory)
    assert kept <= derived(memory)
    assert memory.consolidate().rows == ()
    again = memory.remember(gone[0].text, kind=kind, source_ids=gone[0].source_ids)
    assert memory.get(again) is not None


def test_a_forgotten_statement_said_twice_is_made_of_neither_message(memory: TieredMemory, clock: FrozenClock) -> None:
    """Each of its messages had told it; told in a third one, it is known again."""
    for n, text in enumerate(["I work at Zanzicorp as a welder.", "As I said, I work at Zanzicorp."]):
        memory.add([("user", text), ("assistant", "Noted.")], session_id=f"s{n}")
        clock.advance(hours=1)
        memory.consolidate()
    told = [record for record in memory.records(kinds=["profile", "fact"]) if "Zanzicorp" in record.text]
    memory.forget(ids=[record.id for record in told])
    memory.consolidate()
    assert not any("Zanzicorp" in text for kind, text in derived(memory) if kind != "summary")
    memory.add([("user", "I work at Zanzicorp again."), ("assistant", "Good.")], session_id="later")
    clock.advance(hours=1)
    memory.consolidate()
    assert any("Zanzicorp" in text for kind, text in derived(memory) if kind != "summary")


def test_a_record_that_went_with_a_source_is_made_of_the_others(memory: TieredMemory, clock: FrozenClock) -> None:
    """The user forgot a session, not what was told in another one too."""
    for n in range(2):
        memory.add([("user", "I work at Zanzicorp as a welder."), ("assistant", "Noted.")], session_id=f"s{n}")
        clock.advance(hours=1)
        memory.consolidate()
    memory.forget(session_id="s0")
    memory.consolidate()
    (told,) = [record for record in memory.records(kinds=["profile", "fact"]) if "Zanzicorp" in record.text]
    assert set(told.source_ids) <= {message.id for message in memory.messages("s1")}


CHANGED = Message("user", "I live in Porto. I have a dog named Rex.", id="m1")


def by_update(memory: TieredMemory) -> None:
    """Change the message by its id."""
    memory.update("m1", text=CHANGED.content)


def by_add(memory: TieredMemory) -> None:
    """Say the message again, with another text."""
    memory.add([CHANGED], session_id="s", on_conflict="update")


def by_import(memory: TieredMemory) -> None:
    """Bring in an export that was edited by hand."""
    file = io.BytesIO()
    memory.export_to(file)
    report = memory.import_from(io.BytesIO(file.getvalue().replace(b"Lisbon. I have", b"Porto. I have")))
    assert report.updated == 1


@pytest.mark.parametrize("change", [by_update, by_add, by_import])
def test_a_changed_message_is_digested_anew(
    memory: TieredMemory, clock: FrozenClock, change: Callable[[TieredMemory], None]
) -> None:
    """What was made of a message goes when its text changes, and the next run makes it of the new text."""
    told = [
        Message("user", "I live in Lisbon. I have a dog named Rex.", id="m1"),
        Message("assistant", "Nice!", id="m2"),
    ]
    memory.add([*told, *TALK[2:]], session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    note = memory.remember("she keeps a dog", source_ids=["m1"])
    clock.advance(hours=1)
    change(memory)
    assert memory.messages("s")[0].content == CHANGED.content
    assert not any("Lisbon" in text for _, text in derived(memory))
    memory.consolidate()
    assert ("profile", "I live in Porto") in derived(memory)
    assert ("profile", "I have a dog named Rex") in derived(memory)
    assert memory.get(note) is not None
    assert memory.consolidate().rows == ()


def test_a_message_with_the_same_text_keeps_what_was_made_of_it(memory: TieredMemory, clock: FrozenClock) -> None:
    """Only another text is digested anew: new metadata at the moment of the digest takes nothing out."""
    told = Message("user", "I live in Lisbon.", id="m1")
    memory.add([told, *TALK[2:]], session_id="s")
    clock.advance(hours=1)
    memory.consolidate()
    before = derived(memory)
    memory.add([replace(told, metadata={"mood": "calm"})], session_id="s", on_conflict="update")
    memory.update("m1", text=told.content)
    assert derived(memory) == before
    assert memory.consolidate().rows == ()


def test_what_is_made_of_a_text_while_it_is_changed_goes_with_it(clock: FrozenClock) -> None:
    """Something that a worker makes of the old text after it was looked for, and before the new one is written."""

    class Overtaken(RamStore):
        made: list[Put]

        def commit(self, user_id: str, puts: Sequence[Put], **how: Any) -> Commit:
            if made := self.__dict__.pop("made", None):
                super().commit(user_id, made)
            return super().commit(user_id, puts, **how)

    store = Overtaken()
    with TieredMemory.open(store, embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock) as memory:
        memory.add([Message("user", "I live in Lisbon.", id="m1"), *TALK[2:]], session_id="s")
        store.made = [known("f", "The user lives in Lisbon.", user="default", source_ids=("m1",), made_by="worker")]
        memory.update("m1", text="I live in Porto.")
        assert "made" not in vars(store)
        assert derived(memory) == set()


def test_an_import_brings_what_was_made_of_the_new_text(clock: FrozenClock) -> None:
    """What the source has made of its new text comes in with it, and a dry run says so beforehand."""
    with (
        TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock) as one,
        TieredMemory.open(RamStore(), embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock) as two,
    ):
        one.add([Message("user", "I live in Lisbon. I have a dog named Rex.", id="m1"), *TALK[2:]], session_id="s")
        clock.advance(hours=1)
        moved(one, two)
        for memory in (one, two):
            memory.consolidate()
        clock.advance(hours=1)
        by_update(one)
        one.consolidate()
        dry = moved(one, two, dry_run=True)
        assert replace(moved(one, two), dry_run=True) == dry
        assert derived(two) == derived(one)
        two.consolidate()
        assert derived(two) == derived(one)


def moved(one: TieredMemory, two: TieredMemory, **options: Any) -> ImportReport:
    """Bring everything from one memory to another."""
    file = io.BytesIO()
    one.export_to(file)
    return two.import_from(io.BytesIO(file.getvalue()), **options)


def test_a_dry_run_needs_no_permission_to_write(tmp_path: Path, clock: FrozenClock) -> None:
    """A read-only memory says what a run, an import or a forget would do, and refuses to do it."""
    models: dict[str, Any] = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "clock": clock}
    file = io.BytesIO()
    with TieredMemory.open(tmp_path / "m", **models) as memory:
        memory.add(TALK, session_id="s")
        memory.export_to(file)
    clock.advance(hours=1)
    with TieredMemory.open(tmp_path / "m", read_only=True, **models) as memory:
        verbs: list[Callable[..., Any]] = [
            memory.consolidate,
            partial(memory.forget, session_id="s"),
            lambda **options: memory.import_from(io.BytesIO(file.getvalue()), **options),
        ]
        for verb in verbs:
            assert verb(dry_run=True).dry_run
            with pytest.raises(ReadOnlyError):
                verb()
