"""A memory moves through a file: everything comes back as it was, nothing forgotten does."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from items import NOON, known, said
from siltstone import (
    ConfigurationError,
    InvalidInputError,
    Message,
    NotFoundError,
    ReadOnlyError,
    Settings,
    TieredMemory,
)
from siltstone.protocols import Put
from siltstone.records import ImportReport
from siltstone.stores.ram import RamStore
from siltstone.testing import FailingEmbedder, FrozenClock, HashEmbedder, WordCounter
from siltstone.text.guard import PREAMBLES, fence
from siltstone.transfer.importing import BATCH

CHINA = timezone(timedelta(hours=8))


def opened(where: Any = None, user: str = "alice", **options: Any) -> TieredMemory:
    """Return a memory with the fakes, in a store of its own."""
    values = {"embedder": HashEmbedder(16), "token_counter": WordCounter(), "clock": FrozenClock(), **options}
    return TieredMemory.open(RamStore() if where is None else where, user_id=user, **values)


def exported(memory: TieredMemory) -> bytes:
    """Return the file of a memory, as if it had been written at a fixed time."""
    file = io.BytesIO()
    memory.export_to(file)
    return timeless(file.getvalue())


def timeless(data: bytes) -> bytes:
    """Return a file as if it had been written at a fixed time."""
    return re.sub(rb'"exported_at":"[^"]*"', b'"exported_at":"2024"', data, count=1)


def lines(data: bytes) -> list[dict[str, Any]]:
    """Return the lines of a file as values."""
    return [json.loads(line) for line in data.splitlines()]


def imported(memory: TieredMemory, data: bytes, **options: Any) -> ImportReport:
    """Import a file from memory."""
    return memory.import_from(io.BytesIO(data), **options)


def counts(report: ImportReport) -> dict[str, int]:
    """Return what became of items, without zeros."""
    names = ("added", "updated", "unchanged", "skipped", "failed")
    assert report.read == sum(getattr(report, name) for name in names)
    return {name: count for name in names if (count := getattr(report, name))}


def edited(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return a file of which every item was changed by hand."""
    changed = lines(data)
    for line in changed:
        if "type" in line:
            change(line)
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in changed)


@pytest.fixture
def rich() -> Iterator[TieredMemory]:
    """A memory with something of everything."""
    clock = FrozenClock()
    store = RamStore()
    with opened(store, clock=clock) as memory:
        calls = [{"id": "c1", "name": "weather", "args": {"城市": "杭州"}}]
        memory.add(
            [
                Message("system", "Be kind.", id="s0"),
                Message(
                    "user",
                    "我叫小林，住在杭州 🌊\u2028第二行",
                    name="小林",
                    id="1",
                    created_at=clock.now().astimezone(CHINA),
                ),
                Message("assistant", "", metadata={"tool_calls": calls}),
                Message("tool", "21°C", metadata={"tool_call_id": "c1", "n": 2.0, "deep": [None, {"x": True}]}),
            ],
            session_id="一",
        )
        memory.add([Message("user", "same id, other session", id="1")], session_id="two")
        clock.advance(hours=1)
        fact = memory.remember("住在杭州", source_ids=["1"], session_id="一", importance=0.5)
        memory.remember("Trip", kind="event", occurred_at="2027-01-01T00:00:00+08:00", ttl=60, pinned=True)
        memory.remember("Short-lived", ttl=1)
        clock.advance(hours=1)
        memory.update("turn:1", text="我叫小林，住在上海", metadata={"seen": 1})
        memory.update(fact, text="住在上海", kind="profile")
        memory.add([Message("system", "Be brief.", id="s0")], session_id="一", on_conflict="update")
        made = {"kind": "summary", "level": 1, "topic": "moving", "flags": ("fallback",), "made_by": "extractive"}
        until = {"valid_from": NOON, "valid_until": NOON, "superseded_by": "s2", "support": 3}
        store.commit("alice", [known("s1", "小林搬家", user="alice", source_ids=("turn:1", fact), **made, **until)])
        yield memory


