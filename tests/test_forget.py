"""Forgetting: what goes, what goes along, and that no file and no search has it afterwards."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from siltstone import InvalidInputError, Message, NotFoundError, Settings, TieredMemory
from siltstone.lifecycle.forget import meant
from siltstone.protocols import Put, Stored, Where
from siltstone.records import ForgetReport, Record
from siltstone.stores import cascade
from siltstone.stores.folder import FolderStore
from siltstone.stores.ram import RamStore
from siltstone.stores.table.plan import Refusals
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

CANARY = "heliotrope-蓝鹊"
MAY = datetime(2026, 5, 8, tzinfo=timezone.utc)


def files_with(folder: Path, text: str) -> list[Path]:
    """Return the files that hold a text in UTF-8 or UTF-16."""
    needles = [text.encode("utf-8"), text.encode("utf-16-le"), text.encode("utf-16-be")]
    return [p for p in folder.rglob("*") if p.is_file() and any(n in p.read_bytes() for n in needles)]


def test_a_forgotten_message_is_in_no_file_and_no_search(tmp_path: Path) -> None:
    """After forget returns, the words are gone from the folder, from search, and after reopening."""
    folder = tmp_path / "m"
    with TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        (id, other) = memory.add([("user", f"My word is {CANARY}."), ("user", "I keep bees.")], session_id="s")
        assert files_with(folder, CANARY)
        report = memory.forget(ids=[id])
        assert report.messages == (id,)
        assert files_with(folder, CANARY) == []
        assert all(CANARY not in hit.record.text for hit in memory.search(CANARY))
        with pytest.raises(NotFoundError):
            memory.get(id)
    with TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        assert [m.id for m in memory.messages("s")] == [other]
        assert files_with(folder, CANARY) == []


def test_a_condition_without_its_name_is_refused(tmp_path: Path) -> None:
    """Whether ``"monday"`` is an id or a session nobody can know: the error says how to write it, and nothing goes."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder()) as memory:
        (id,) = memory.add([("user", "I keep bees.")], session_id="monday")
        with pytest.raises(InvalidInputError, match=r"forget\(ids='…'\).*nothing was forgotten"):
            memory.forget(id)  # type: ignore[arg-type]
        assert memory.stats().messages == 1
        assert memory.forget(ids=id).messages == (id,)


def test_the_worker_makes_anew_what_rested_only_in_part_on_the_forgotten(tmp_path: Path) -> None:
    """Where a worker runs, nobody has to call ``consolidate`` to close the gap that a forgotten message leaves."""
    clock = FrozenClock(MAY)
    talk = [(role, f"{role} sentence {n}, {'and so on, ' * 20}.") for n in range(4) for role in ("user", "assistant")]
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), clock=clock) as memory:
        ids = memory.add(talk, session_id="s")
        clock.advance(days=1)
        memory.consolidate()
        (summary,) = memory.records(kinds="summary")
    settings = Settings(worker=True, worker_pause=0.0)
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), clock=clock, settings=settings) as memory:
        assert summary.id in memory.forget(ids=ids[2]).partial
        deadline = time.monotonic() + 60
        while not (made := list(memory.records(kinds="summary"))) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [record.source_ids for record in made] == [(*ids[:2], *ids[3:])]


def test_what_rests_on_it_goes_along(tmp_path: Path) -> None:
    """Derived records go with their sources, through any number of steps, and the report tells them apart."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        a, b = memory.add([("user", f"The word is {CANARY}."), ("user", "I keep bees.")], session_id="s")
        fact = memory.remember(f"the word: {CANARY}", source_ids=[a])
        insight = memory.remember(f"likes {CANARY}", kind="insight", source_ids=[fact])
        summary = memory.remember(f"{CANARY} and bees", kind="summary", source_ids=[a, b])
        bees = memory.remember("keeps bees", source_ids=[b])
        preview = memory.forget(ids=[a], dry_run=True)
        assert len(list(memory.records())) == 6
        report = memory.forget(ids=[a])
        assert (set(report.derived), set(report.partial)) == ({fact, insight}, {summary})
        assert (preview.records, preview.dry_run) == (report.records, True)
        assert files_with(tmp_path, CANARY) == []
        assert {r.id for r in memory.records(kinds="fact")} == {bees}


class Late:
    """Lets another writer in between forget's look around and its removal."""

    late: Callable[[], object] | None = None

    def remove(self, user_id: str, ids: Sequence[str], **options: Any) -> str:
        """Let the other writer write, then remove."""
        late, self.late = self.late, None
        if late is not None:
            late()
        return super().remove(user_id, ids, **options)  # type: ignore[misc]

    def forget(self, user_id: str, ids: Sequence[str], **options: Any) -> ForgetReport:
        """Let the other writer write, then forget."""
        late, self.late = self.late, None
        if late is not None:
            late()
        return super().forget(user_id, ids, **options)  # type: ignore[misc]


