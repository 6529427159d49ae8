"""The verbs of ``TieredMemory``, on the embedded store in memory and in a folder."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from siltstone import (
    ConfigurationError,
    ConflictError,
    InvalidInputError,
    Message,
    NotFoundError,
    ReadOnlyError,
    Record,
    TieredMemory,
)
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

MAY = datetime(2026, 5, 8, 9, 30, tzinfo=timezone(timedelta(hours=8)))


@pytest.fixture(params=["memory", "folder"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TieredMemory]:
    """Give Alice's new memory, on each embedded store."""
    location = ":memory:" if request.param == "memory" else tmp_path / "store"
    with TieredMemory.open(
        location, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter(), clock=FrozenClock(MAY)
    ) as opened:
        yield opened


def test_what_was_said_is_found_at_the_next_search(memory: TieredMemory) -> None:
    """A message is found by its words as soon as add returns, in both languages."""
    memory.add([("user", "I play the cello on Sundays."), ("user", "我在深圳做前端工程师。")], session_id="s")
    assert memory.search("cello", top_k=1)[0].record.text == "I play the cello on Sundays."
    assert memory.search("前端", top_k=1)[0].record.text == "我在深圳做前端工程师。"


def test_a_turn_names_its_message(memory: TieredMemory) -> None:
    """A hit's record leads to the message that it is made of."""
    (id,) = memory.add([Message("user", "I keep bees.", name="Alice", created_at=MAY)], session_id="s")
    record = memory.search("bees")[0].record
    assert record.source_ids == (id,)
    assert (record.kind, record.speaker, record.role, record.session_id) == ("turn", "Alice", "user", "s")
    message = memory.get(id)
    assert isinstance(message, Message)
    assert message.created_at == MAY
    assert memory.get(record.id) == record


def test_messages_come_back_as_they_were_given(memory: TieredMemory) -> None:
    """Role, name, time, metadata and text survive the round trip, tool calls included."""
    given = [
        Message("system", "Be kind."),
        Message("user", "天气怎么样？", name="小林", created_at="2026-05-08T09:00:00+08:00"),  # type: ignore[arg-type]
        Message("assistant", "", metadata={"tool_calls": [{"id": "c1", "args": {"city": "杭州"}}]}),
        Message("tool", "22°C", metadata={"tool_call_id": "c1"}),
    ]
    ids = memory.add(given, session_id="s", created_at=MAY)
    got = memory.messages("s")
    assert len(got) == len(given)
    assert {m.id for m in got} == set(ids)
    by_id = {m.id: m for m in got}
    for id, message in zip(ids, given, strict=True):
        assert (by_id[id].role, by_id[id].content, by_id[id].name) == (message.role, message.content, message.name)
        assert by_id[id].metadata == (message.metadata or {})


def test_a_late_message_takes_its_place_in_time(memory: TieredMemory) -> None:
    """Messages of a session are in the order of when they were said."""
    memory.add([Message("user", "later", created_at=MAY)], session_id="s")
    memory.add([Message("user", "earlier", created_at=MAY - timedelta(hours=1))], session_id="s")
    assert [m.content for m in memory.messages("s")] == ["earlier", "later"]


def test_messages_can_be_paged_backwards(memory: TieredMemory) -> None:
    """``limit`` gives the newest, ``before`` what stands before a message."""
    ids = memory.add([("user", f"number {n}") for n in range(5)], session_id="s")
    assert [m.id for m in memory.messages("s", limit=2)] == ids[3:]
    assert [m.id for m in memory.messages("s", limit=2, before=ids[3])] == ids[1:3]
    assert memory.messages("s", limit=0) == []