def test_everything_comes_back_as_it_was(rich: TieredMemory) -> None:
    """Ids, versions, times, zones, tool calls, metadata, provenance: the import exports to the same file."""
    data = exported(rich)
    with opened(clock=FrozenClock("2024-01-01T14:00:00Z")) as other:
        assert counts(imported(other, data)) == {"added": 9}
        assert exported(other) == data
        assert other.messages("一") == rich.messages("一")
        assert list(other.records()) == list(rich.records())
        assert other.history("turn:1") == rich.history("turn:1")
        assert [info.session_id for info in other.sessions()] == ["一", "two"]


def test_the_file_is_what_its_description_says(rich: TieredMemory) -> None:
    """A header with counts, one line an item, what has a default left out, and a last line that counts."""
    head, *items, end = lines(exported(rich))
    assert head["format"] == "siltstone-export"
    assert (head["version"], head["user_id"], head["embedder"]) == (1, "alice", "hash")
    assert (head["messages"], head["records"], head["sessions"]) == (5, 4, 2)
    assert end == {"end": len(items)} == {"end": 9}
    assert [item["type"] for item in items].count("message") == 5
    assert items[4]["supplied_id"] == "1"
    assert items[4]["id"] == "two/1"
    assert "turn" not in items[4]
    assert items[1]["turn"]["version"] == 2
    assert items[1]["earlier"][0]["content"].startswith("我叫小林，住在杭州 🌊")


def test_importing_twice_changes_nothing(rich: TieredMemory) -> None:
    """The second time everything is unchanged, and the revision stays."""
    data = exported(rich)
    before = rich.revision
    assert counts(imported(rich, data)) == {"unchanged": 9}
    assert rich.revision == before


def test_a_dry_run_says_the_same_and_writes_nothing(rich: TieredMemory) -> None:
    """The report of a dry run is that of the import after it, torn and doubled lines, forgotten items and all."""
    data = exported(rich)
    data = data.replace(b'{"end":9}\n', b"") + data.splitlines(keepends=True)[3] + b'{"type":"rec'
    with opened() as other:
        imported(other, data)
        other.forget(ids=["1"])
        before = other.revision, exported(other)
        dry = imported(other, data, dry_run=True)
        assert (other.revision, exported(other)) == before
        wet = imported(other, data)
        assert dataclasses.replace(dry, dry_run=False) == wet
        assert counts(wet)["skipped"] == 3
        assert counts(wet)["failed"] == 1


def test_a_dry_run_leaves_a_new_store_without_an_embedding_space(rich: TieredMemory, tmp_path: Path) -> None:
    """Not even the store's own settings are written, and a store opened for reading can be asked."""
    opened(tmp_path / "store").close()
    before = {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()}
    with opened(tmp_path / "store", read_only=True) as other:
        assert counts(imported(other, exported(rich), dry_run=True)) == {"added": 9}
        with pytest.raises(ReadOnlyError):
            imported(other, exported(rich))
    assert {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()} == before


def test_it_can_become_another_users(rich: TieredMemory) -> None:
    """The user in the file only informs: what comes in belongs to whoever imports it."""
    bob = rich.for_user("bob")
    imported(bob, exported(rich))
    assert {record.user_id for record in bob.records()} == {"bob"}
    assert lines(exported(bob))[1:] == lines(exported(rich))[1:]


def test_what_rests_on_something_revised_arrives_with_it() -> None:
    """A summary that was made anew as its session went on, and the week's that rests on it, are both imported."""
    clock = FrozenClock("2024-05-06T12:00:00+00:00")
    with opened(clock=clock, settings=Settings(span_turns=8, worker=False)) as memory:
        for session in ("a", "b"):
            for n in range(10):
                said = f"In hour {n} we oiled the {session} saw, sharpened its teeth, and hung it back on the wall."
                answer = ("assistant", "What did you do after that, and what did you have for tea?")
                memory.add([("user", said), answer] * 4, session_id=session)
                clock.advance(minutes=5)
                memory.consolidate()
        clock.advance(days=14)
        memory.consolidate()
        told = list(memory.records())
        assert max(record.version for record in told if record.level == 1) > 1
        assert any(record.level == 2 for record in told)
        with opened(clock=clock) as other:
            report = imported(other, exported(memory), dry_run=True)
            assert report.added == len(exported(memory).splitlines()) - 2
            assert imported(other, exported(memory)).added == report.added
            assert sorted(other.records(), key=lambda one: one.id) == sorted(told, key=lambda one: one.id)


