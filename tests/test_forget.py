"""Forgetting: what goes, what goes along, and that no file and no search has it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from siltstone import InvalidInputError, Message, NotFoundError, TieredMemory
from siltstone.protocols import Put
from siltstone.records import Record
from siltstone.stores.folder import FolderStore
from siltstone.stores.ram import RamStore
from siltstone.stores.table.plan import Refusals
from siltstone.testing import HashEmbedder, WordCounter

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
    """Up to now a store kept the hash of a text with its marks; it is still recognised."""
    secret = b"0123456789abcdef"
    hashed = blake2b("\0".join(("text", "s", "call me, please!")).encode(), key=secret, digest_size=12).hexdigest()
    put = Put(message=Message("user", "Call me,  please!", id="m", session_id="s"))
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