def test_adding_twice_stores_once(memory: TieredMemory) -> None:
    """A message with an id may be sent again."""
    first = memory.add([Message("user", "I keep bees.", id="m1")], session_id="s")
    revision = memory.revision
    assert memory.add([Message("user", "I keep bees.", id="m1")], session_id="s") == first
    assert memory.revision == revision
    with pytest.raises(ConflictError):
        memory.add([Message("user", "I keep goats.", id="m1")], session_id="s")
    assert len(memory.messages("s")) == 1


def test_the_revision_changes_with_every_write(memory: TieredMemory) -> None:
    """Caches may key on the revision of a user; another user's writes leave it alone."""
    seen = [memory.revision]
    (id,) = memory.add([("user", "I keep bees.")], session_id="s")
    seen.append(memory.revision)
    fact = memory.remember("Alice keeps bees.", source_ids=[id])
    seen.append(memory.revision)
    memory.update(fact, importance=0.9)
    seen.append(memory.revision)
    memory.for_user("bob").add([("user", "hi")], session_id="s")
    assert memory.revision == seen[-1]
    memory.forget(ids=[id])
    seen.append(memory.revision)
    assert len(set(seen)) == len(seen)


def test_remembered_records_keep_their_fields(memory: TieredMemory) -> None:
    """What remember was told is what get returns."""
    id = memory.remember(
        "Trip to 大理",
        kind="event",
        occurred_at="2026-10-01T00:00:00Z",
        ttl=timedelta(days=1),
        pinned=True,
        importance=0.7,
        session_id="s",
        metadata={"tags": ["travel"]},
    )
    record = memory.get(id)
    assert isinstance(record, Record)
    assert record.kind == "event"
    assert record.occurred_at == datetime(2026, 10, 1, tzinfo=timezone.utc)
    assert record.expires_at == MAY + timedelta(days=1)
    assert (record.pinned, record.importance, record.session_id) == (True, 0.7, "s")
    assert record.metadata == {"tags": ["travel"]}


def test_unknown_sources_are_refused(memory: TieredMemory) -> None:
    """A record cannot rest on something that is not there."""
    with pytest.raises(NotFoundError, match="nothing was stored"):
        memory.remember("x is y", source_ids=["nowhere"])
    assert list(memory.records()) == []


def test_updates_keep_earlier_versions(memory: TieredMemory) -> None:
    """An update is a new version; history returns the old ones, newest first."""
    id = memory.remember("Alice lives in Berlin.")
    assert memory.update(id, text="Alice lives in Lisbon.").version == 2
    memory.update(id, importance=0.5)
    current = memory.get(id)
    assert isinstance(current, Record)
    assert (current.text, current.version) == ("Alice lives in Lisbon.", 3)
    assert [r.text for r in memory.history(id)] == ["Alice lives in Lisbon.", "Alice lives in Berlin."]
    assert memory.search("Lisbon")[0].record.id == id
    assert all("Berlin" not in hit.record.text for hit in memory.search("Berlin"))


def test_updating_a_turn_updates_its_message(memory: TieredMemory) -> None:
    """A corrected turn reads the same in search and in the transcript; it stays a turn."""
    memory.add([("user", "I live in Berlim.")], session_id="s")
    turn = memory.search("live")[0].record
    memory.update(turn.id, text="I live in Berlin.", pinned=True)
    assert memory.messages("s")[0].content == "I live in Berlin."
    assert memory.search("Berlin")[0].record.pinned
    with pytest.raises(InvalidInputError, match="stays one"):
        memory.update(turn.id, kind="fact")


def test_expired_records_are_not_read(memory: TieredMemory) -> None:
    """After its time a record is neither searched nor listed; a pinned one stays."""
    memory.remember("The code is 4711.", ttl=60)
    memory.remember("The code is 4712.", ttl=60, pinned=True)
    later = MAY + timedelta(minutes=2)
    assert len(memory.search("code", now=MAY)) == 2
    assert [h.record.text for h in memory.search("code", now=later)] == ["The code is 4712."]