# --- later, earlier, other


def test_later_versions_are_added_to_earlier_ones() -> None:
    """A store that has an older state takes over each version since, times and numbers included."""
    clock = FrozenClock()
    with opened(clock=clock) as one, opened(clock=clock) as two:
        one.add([Message("user", "v1", id="m")], session_id="s")
        fact = one.remember("f1")
        imported(two, exported(one))
        for number in (2, 3):
            clock.advance(days=1)
            one.update("turn:m", text=f"v{number}")
            one.update(fact, text=f"f{number}")
        assert counts(imported(two, exported(one))) == {"updated": 2}
        assert exported(two) == exported(one)
        assert [record.text for record in two.history(fact)] == ["f2", "f1"]


def test_an_older_file_reverts_nothing() -> None:
    """What this store has changed since is skipped and said so, on both sides of a fork."""
    clock = FrozenClock()
    with opened(clock=clock) as one, opened(clock=clock) as two:
        fact = one.remember("first")
        old = exported(one)
        imported(two, old)
        clock.advance(days=1)
        one.update(fact, text="on Monday")
        clock.advance(days=1)
        two.update(fact, text="on Tuesday")
        for data in (old, exported(one)):
            report = imported(two, data)
            assert counts(report) == {"skipped": 1}
            assert "later version" in report.problems[0].reason
        assert counts(imported(one, exported(two))) == {"updated": 1}
        assert one.get(fact).text == "on Tuesday"  # type: ignore[union-attr]
        assert [record.text for record in one.history(fact)] == ["on Monday", "first"]
        assert counts(imported(one, exported(two))) == {"unchanged": 1}


def test_a_file_edited_by_hand_updates() -> None:
    """Another text in a line is a new version of the item, once."""
    with opened() as memory:
        memory.add([Message("user", "typo", id="m")], session_id="s")
        fact = memory.remember("typo")
        data = edited(exported(memory), lambda line: line.update({"text" if "text" in line else "content": "fixed"}))
        assert counts(imported(memory, data)) == {"updated": 2}
        assert counts(imported(memory, data)) == {"unchanged": 2}
        assert memory.get(fact).version == 2  # type: ignore[union-attr]
        assert memory.messages("s")[0].content == "fixed"


def test_another_item_under_the_same_id_is_reported_and_stays_out() -> None:
    """Two things that were not written at the same moment are not merged; the rest of the file comes in."""
    with opened(clock=FrozenClock("2025-01-01T00:00:00Z")) as one, opened() as two:
        for memory, text in ((one, "theirs"), (two, "ours")):
            memory.remember(text, id="f")
            memory.add([Message("user", text, id="m")], session_id="s")
        two.remember("a record", id="x")
        one.add([Message("user", "a message", id="x")], session_id="s")
        one.remember("new", id="g")
        report = imported(two, exported(one))
        assert counts(report) == {"added": 1, "failed": 3}
        assert {problem.id for problem in report.problems} == {"f", "m", "x"}
        assert two.get("f").text == "ours"  # type: ignore[union-attr]


def test_a_summary_that_both_stores_made_is_not_a_conflict() -> None:
    """What each derived from the same sources at its own time has one id: this store's stays, and it is said."""
    stores = RamStore(), RamStore()
    for store, text in zip(stores, ("theirs", "ours"), strict=True):
        store.commit("alice", [said("m", "hello", user="alice")])
        later = NOON + timedelta(hours=len(text))
        made = known("s", text, user="alice", kind="summary", source_ids=("m",), stored_at=later, made_by="extractive")
        store.commit("alice", [made])
    with opened(stores[0]) as one, opened(stores[1]) as two:
        report = imported(two, exported(one))
        assert counts(report) == {"unchanged": 1, "skipped": 1}
        assert "same sources" in report.problems[0].reason


