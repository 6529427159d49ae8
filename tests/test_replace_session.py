"""A session that is sent whole takes the place of what there was: nothing is doubled, lost, or half done."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siltstone import Message, Settings, TieredMemory
from siltstone.errors import InvalidInputError, StoreCorruptedError
from siltstone.testing import FrozenClock, HashEmbedder
from siltstone.upkeep import verify

NOON = datetime(2026, 5, 8, 12, tzinfo=timezone.utc)
TALK = [("user", "I'm Alice."), ("assistant", "Hello!"), ("user", "I live in Shenzhen.")]


@pytest.fixture(params=["folder", ":memory:"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TieredMemory]:
    """An empty memory of each kind, at noon."""
    location = tmp_path / "memory" if request.param == "folder" else ":memory:"
    with TieredMemory.open(
        location, embedder=HashEmbedder(), clock=FrozenClock(NOON), settings=Settings(span_turns=2)
    ) as opened:
        yield opened


def said(memory: TieredMemory, session: str = "s") -> list[tuple[str, str]]:
    """Return what a session holds, in order."""
    return [(message.role, message.content) for message in memory.messages(session)]


def test_a_session_holds_what_was_sent_last(memory: TieredMemory) -> None:
    """Sent again with a change, a turn more or a turn less, a session is what was sent, and nothing beside."""
    for talk in (TALK, [*TALK, ("assistant", "Nice.")], [TALK[0], ("assistant", "Hi, Alice."), *TALK[2:]], TALK[:1]):
        memory.replace_session("s", talk)

        assert said(memory) == talk
        assert sorted(record.text for record in memory.records()) == sorted(text for _, text in talk)


def test_sent_again_it_changes_nothing(memory: TieredMemory) -> None:
    """The same transcript twice is one: ids, versions and the revision stay."""
    first = memory.replace_session("s", TALK)
    revision, versions = memory.revision, [record.version for record in memory.records()]

    assert memory.replace_session("s", TALK) == first
    assert memory.revision == revision
    assert [record.version for record in memory.records()] == versions


def test_what_is_as_it_was_keeps_its_id(memory: TieredMemory) -> None:
    """Whatever comes before, between and behind: unchanged messages keep their ids, in the order of the text."""
    alice, hello, shenzhen = memory.replace_session("s", TALK)

    ids = memory.replace_session(
        "s", [("user", "Hi."), TALK[0], ("assistant", "What's new?"), TALK[1], TALK[2], ("assistant", "Nice.")]
    )

    assert [*ids[1:5:2], ids[4]] == [alice, hello, shenzhen]
    assert [text for _, text in said(memory)] == [
        "Hi.",
        "I'm Alice.",
        "What's new?",
        "Hello!",
        "I live in Shenzhen.",
        "Nice.",
    ]


def test_messages_with_ids_are_known_by_them(memory: TieredMemory) -> None:
    """A message with an id of its own is changed in its place, and shows what it was before."""
    memory.replace_session("s", [Message("user", "I like tea.", id="m1"), Message("user", "Bye.", id="m2")])
    ids = memory.replace_session("s", [Message("user", "I like coffee.", id="m1"), Message("user", "Bye.", id="m2")])

    assert ids == ["m1", "m2"]
    assert said(memory) == [("user", "I like coffee."), ("user", "Bye.")]
    assert [record.text for record in memory.history("turn:m1")] == ["I like tea."]


def test_other_sessions_and_users_stay_as_they_are(memory: TieredMemory) -> None:
    """What a session loses, no other loses."""
    memory.replace_session("t", TALK)
    memory.for_user("bob").replace_session("s", TALK)
    memory.replace_session("s", TALK)
    memory.replace_session("s", [])

    assert said(memory) == []
    assert said(memory, "t") == TALK
    assert said(memory.for_user("bob")) == TALK


def test_what_was_forgotten_stays_forgotten(memory: TieredMemory) -> None:
    """A transcript that still holds what was forgotten does not bring it back, however the rest has changed."""
    ids = memory.replace_session("s", TALK)
    memory.forget(ids=[ids[2]])

    memory.replace_session("s", TALK)
    memory.replace_session("s", [TALK[0], TALK[2], ("assistant", "Where is that?")])

    assert said(memory) == [TALK[0], ("assistant", "Where is that?")]


def test_what_was_only_replaced_may_come_back(memory: TieredMemory) -> None:
    """A turn that a transcript left out was not forgotten: the next transcript may hold it again."""
    memory.replace_session("s", TALK)
    memory.replace_session("s", TALK[:1])
    memory.replace_session("s", TALK)

    assert said(memory) == TALK


def test_what_was_made_of_a_turn_goes_with_it(memory: TieredMemory) -> None:
    """Summaries and statements of a turn that is gone are gone at once; what somebody remembered by hand stays."""
    ids = memory.replace_session("s", [("user", "I live in Shenzhen."), ("user", "I play the cello.")])
    memory.consolidate()
    memory.remember("Likes the south.", source_ids=[ids[0]])
    assert any("Shenzhen" in record.text for record in memory.records(kinds=["fact", "profile", "summary"]))

    memory.replace_session("s", [("user", "I live in Lisbon."), ("user", "I play the cello.")])

    assert not any("Shenzhen" in record.text for record in memory.records())
    assert [record.text for record in memory.records(kinds="fact") if record.made_by == "user"] == ["Likes the south."]
    memory.consolidate()
    assert any("Lisbon" in record.text for record in memory.records(kinds=["fact", "profile", "summary"]))


def test_a_refused_message_changes_nothing(memory: TieredMemory) -> None:
    """One message that cannot be stored, and the session stays as it was."""
    memory.replace_session("s", TALK)

    with pytest.raises(InvalidInputError):
        memory.replace_session("s", [("user", "fine"), ("narrator", "once upon a time")])

    assert said(memory) == TALK


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=7), min_size=2, max_size=5))
def test_any_transcript_is_read_back_in_its_order(memory: TieredMemory, talks: list[list[str]]) -> None:
    """Turns moved, repeated, dropped and put back: after each transcript, the session is that transcript."""
    memory.replace_session("s", [])
    before: dict[str, int] = {}
    before_ids: set[str] = set()
    for talk in talks:
        ids = memory.replace_session("s", [("user", text) for text in talk])

        assert [text for _, text in said(memory)] == talk
        assert [message.id for message in memory.messages("s")] == ids
        kept = sum(min(talk.count(text), before.get(text, 0)) for text in set(talk))
        assert len(set(ids) & before_ids) >= kept
        before, before_ids = {text: talk.count(text) for text in talk}, set(ids)


def test_of_two_at_once_one_holds(memory: TieredMemory) -> None:
    """Writers that replace the same session at the same time: it is one of the transcripts, never a mixture."""
    talks = [[("user", f"{writer}: line {n}") for n in range(4)] for writer in range(4)]

    def write(talk: list[tuple[str, str]]) -> None:
        for _ in range(5):
            memory.replace_session("s", talk)

    writers = [threading.Thread(target=write, args=(talk,)) for talk in talks]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert said(memory) in talks


WRITES: dict[str, Callable[[TieredMemory], object]] = {
    "replaced": lambda memory: memory.replace_session("s", [("user", "I'm Alice."), ("user", "Something else.")]),
    "added again": lambda memory: memory.add([Message("user", "I live in Shenzhen.", id="m")], session_id="s"),
    "changed": lambda memory: memory.add(
        [Message("user", "I live in Lisbon.", id="m")], session_id="s", on_conflict="update"
    ),
}


@pytest.mark.parametrize("write", WRITES)
def test_damage_in_what_a_write_goes_on_from_is_an_error_that_says_so(tmp_path: Path, write: str) -> None:
    """A damaged message is no conflict, which no retry ends: nothing is stored, and the command named mends it."""
    folder = tmp_path / "memory"
    with TieredMemory.open(folder, embedder=HashEmbedder()) as memory:
        memory.add([("user", "I'm Alice."), Message("user", "I live in Shenzhen.", id="m")], session_id="s")
        (log,) = folder.rglob("docs.*")
        log.write_bytes(log.read_bytes().replace(b"I live in Shenzhen.", b"I live in Shenzhem."))
        damaged = log.read_bytes()

        with pytest.raises(StoreCorruptedError, match=rf"nothing was stored.*verify --repair --store {folder}"):
            WRITES[write](memory)

        assert log.read_bytes() == damaged
        verify(folder, repair=True)
        WRITES[write](memory)
        assert said(memory)[0] == ("user", "I'm Alice.")
        assert len(said(memory)) == 2


KILLED = """
import sys
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder
with TieredMemory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    for state in range(1_000_000):
        memory.replace_session("s", [("user", f"state {state}, turn {n}") for n in range(5)])
        print(state, flush=True)
"""


def test_killed_amid_replacements_it_is_one_of_them(tmp_path: Path) -> None:
    """Killed at any moment, a session is the one that was acknowledged last, or the next, whole."""
    for attempt in range(5):
        store = tmp_path / f"memory-{attempt}"
        with subprocess.Popen([sys.executable, "-c", KILLED, str(store)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged = [int(process.stdout.readline()) for _ in range(3 + attempt)][-1]
            process.kill()
            acknowledged = max([acknowledged, *map(int, process.stdout.read().split())])

        with TieredMemory.open(store, embedder=HashEmbedder()) as memory:
            found = [text for _, text in said(memory)]

        assert found in [[f"state {state}, turn {n}" for n in range(5)] for state in (acknowledged, acknowledged + 1)]