def test_filters_are_joined(memory: TieredMemory) -> None:
    """Kind, session, time and metadata narrow a search together."""
    memory.add([Message("user", "bees in May", created_at=MAY, metadata={"tag": "a"})], session_id="s")
    memory.add([Message("user", "bees in June", created_at=MAY + timedelta(days=30))], session_id="t")
    memory.remember("bees need flowers", metadata={"tag": "a"})

    def found(**conditions: object) -> set[str]:
        return {hit.record.text for hit in memory.search("bees", **conditions)}  # type: ignore[arg-type]

    assert found(session_id="s") == {"bees in May"}
    assert found(exclude_session_id="s") == {"bees in June", "bees need flowers"}
    assert found(since=MAY + timedelta(days=1)) == {"bees in June"}
    assert found(kinds="fact") == {"bees need flowers"}
    assert found(metadata={"tag": "a"}, kinds=["fact", "turn"], until=MAY) >= {"bees need flowers"}
    assert {r.text for r in memory.records(session_id="t")} == {"bees in June"}


def test_two_users_with_look_alike_memories_never_meet(memory: TieredMemory) -> None:
    """Fifty near-identical memories each: a user gets a full top ten, all of it their own."""
    bob = memory.for_user("bob")
    for who, view in (("Alice", memory), ("Bob", bob)):
        view.add([Message("user", f"{who} likes tea number {n}.") for n in range(50)], session_id="s")
    for who, view in (("Alice", memory), ("Bob", bob)):
        hits = view.search("who likes tea", top_k=10)
        assert len(hits) == 10
        assert all(hit.record.text.startswith(who) and hit.record.user_id == view.user_id for hit in hits)
        assert who in view.context("tea", session_id="s").text
    with pytest.raises(NotFoundError):
        bob.get(memory.messages("s")[0].id or "")


def test_sessions_are_listed_by_last_writing(memory: TieredMemory) -> None:
    """Each session tells its size and span."""
    memory.add([("user", "a")], session_id="one", created_at=MAY)
    memory.add([("user", "b"), ("assistant", "c")], session_id="two", created_at=MAY)
    memory.add([("user", "d")], session_id="one", created_at=MAY + timedelta(hours=1))
    two, one = memory.sessions()
    assert (two.session_id, two.messages) == ("two", 2)
    assert (one.session_id, one.messages, one.ended_at - one.started_at) == ("one", 2, timedelta(hours=1))


def test_injected_text_is_not_stored_back(memory: TieredMemory) -> None:
    """A prompt that carries our context loses it on the way in; what the user wrote stays."""
    memory.add([("user", "My code word is heliotrope.")], session_id="s")
    text = memory.context("code word").text
    assert "heliotrope" in text
    memory.add([("user", f"{text}\n\nWhat was it again?"), ("system", text)], session_id="t")
    stored = memory.messages("t")
    assert [m.content for m in stored] == ["What was it again?", ""]
    assert sum("heliotrope" in hit.record.text for hit in memory.search("heliotrope", top_k=10)) == 1


def test_threads_lose_nothing(memory: TieredMemory) -> None:
    """Eight threads adding and searching at once: every message is there once."""

    def work(n: int) -> None:
        for k in range(25):
            memory.add([Message("user", f"thread {n} says {k}", id=f"{n}-{k}")], session_id=f"s{n % 2}")
            memory.search(f"thread {n}", top_k=3)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = [m.id for s in ("s0", "s1") for m in memory.messages(s)]
    assert sorted(i or "" for i in stored) == sorted(f"{n}-{k}" for n in range(8) for k in range(25))


def test_async_twins_do_the_same(memory: TieredMemory) -> None:
    """Every verb has a twin that can be awaited, many at once."""

    async def chat() -> list[str]:
        await asyncio.gather(*(memory.aadd([("user", f"fact number {n}")], session_id="s") for n in range(20)))
        hits = await memory.asearch("fact number 7", top_k=5)
        context = await memory.acontext("fact number 7", session_id="s", max_tokens=300)
        assert context.tokens <= 300
        assert len(await memory.arecords()) == len(await memory.amessages("s")) == 20
        return [hit.record.text for hit in hits]

    assert asyncio.run(chat())[0] == "fact number 7"