def test_the_memorys_own_affairs_stay_at_home() -> None:
    """Jobs are no memories: an export has none, and a file that has one is told so."""
    store = RamStore()
    store.commit("alice", [said("m", "hello", user="alice"), known("j", "raw", kind="job", user="alice")])
    with opened(store) as one, opened() as two:
        data = exported(one)
        assert [line.get("id") for line in lines(data)[1:-1]] == ["m"]
        job = json.dumps({"type": "record", "id": "j", "kind": "job", "text": "x", "created_at": NOON.isoformat()})
        assert counts(imported(two, data.replace(b'{"end":1}', job.encode() + b'\n{"end":2}'))) == {
            "added": 1,
            "failed": 1,
        }


# --- forgotten


def test_what_was_forgotten_is_not_brought_back(rich: TieredMemory) -> None:
    """Messages, silent ones too, records and what was derived from them are refused, also in a fresh process."""
    data = exported(rich)
    rich.forget(session_id="一")
    rich.forget(everything=True)
    report = imported(rich, data)
    assert counts(report) == {"skipped": 9}
    assert list(rich.records()) == []
    assert rich.sessions() == []


def test_what_rests_on_something_forgotten_stays_out(rich: TieredMemory) -> None:
    """A summary that this store never had holds the words of a forgotten message: it is refused."""
    with opened() as other:
        other.add([Message("user", "我叫小林，住在上海", id="1")], session_id="一")
        other.forget(ids=["1"])
        report = imported(other, exported(rich))
        assert counts(report) == {"added": 6, "skipped": 3}
        assert not other.search("小林搬家", kinds="summary")


def test_what_was_derived_stays_out_though_its_source_has_been_written_anew() -> None:
    """A derived record that went with its source is known by its own id, also once that of the source is taken."""
    clock = FrozenClock()
    with opened(clock=clock) as memory:
        memory.remember("the word", id="f")
        memory.remember("of the word", id="i", kind="insight", source_ids=["f"])
        data = exported(memory)
        memory.forget(ids=["f"])
        clock.advance(seconds=1)
        memory.remember("something else", id="f")
        assert counts(imported(memory, data)) == {"failed": 1, "skipped": 1}
        assert [record.id for record in memory.records()] == ["f"]


def test_forgotten_by_another_thread_meanwhile(rich: TieredMemory) -> None:
    """While an import runs again and again, what is forgotten is gone when forget returns, and stays so."""
    data = exported(rich)
    with opened() as other:
        done = threading.Event()
        work = threading.Thread(target=lambda: [imported(other, data) for _ in iter(done.is_set, True)])
        work.start()
        try:
            while not list(other.records()):
                pass
            other.forget(ids=["1", "two/1"])
            for _ in range(20):
                assert not {record.id for record in other.records()} & {"turn:1", "turn:two/1", "s1"}
        finally:
            done.set()
            work.join()
        assert not {record.id for record in other.records()} & {"turn:1", "turn:two/1", "s1"}


def test_what_was_forgotten_stays_so_when_a_folder_is_opened_again(rich: TieredMemory, tmp_path: Path) -> None:
    """A folder keeps all that a file has, versions too, and what it refuses outlives every process."""
    data = exported(rich)
    with opened(tmp_path / "store") as other:
        imported(other, data)
    with opened(tmp_path / "store") as other:
        assert exported(other) == data
        assert counts(imported(other, data)) == {"unchanged": 9}
        other.forget(everything=True)
    with opened(tmp_path / "store") as other:
        assert counts(imported(other, data)) == {"skipped": 9}
    files = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert "上海".encode() not in files