class LateRam(Late, RamStore):
    """In memory."""


class LateFolder(Late, FolderStore):
    """On disk."""


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("kind", ["ram", "folder"])
def test_what_comes_to_rest_on_it_meanwhile_goes_along(tmp_path: Path, kind: str, everything: bool) -> None:
    """A record written after forget looked for what to remove goes with its sources, and what rests on it too."""
    store = LateRam() if kind == "ram" else LateFolder(tmp_path / "m")
    with TieredMemory.open(store, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        a, b = memory.add([("user", f"The word is {CANARY}."), ("user", "I keep bees.")], session_id="s")
        fact = memory.remember(f"the word: {CANARY}", source_ids=[a])

        def write() -> None:
            memory.remember(f"likes {CANARY}", id="whole", source_ids=[fact])
            memory.remember(f"{CANARY} and bees", id="part", source_ids=["whole", b])
            memory.remember("keeps bees", id="bees", source_ids=[b])

        store.late = write
        report = memory.forget(everything=True) if everything else memory.forget(ids=[a])
        left = {record.id for record in memory.records(kinds="fact")}
        assert left == (set() if everything else {"bees"})
        assert files_with(tmp_path, CANARY) == []
        if not everything:
            assert (set(report.derived), set(report.partial)) == ({fact, "whole"}, {"part"})
            assert {fact, "whole", "part"} < set(report.records)
        with pytest.raises(NotFoundError):
            memory.remember("too late", source_ids=["whole"])


def test_earlier_versions_go_too(tmp_path: Path) -> None:
    """The history of a forgotten record is forgotten with it."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        id = memory.remember(f"The word is {CANARY}.")
        memory.update(id, text="The word is secret.")
        memory.forget(ids=[id])
        assert files_with(tmp_path, CANARY) == []


def test_a_session_sent_again_stays_forgotten(tmp_path: Path) -> None:
    """Re-sending a forgotten transcript brings nothing back, with ids or without; new words are stored."""
    folder = tmp_path / "m"
    with TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        transcript = [Message("user", f"My word is {CANARY}.", id="m1"), Message("user", "I keep bees.")]
        memory.add(transcript, session_id="s")
        memory.add([("user", "unrelated")], session_id="t")
        memory.forget(session_id="s")
        memory.add(transcript, session_id="s")
        memory.add([Message("user", "I keep goats.", id="m3")], session_id="s")
        assert [m.content for m in memory.messages("s")] == ["I keep goats."]
        assert files_with(folder, CANARY) == []
    with TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add(transcript, session_id="s")
        assert [m.content for m in memory.messages("s")] == ["I keep goats."]
        assert [m.content for m in memory.messages("t")] == ["unrelated"]


@pytest.mark.parametrize("place", [":memory:", "folder"])
def test_every_text_that_a_message_had_stays_forgotten(tmp_path: Path, place: str) -> None:
    """A message that was changed is known again by the words of each of its versions, whoever changed it."""
    location = place if place == ":memory:" else tmp_path / "m"
    with TieredMemory.open(location, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        (a, b) = memory.add([("user", "first 蓝鹊"), Message("user", "uno", id="m")], session_id="s")
        memory.update(a, text="second 蓝鹊")
        memory.update(a, text="third 蓝鹊")
        memory.add([Message("user", "due", id="m")], session_id="s", on_conflict="update")
        memory.forget(ids=[a, b])
        memory.add([("user", f"{word} 蓝鹊") for word in ("first", "Second", "third", "fourth")], session_id="s")
        memory.add([("user", "uno"), ("user", "due"), ("user", "tre")], session_id="s")
        assert [m.content for m in memory.messages("s")] == ["fourth 蓝鹊", "tre"]


@pytest.mark.parametrize("place", [":memory:", "folder"])
@pytest.mark.parametrize("role", ["system", "tool"])
def test_a_message_without_a_record_stays_forgotten_in_all_its_texts(tmp_path: Path, place: str, role: str) -> None:
    """System and tool messages that were replaced are refused by what they said before, too."""
    location = place if place == ":memory:" else tmp_path / "m"
    with TieredMemory.open(location, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        for text in ("规则一", "rule two", "rule three"):
            memory.add([Message(role, text, id="m")], session_id="s", on_conflict="update")
        assert memory.history("m") == []
        memory.forget(session_id="s")
        memory.add([(role, "规则一"), (role, "Rule two"), (role, "rule three"), (role, "rule four")], session_id="s")
        assert [m.content for m in memory.messages("s")] == ["rule four"]


@pytest.mark.parametrize("place", [":memory:", "folder"])
def test_a_forgotten_message_without_text_is_known_by_its_calls(tmp_path: Path, place: str) -> None:
    """A bare call to a tool stays forgotten when the transcript is sent again; another call is stored."""
    location = place if place == ":memory:" else tmp_path / "m"

    def calling(word: str) -> Message:
        return Message("assistant", "", metadata={"tool_calls": [{"name": "book", "args": {"n": 2.0, "who": word}}]})

    with TieredMemory.open(location, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "Book it."), calling(CANARY), ("assistant", "Done.")], session_id="s")
        memory.forget(session_id="s")
        memory.add([("user", "Book it."), calling(CANARY), ("assistant", "Done.")], session_id="s")
        assert memory.messages("s") == []
        assert files_with(tmp_path, CANARY) == []
        memory.add([calling("somebody else")], session_id="s")
        memory.add([calling(CANARY)], session_id="t")
        assert [len(memory.messages(session)) for session in "st"] == [1, 1]


@pytest.mark.parametrize(
    "said", [{"tool_calls": [{"id": "c", "name": "book", "args": {"who": CANARY}}]}, {"any": {"picture": CANARY}}]
)
def test_what_frameworks_note_on_a_message_does_not_bring_it_back(tmp_path: Path, said: dict[str, Any]) -> None:
    """Ids and usage that are new each time a front end sends a message without text make no other message of it."""

    def sent(time: int) -> Message:
        noted = {"id": f"run-{time}", "response_metadata": {"n": time}, "usage_metadata": {"n": time}}
        return Message("assistant", "", metadata={**said, "any": {**said.get("any", {}), **noted}})

    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([sent(1)], session_id="s")
        memory.forget(session_id="s")
        memory.add([sent(2)], session_id="s")
        assert memory.messages("s") == []
    assert files_with(tmp_path, CANARY) == []


@pytest.mark.parametrize(
    "variant",
    ["Call me on 123.", "“call me  on 123”", "Call me on 123\u200b!", "'Call me' on 123…", "（call me ｏｎ 123）"],
)
def test_a_text_in_another_dress_stays_forgotten(variant: str) -> None:
    """Case, width, spaces, quotes, marks at the ends and what cannot be seen make no other text."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "Call me on 123")], session_id="s")
        memory.forget(session_id="s")
        memory.add([("user", variant)], session_id="s")
        assert memory.messages("s") == []


@pytest.mark.parametrize(("gone", "other"), [("I like C", "I like C#"), ("?", "👍"), ("?!", "...."), ("5", "-5")])
def test_another_text_than_the_forgotten_one_is_stored(gone: str, other: str) -> None:
    """Signs that belong to a word count, and marks alone are a text of their own."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", gone)], session_id="s")
        memory.forget(session_id="s")
        memory.add([("user", other)], session_id="s")
        assert [message.content for message in memory.messages("s")] == [other]


def test_a_text_that_an_earlier_release_refused_stays_refused() -> None:
    """Up to now a store kept hashes of a text with its marks, and of all metadata; they are still recognised."""
    secret = b"0123456789abcdef"
    hashed = blake2b("\0".join(("text", "s", "call me, please!")).encode(), key=secret, digest_size=12).hexdigest()
    put = Put(message=Message("user", "Call me,  please!", id="m", session_id="s"))
    assert Refusals(secret).refuses({hashed}, put, new=True)
    metadata = '{"any":{"id":"1"},"picture":"x"}'
    hashed = blake2b("\0".join(("parts", "s", metadata)).encode(), key=secret, digest_size=12).hexdigest()
    put = Put(message=Message("user", "", id="m", session_id="s", metadata={"picture": "x", "any": {"id": "1"}}))
    assert Refusals(secret).refuses({hashed}, put, new=True)


def test_a_text_that_equals_a_forgotten_id_is_stored() -> None:
    """Saying what a forgotten message was called, or being called what one said, is nothing that was forgotten."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([Message("user", "好的", id="yes")], session_id="s")
        memory.forget(session_id="s")
        memory.add([Message("user", "yes", id="m1"), Message("user", "fine", id="好的")], session_id="s")
        assert [m.content for m in memory.messages("s")] == ["yes", "fine"]


def test_conditions_are_joined_by_and(tmp_path: Path) -> None:
    """Time, kind, session, metadata and ids narrow what is forgotten."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        old, new = (
            memory.add([Message("user", text, created_at=time)], session_id="s")[0]
            for text, time in (("old", MAY), ("new", MAY + timedelta(days=9)))
        )
        system = memory.add([Message("system", "rules", created_at=MAY)], session_id="s")[0]
        fact = memory.remember("a fact", metadata={"tag": "x"})
        assert memory.forget(ids=[new], until=MAY).messages == ()
        assert set(memory.forget(until=MAY, session_id="s").messages) == {old, system}
        assert memory.forget(kinds="fact", metadata={"tag": "y"}).records == ()
        assert memory.forget(kinds="fact", metadata={"tag": "x"}).records == (fact,)
        assert [m.id for m in memory.messages("s")] == [new]


def test_metadata_reaches_messages_that_are_not_searched(tmp_path: Path) -> None:
    """What the caller noted on system and tool messages counts as it does on turns."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        noted = [Message(role, f"{role} {CANARY}", metadata={"pii": True}) for role in ("system", "user", "tool")]
        ids = memory.add([*noted, Message("system", "Be kind."), Message("user", "hi")], session_id="s")
        assert set(memory.forget(metadata={"pii": True}).messages) == set(ids[:3])
        assert files_with(tmp_path, CANARY) == []


def test_no_condition_is_an_error(tmp_path: Path) -> None:
    """Forgetting everything has to be asked for by name."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
        with pytest.raises(InvalidInputError):
            memory.forget()
        with pytest.raises(InvalidInputError):
            memory.forget(metadata={})
        with pytest.raises(InvalidInputError):
            memory.forget(everything=True, session_id="s")
        assert memory.stats().messages == 1


class Counting(RamStore):
    """Counts what is asked of it."""

    def __init__(self) -> None:
        """Nothing yet."""
        super().__init__()
        self.asked: Counter[str] = Counter()

    def items(self, user_id: str) -> Iterator[tuple[Stored, ...]]:
        """Count, and answer."""
        self.asked["items"] += 1
        return super().items(user_id)

    def fetch(self, user_id: str, ids: Sequence[str]) -> list[Stored | None]:
        """Count, and answer."""
        self.asked["fetch"] += 1
        return super().fetch(user_id, ids)

    def dependents(self, user_id: str, ids: Sequence[str]) -> list[Record]:
        """Count, and answer."""
        self.asked["dependents"] += 1
        return super().dependents(user_id, ids)

    def scan(self, user_id: str, where: Where) -> Iterator[Record]:
        """Count, and answer."""
        self.asked["scan"] += 1
        return super().scan(user_id, where)


def rich(memory: TieredMemory) -> None:
    """Say, update, remember and digest something of every kind."""
    memory.add([("system", "Be kind."), ("user", "I live in Shenzhen."), ("user", "I play the cello.")], session_id="s")
    memory.add([Message("user", "I like tea.", id="m"), ("assistant", "Noted.")], session_id="t")
    memory.add([Message("assistant", "", metadata={"tool_calls": [{"id": "c"}]})], session_id="t")
    memory.add([Message("user", "I like coffee.", id="m")], session_id="t", on_conflict="update")
    fact = memory.remember("Likes hot drinks.", source_ids=["m"])
    memory.remember("Likes cups.", kind="insight", source_ids=[fact])
    memory.consolidate()


@pytest.mark.parametrize("location", [":memory:", "store", "sqlite:///store.db"])
def test_everything_goes_as_a_plan_of_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str) -> None:
    """What is reported and refused when all goes is what a plan of all of it says, and what a dry run shows."""
    monkeypatch.chdir(tmp_path)
    with TieredMemory.open(location, embedder=HashEmbedder(), settings=Settings(span_turns=2)) as memory:
        rich(memory)
        store = memory._open_engine().store
        planned = cascade.plan(store, "default", meant(store, "default", None, Where()), named=False)
        going = cascade.whole(store, "default")
        assert set(map(repr, going.refusals)) == set(map(repr, planned.refusals))
        shown, report = memory.forget(everything=True, dry_run=True), memory.forget(everything=True)
        for name in ("messages", "records", "derived", "partial"):
            assert sorted(getattr(report, name)) == sorted(getattr(shown, name))
        assert len(report.records) > 6
        assert memory.stats().records == 0
        memory.add([Message("user", "I like tea.", id="m"), ("user", "I play the cello.")], session_id="s")
        assert [message.content for message in memory.messages("s")] == ["I like tea."]


def test_everything_is_read_once_and_nothing_looked_for() -> None:
    """Where all goes, no cascade is planned: the store is asked once for what there is."""
    store = Counting()
    with TieredMemory.open(store, embedder=HashEmbedder(), settings=Settings(span_turns=2)) as memory:
        rich(memory)
        store.asked.clear()
        memory.forget(everything=True)
        assert store.asked == {"items": 1}


def test_everything_means_one_user(tmp_path: Path) -> None:
    """Forgetting everything of one user leaves the others whole."""
    with TieredMemory.open(
        tmp_path / "m", user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter()
    ) as alice:
        bob = alice.for_user("bob")
        alice.add([("user", f"My word is {CANARY}.")], session_id="s")
        bob.add([("user", "I keep bees.")], session_id="s")
        alice.forget(everything=True)
        assert (alice.stats().messages, bob.stats().messages) == (0, 1)
        assert files_with(tmp_path, CANARY) == []
        alice.add([("user", "I start anew.")], session_id="s")
        assert alice.search("anew")


def test_ids_of_nothing_are_left_out_of_the_report(tmp_path: Path) -> None:
    """Forgetting twice is harmless."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        (id,) = memory.add([("user", "I keep bees.")], session_id="s")
        assert memory.forget(ids=id).messages == (id,)
        assert memory.forget(ids=id).messages == ()


def test_a_job_goes_along_unnamed(tmp_path: Path) -> None:
    """What waits or has failed for a message goes with it, a model's raw answer included, and no report names it."""
    folder = tmp_path / "m"
    with TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        a, b = memory.add([("user", "The word is a secret."), ("user", "I keep bees.")], session_id="s")
        store = FolderStore(folder)
        job = Record(
            id="job:1", kind="job", text=f"no JSON: {CANARY}", source_ids=(a, b), created_at=MAY, stored_at=MAY
        )
        store.commit("default", [Put(job)])
        store.close()
        report = memory.forget(ids=[a])
        assert (report.records, report.derived, report.partial) == ((f"turn:{a}",), (), ())
        assert files_with(folder, CANARY) == []
        with pytest.raises(InvalidInputError):
            memory.records(kinds="job")


def test_ids_that_are_no_text_are_refused_before_anything_goes(tmp_path: Path) -> None:
    """A lone surrogate among the ids is an error that says so, and what is meant beside it stays."""
    with TieredMemory.open(tmp_path, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        (id,) = memory.add([("user", "alpha")], session_id="s")
        with pytest.raises(InvalidInputError, match="lone surrogate"):
            memory.forget(ids=["\ud83d", id])
        assert [message.content for message in memory.messages("s")] == ["alpha"]