def test_async_opening_and_closing() -> None:
    """``async with`` opens and closes without blocking the loop."""

    async def run() -> int:
        async with await TieredMemory.aopen(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
            await memory.aadd([("user", "hi there")], session_id="s")
            return (await memory.astats()).messages

    assert asyncio.run(run()) == 1


def test_a_closed_memory_says_so(memory: TieredMemory) -> None:
    """After close every verb is refused with a sentence, and closing again does nothing."""
    view = memory.for_user("bob")
    memory.close()
    memory.close()
    with pytest.raises(ConfigurationError, match="closed"):
        view.search("anything")


def test_a_folder_keeps_what_was_added(tmp_path: Path) -> None:
    """What one opening wrote, the next one finds, by words and by meaning."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as first:
        first.add([("user", "I keep bees in Shenzhen.")], session_id="s")
        first.remember("Alice keeps bees.", kind="profile")
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as second:
        assert second.stats().pending_vectors == 0
        assert second.search("bees", top_k=5)[0].record.text in ("I keep bees in Shenzhen.", "Alice keeps bees.")
        assert len(list(second.records())) == 2


def test_two_openings_share_one_engine(tmp_path: Path) -> None:
    """A folder opened twice in a process is one store, and stays open until both are closed."""
    first = TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter())
    second = TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter())
    first.add([("user", "I keep bees.")], session_id="s")
    assert second.search("bees")
    first.close()
    second.add([("user", "I keep goats.")], session_id="s")
    assert len(second.messages("s")) == 2
    second.close()


def test_a_read_only_memory_reads_and_refuses_writes(tmp_path: Path) -> None:
    """Reading needs no right to write, and writing says why it is refused."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
    before = {path: path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()}
    with TieredMemory.open(
        tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter(), read_only=True
    ) as reader:
        assert reader.search("bees")
        for write in (
            lambda: reader.add([("user", "x")], session_id="s"),
            lambda: reader.remember("x"),
            lambda: reader.forget(everything=True),
        ):
            with pytest.raises(ReadOnlyError):
                write()
    assert {path: path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_times_outside_the_calendar_are_refused(memory: TieredMemory, time: str) -> None:
    """A time that no UTC date can tell would make what is stored unreadable; it is refused, and nothing is stored."""
    with pytest.raises(InvalidInputError, match="years 1 to 9999"):
        memory.add([("user", "tea")], session_id="s", created_at=time)
    with pytest.raises(InvalidInputError):
        memory.remember("tea", occurred_at=time)
    assert memory.sessions() == []


@pytest.mark.parametrize("ttl", [float("inf"), float("nan"), 1e12, "5", -1, 0])
def test_impossible_times_to_live_are_refused(memory: TieredMemory, ttl: float) -> None:
    """Whatever is no span of time is bad input, said in one sentence."""
    with pytest.raises(InvalidInputError, match="ttl"):
        memory.remember("tea", ttl=ttl)


@pytest.mark.parametrize("importance", ["x", -0.1, 1.1, float("nan"), True])
def test_impossible_importance_is_refused(memory: TieredMemory, importance: float) -> None:
    """Importance is a number between 0 and 1."""
    with pytest.raises(InvalidInputError, match="importance"):
        memory.remember("tea", importance=importance)


def test_own_injected_text_is_no_memory(memory: TieredMemory) -> None:
    """What siltstone put into a prompt is neither remembered nor written over something else."""
    (id,) = memory.add([("user", "I love green tea.")], session_id="s")
    text = memory.context("tea").text
    with pytest.raises(InvalidInputError, match="injected"):
        memory.remember(text)
    with pytest.raises(InvalidInputError, match="injected"):
        memory.update(id, text=text)
    fact = memory.remember(f"{text}\n\nAlice likes tea.")
    assert memory.get(fact).text == "Alice likes tea."  # type: ignore[union-attr]


def test_a_fact_does_not_become_a_turn(memory: TieredMemory) -> None:
    """Turns are made by add alone; a record keeps resting on its sources whatever is updated."""
    (id,) = memory.add([("user", "My PIN is 4711.")], session_id="s")
    fact = memory.remember("PIN 4711", source_ids=[id])
    with pytest.raises(InvalidInputError, match="turn"):
        memory.update(fact, kind="turn")
    memory.update(fact, kind="profile")
    memory.forget(ids=[id])
    assert list(memory.records()) == []


def test_a_call_that_is_answered_later_is_updated(memory: TieredMemory) -> None:
    """A message may get its text, or other metadata, under the same id."""
    call = {"tool_calls": [{"id": "c"}]}
    memory.add([Message("user", "q", id="1"), Message("assistant", "", id="2", metadata=call)], session_id="s")
    memory.add([Message("assistant", "answer", id="2")], session_id="s", on_conflict="update")
    assert memory.search("answer")[0].record.user_id == "alice"
    memory.add([Message("assistant", "answer", id="2", metadata=call)], session_id="s", on_conflict="update")
    assert memory.messages("s")[-1].metadata == call


def test_a_turn_is_found_by_its_messages_metadata(memory: TieredMemory) -> None:
    """What the caller noted on a message filters searches and forgetting, and an update changes both."""
    (id,) = memory.add([Message("user", "I keep bees.", metadata={"pii": True}), ("user", "bees hum")], session_id="s")[
        :1
    ]
    assert [h.record.text for h in memory.search("bees", metadata={"pii": True})] == ["I keep bees."]
    memory.update(id, metadata={"pii": False})
    assert memory.messages("s")[0].metadata == {"pii": False}
    assert memory.forget(metadata={"pii": True}).messages == ()
    assert memory.forget(metadata={"pii": False}).messages == (id,)


def test_any_session_id_can_qualify_a_message(memory: TieredMemory) -> None:
    """A session whose id looks like a turn's may use a message id that another session has."""
    memory.add([Message("user", "a", id="1")], session_id="s")
    (id,) = memory.add([Message("user", "b", id="1")], session_id="turn:b")
    assert memory.get(id).content == "b"  # type: ignore[union-attr]


def test_many_updates_of_one_message_all_arrive(memory: TieredMemory) -> None:
    """Writers that keep changing one message take turns; none is turned away."""
    errors: list[Exception] = []

    def work(n: int) -> None:
        try:
            for k in range(10):
                memory.add([Message("user", f"{n} {k}", id="m")], session_id="s", on_conflict="update")
        except Exception as exc:
            errors.append(exc)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    (turn,) = memory.records()
    assert turn.version == 60


def rounds(count: int) -> list[Message]:
    """Return calls to a tool and their results."""
    return [
        message
        for n in range(count)
        for message in (
            Message("assistant", "", metadata={"tool_calls": [{"id": str(n), "name": "look_up"}]}),
            Message("tool", f"found {n}", metadata={"tool_call_id": str(n)}),
        )
    ]


@pytest.mark.parametrize("max_tokens", [50, 400, 4_000])
def test_a_long_turn_of_an_agent_has_a_window(memory: TieredMemory, max_tokens: int) -> None:
    """However many rounds an answer takes, the window opens with the question and ends with the newest rounds."""
    memory.add([("user", "Book the trip."), *rounds(300)], session_id="s")
    window = memory.window("s", max_tokens=max_tokens)
    assert window[0].content == "Book the trip."
    assert window[-1].content == "found 299"


@pytest.mark.parametrize("system", ["Be kind.", "说中文。"])
def test_the_system_message_of_a_long_session_stays(memory: TieredMemory, system: str) -> None:
    """What a session began with is at the top of its window, once, however long ago that was."""
    talk = [(role, f"{role} {n}") for n in range(100) for role in ("user", "assistant")]
    memory.add([("system", system), *talk], session_id="s")
    for max_tokens in (60, 300, 100_000):
        window = memory.window("s", max_tokens=max_tokens)
        assert [message.content for message in window if message.role == "system"] == [system]
        assert (window[0].content, window[-1].content) == (system, "assistant 99")


def test_an_expired_turn_is_in_no_window_and_no_context(tmp_path: Path) -> None:
    """After its time a turn is neither recent, nor recalled, nor served for what was derived from it."""
    clock = FrozenClock(MAY)
    with TieredMemory.open(tmp_path, embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock) as memory:
        ids = memory.add([("user", "The tea code is 4711."), ("user", "Good morning.")], session_id="s")
        memory.remember("The user has a tea code.", source_ids=ids[:1])
        memory.update(ids[0], expires_at=MAY + timedelta(seconds=5))
        assert "4711" in memory.context("tea", session_id="s").text
        clock.advance(timedelta(seconds=6))
        assert [message.content for message in memory.window("s", max_tokens=100)] == ["Good morning."]
        assert [hit.record.text for hit in memory.search("tea code", expand="source", top_k=1)] == [
            "The user has a tea code."
        ]
        for session in ("s", "other"):
            assert "4711" not in memory.context("tea code", session_id=session).text


def test_turns_of_one_moment_stand_in_the_order_in_which_they_were_said(memory: TieredMemory) -> None:
    """A conversation added with one time reads in its order, also where facts brought its turns into the context."""
    said = ["My oolong tea is from Taiwan.", "I drink tea every day.", "My tea pot is made of iron."]
    ids = memory.add([("user", text) for text in said], session_id="a", created_at=MAY)
    for at in (2, 0, 1):
        memory.remember(f"The user's tea, note {at}.", source_ids=[ids[at]])
    text = memory.context("tea", max_tokens=400).text
    assert [text.count(one) for one in said] == [1, 1, 1]
    assert sorted(said, key=text.index) == said


def test_a_source_that_is_excluded_is_not_served(memory: TieredMemory) -> None:
    """The derived record meets the conditions; its turns stay out where they are excluded, by id or by session."""
    (id,) = memory.add([("user", "My tea is oolong.")], session_id="a")
    fact = memory.remember("The user drinks tea.", source_ids=[id], session_id="b")
    excluded: list[dict[str, object]] = [
        {"exclude_ids": [id]},
        {"exclude_ids": [f"turn:{id}"]},
        {"exclude_session_id": "a"},
    ]
    for condition in excluded:
        hits = memory.search("tea", expand="source", **condition)  # type: ignore[arg-type]
        assert [hit.record.id for hit in hits] == [fact]
    for condition in ({"kinds": "fact"}, {"session_id": "b"}):
        hits = memory.search("tea", expand="source", **condition)  # type: ignore[arg-type]
        assert [hit.record.id for hit in hits] == [f"turn:{id}"]


def test_a_context_leaves_out_what_is_excluded_and_counts_what_it_cannot_hold(memory: TieredMemory) -> None:
    """Excluded profile entries and turns, by either id, are in no section; turns too old to be read are omitted."""
    likes = memory.remember("The user likes tea.", kind="profile")
    ids = memory.add([(role, f"word {n}") for n in range(200) for role in ("user", "assistant")], session_id="s")
    context = memory.context("tea", session_id="s", max_tokens=200, exclude_ids=[likes, f"turn:{ids[-2]}"])
    assert "likes tea" not in context.text
    assert ids[-2] not in [message.id for message in context.recent]
    plain = memory.context(None, session_id="s", max_tokens=200)
    assert plain.omitted["budget"] + len(plain.recent) == 400