def test_an_import_that_was_killed_goes_on(tmp_path: Path) -> None:
    """Killed between two batches, an import has lost nothing that it wrote, and a second run ends as one run would."""
    file = tmp_path / "x.jsonl"
    with opened() as one:
        one.add([Message("user", f"第 {n} 句", id=str(n)) for n in range(BATCH + 50)], session_id="s")
        one.remember("rests on a late one", source_ids=[str(BATCH + 49)])
        one.export_to(file)
        data = exported(one)
    script = (
        "import os, signal, sys\n"
        "from siltstone import TieredMemory\n"
        "from siltstone.testing import HashEmbedder\n"
        "memory = TieredMemory.open(sys.argv[1], user_id='alice', embedder=HashEmbedder(16))\n"
        "memory.import_from(sys.argv[2], progress=lambda done, total: os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "store"), str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with opened(tmp_path / "store") as two:
        assert counts(imported(two, data)) == {"unchanged": BATCH, "added": 51}
        assert exported(two) == data


# --- files


def test_a_path_is_written_whole_and_for_the_owner_alone(rich: TieredMemory, tmp_path: Path) -> None:
    """The file appears under its name when it is complete, mode 0600; an earlier one is replaced."""
    file = tmp_path / "小林.jsonl"
    file.write_text("older")
    assert rich.export_to(file) == 9
    assert timeless(file.read_bytes()) == exported(rich)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["小林.jsonl"]
    with pytest.raises(ZeroDivisionError):
        rich.export_to(file, progress=lambda done, total: 1 // 0)  # type: ignore[arg-type, return-value]
    assert timeless(file.read_bytes()) == exported(rich)
    assert os.listdir(tmp_path) == ["小林.jsonl"]
    with opened() as other:
        assert counts(other.import_from(file)) == {"added": 9}


def test_an_export_of_a_damaged_store_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What can be read is written, and a warning tells of what cannot."""
    with opened(tmp_path / "store") as memory:
        for text in ("first", "heliotrope", "third"):
            memory.remember(text)
    (documents,) = (tmp_path / "store").rglob("docs.*.jsonl")
    documents.write_bytes(documents.read_bytes().replace(b"heliotrope", b"heliotrxpe"))
    with opened(tmp_path / "store") as memory:
        assert memory.export_to(tmp_path / "x.jsonl") == 2
    assert any("exporting what can be read" in record.message for record in caplog.records)


def test_open_files_of_both_kinds_are_written_and_read(rich: TieredMemory, tmp_path: Path) -> None:
    """A text file gets text, a binary one bytes; both stay open, and both can be imported."""
    with open(tmp_path / "text", "w+", encoding="utf-8") as text, opened() as other:
        rich.export_to(text)
        text.seek(0)
        assert timeless(text.read().encode()) == exported(rich)
        text.seek(0)
        assert counts(other.import_from(text)) == {"added": 9}
        assert not text.closed


def test_places_that_cannot_be_are_refused(tmp_path: Path) -> None:
    """No export into the store's own folder, over a device or into nowhere; no import of nothing."""
    with opened(tmp_path / "store") as memory:
        memory.remember("x")
        for place, words in (
            (tmp_path / "store" / "x.jsonl", "store's own folder"),
            (tmp_path / "none" / "x.jsonl", "no folder"),
            (tmp_path, "no regular file"),
            ("/dev/null", "no regular file"),
        ):
            with pytest.raises(ConfigurationError, match=words):
                memory.export_to(place)
        with pytest.raises(NotFoundError, match="no file or folder"):
            memory.import_from(tmp_path / "none")
        with pytest.raises(InvalidInputError, match="path or an open file"):
            memory.import_from(5)  # type: ignore[arg-type]


def test_files_that_are_not_ours_are_refused_whole(rich: TieredMemory) -> None:
    """Another format, a newer version, a header that is none: nothing is imported, and it is said what to do."""
    data = exported(rich)
    with opened() as other:
        for broken, format, words in (
            (b"hello\n", None, "none of the formats"),
            (b"hello\n", "siltstone", "no JSON"),
            (b"{}\n", "siltstone", "no header"),
            (data, "csv", "is none of"),
            (data.replace(b'"version":1', b'"version":2', 1), None, "release that wrote it"),
        ):
            with pytest.raises(InvalidInputError, match=words):
                imported(other, broken, format=format)
        assert other.stats().messages == 0


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"type": "thing"}, '"type"'),
    "unknown field": ({"mood": "gay"}, "unknown field 'mood'"),
    "naive time": ({"created_at": "2024-01-01T00:00:00"}, "no time zone"),
    "no time": ({"created_at": None}, "created_at"),
    "kind": ({"kind": "robot"}, "kind 'robot'"),
    "turn": ({"kind": "turn"}, "part of its message"),
    "empty": ({"text": " "}, "text is empty"),
    "number": ({"text": 5}, "must be a string"),
    "importance": ({"importance": 2}, "importance"),
    "version": ({"version": 0}, "version"),
    "pinned": ({"pinned": "yes"}, "true or false"),
    "sources": ({"source_ids": "m"}, "list of texts"),
    "metadata": ({"metadata": [1]}, "metadata"),
    "earlier": ({"earlier": [5]}, "list of versions"),
    "turn's id": ({"id": "turn:x"}, "siltstone gives"),
    "injected": ({"text": fence(f"{PREAMBLES[0]}\nx")}, "siltstone had put"),
}


@pytest.mark.parametrize("change", BAD)
def test_a_bad_line_is_named_and_the_others_come_in(change: str) -> None:
    """Each way in which a line can be wrong is one failed item with its line number and the reason."""
    fields, reason = BAD[change]
    with opened() as one, opened() as two:
        one.remember("first")
        one.remember("second", id="b")
        one.remember("third")
        data = edited(exported(one), lambda line: line.update(fields) if line["id"] == "b" else None)
        report = imported(two, data)
        assert counts(report) == {"added": 2, "failed": 1}
        (problem,) = report.problems
        assert (problem.where, problem.outcome) == ("line 3", "failed")
        assert reason in problem.reason


@pytest.mark.parametrize("cut", [1, 5, 10, 12, 30, 200])
def test_a_file_that_was_cut_off_says_so(rich: TieredMemory, cut: int) -> None:
    """Wherever the end is missing, it is one failure more, and what is left comes in."""
    data = exported(rich)[:-cut]
    whole = max(data.count(b"\n") - 1, 0)
    with opened() as other:
        report = imported(other, data)
        if cut > 1:  # a missing line break alone is no loss
            assert report.failed == 1
            assert "cut off" in report.problems[-1].reason
        assert report.added >= min(whole, 9) - report.skipped


def test_lines_lost_in_the_middle_are_missed(rich: TieredMemory) -> None:
    """The last line knows how many there were."""
    data = b"".join(line for number, line in enumerate(exported(rich).splitlines(keepends=True)) if number != 3)
    with opened() as other:
        report = imported(other, data)
        assert "written with 9 items, and 8 are left" in report.problems[-1].reason


def test_an_import_that_was_stopped_goes_on() -> None:
    """Each batch is a commit: after an interruption what came before is there, and a second run does the rest."""
    with opened() as one, opened() as two:
        one.add([Message("user", f"turn {n}", id=str(n)) for n in range(2 * BATCH + 5)], session_id="s")

        def stop(done: int, total: int) -> None:
            assert total == 2 * BATCH + 5
            if done == 2 * BATCH:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            imported(two, exported(one), progress=stop)
        assert len(two.messages("s")) == 2 * BATCH
        assert counts(imported(two, exported(one))) == {"added": 5, "unchanged": 2 * BATCH}
        assert exported(two) == exported(one)


def test_texts_come_in_while_the_embedder_is_down(rich: TieredMemory) -> None:
    """An import does not wait for vectors; they are queued, and the words are found."""
    model = FailingEmbedder(HashEmbedder(16))
    with opened(embedder=model) as other:
        assert counts(imported(other, exported(rich))) == {"added": 9}
        assert other.search("上海")
        model.failing = False
        other.flush(10)
        assert other.stats().pending_vectors == 0


def test_a_source_that_comes_later_in_the_file_is_waited_for() -> None:
    """A record whose newest version rests on a later message comes in whole, and in its place."""
    store = RamStore()
    store.commit("alice", [said("a", "one", user="alice"), known("f", "said once", user="alice", source_ids=("a",))])
    store.commit("alice", [said("b", "two", user="alice")])
    record = known("f", "said twice", user="alice", source_ids=("a", "b"), version=2, support=2, updated_at=NOON).record
    store.commit("alice", [Put(record)])
    with opened(store) as one, opened() as two:
        assert counts(imported(two, exported(one))) == {"added": 3}
        assert exported(two) == exported(one)
        lost = edited(exported(one), lambda line: line.update(type="?") if line["id"] == "b" else None)
        report = imported(two.for_user("bob"), lost)
        assert counts(report) == {"added": 1, "skipped": 1, "failed": 1}
        assert report.problems[-1].reason == "it rests on 'b', which is not in this store"


async def test_the_async_twins_do_the_same(rich: TieredMemory, tmp_path: Path) -> None:
    """``aexport_to`` and ``aimport_from`` write and read the same file."""
    assert await rich.aexport_to(tmp_path / "a.jsonl") == 9
    with opened() as other:
        assert counts(await other.aimport_from(tmp_path / "a.jsonl", dry_run=True)) == {"added": 9}


# --- any memory at all

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip) | st.sampled_from(
    ["我叫小林 🌊", "Hello.\r\n\u2028", "👩‍👩‍👧 {question}", '{"end": 3}', "\x00\x1f"]
)
META = st.dictionaries(
    st.text("ab键", max_size=2), st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | TEXTS
)
IDS = st.sampled_from(["a", "b", "一"])
WRITES = st.one_of(
    st.tuples(
        st.just("add"), IDS, st.none() | IDS, st.sampled_from(["system", "user", "assistant", "tool"]), TEXTS, META
    ),
    st.tuples(
        st.just("remember"), TEXTS, st.sampled_from(["fact", "event", "summary"]), st.lists(IDS, max_size=2), META
    ),
    st.tuples(st.just("update"), st.integers(0, 9), TEXTS, st.none() | st.booleans(), META),
)
STEPS = WRITES | st.tuples(st.just("forget"), st.integers(0, 9))


def act(memory: TieredMemory, step: Any) -> None:
    """Carry out one step, where it makes sense."""
    kind, *args = step
    if kind == "add":
        session, id, role, text, meta = args
        memory.add([Message(role, text, id=id, metadata=meta)], session_id=session, on_conflict="update")
    elif kind == "remember":
        text, what, sources, meta = args
        there = [s for s in sources if any(m.id == s for i in memory.sessions() for m in memory.messages(i.session_id))]
        memory.remember(text, kind=what, source_ids=there, metadata=meta, ttl=5 if len(text) > 3 else None)
    elif records := list(memory.records()):
        record = records[args[0] % len(records)]
        if kind == "forget":
            memory.forget(ids=[record.id])
        else:
            memory.update(record.id, text=args[1], pinned=args[2], metadata=args[3])


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=12), st.lists(WRITES, max_size=4))
def test_any_memory_comes_back_and_catches_up(first: list[Any], then: list[Any]) -> None:
    """Export, import and export again give the same bytes; after more is written, importing again catches up."""
    clock = FrozenClock()
    with opened(clock=clock) as one, opened(clock=clock) as two:
        for step in first:
            clock.advance(minutes=1)
            act(one, step)
        data = exported(one)
        assert set(counts(imported(two, data))) <= {"added"}
        assert exported(two) == data
        for step in then:
            clock.advance(minutes=1)
            act(one, step)
        late = exported(one)
        dry = imported(two, late, dry_run=True)
        wet = imported(two, late)
        assert dataclasses.replace(dry, dry_run=False) == wet
        assert wet.failed == 0
        assert exported(two) == late
