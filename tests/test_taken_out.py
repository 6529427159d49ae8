"""What a commit takes out, as a session that is replaced does: for good, named in the audit, and never half told."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from items import known, said
from plain_and_encrypted import plain_and_encrypted
from siltstone import Settings, TieredMemory
from siltstone.errors import StoreLockedError
from siltstone.protocols import Put, Refusal, Where
from siltstone.stores.files import auditfile
from siltstone.stores.files.auditfile import Deed
from siltstone.stores.files.lock import FileLock
from siltstone.stores.folder import FolderStore
from siltstone.testing import HashEmbedder
from siltstone.upkeep import audit, backup, restore, verify
from writers import PROCESSES, act_until

SECRET = "heliotrope-蓝鹊"
Act = Callable[[FolderStore], object]


def opened(folder: Path) -> TieredMemory:
    """Open a memory that digests two turns at once."""
    return TieredMemory.open(folder, embedder=HashEmbedder(), settings=Settings(span_turns=2))


def files_with(folder: Path, text: str) -> list[Path]:
    """Return the files that hold a text."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def leave(store: Path, left: str) -> None:
    """Take away what is not left of a store: all but its audit, or its users' folders."""
    for path in store.iterdir():
        if (path.name != "AUDIT") if left == "audit" else (left == "folderless" and path.name == "users"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("left", ["store", "audit", "folderless"])
@pytest.mark.parametrize("forgotten", [False, True])
def test_no_older_backup_brings_it_back(tmp_path: Path, left: str, forgotten: bool) -> None:
    """A turn that a transcript left out is gone from older backups, and what was made of it, forgotten or not."""
    store = tmp_path / "store"
    with opened(store) as memory:
        memory.replace_session("s", [("user", f"My word is {SECRET}."), ("user", "I live in Lisbon.")])
        memory.consolidate()
        backup(store, tmp_path / "backup")
        memory.replace_session("s", [("user", "I live in Lisbon.")])
        if forgotten:
            memory.forget(session_id="s")
    leave(store, left)

    report = restore(tmp_path / "backup", store)

    assert report.knew == ("audit" if left == "audit" else "store")
    assert report.doubtful == {}
    assert files_with(store, SECRET) == []
    with opened(store) as memory:
        assert [message.content for message in memory.messages("s")] == ([] if forgotten else ["I live in Lisbon."])
    assert verify(store).is_sound


@pytest.mark.parametrize("id", ["a", "other"])
def test_what_was_sent_again_stays_in_a_backup(tmp_path: Path, id: str) -> None:
    """A turn that went with one transcript and came with the next is restored, under its id of then; no other one."""
    store = FolderStore(tmp_path / "store")
    store.commit("u", [said("a", "one"), said("b", "ok", minute=1), said("c", "ok", minute=2)])
    backup(tmp_path / "store", tmp_path / "backup")
    store.commit("u", [], remove=["a", "b"])
    store.commit("u", [said(id, "one")])

    restore(tmp_path / "backup", tmp_path / "store")

    assert [message.id for message in FolderStore(tmp_path / "store").messages("u", "s")] == ["a", "c"]


def test_its_line_tells_the_truth(tmp_path: Path) -> None:
    """A line names each item that went, those whose ids follow from words by hashes, with all their versions."""
    store = FolderStore(tmp_path)
    store.commit("u", [said("a", "one"), said("b", "two"), known("fact", "one, or two", source_ids=("a",))])
    store.commit("u", [said("a", "one again", version=2)])

    store.commit("u", [said("c", "three")], remove=["turn:a", "fact", "nobody"])

    (entry,) = audit(tmp_path)
    assert (entry.action, entry.ids, len(entry.hashed_ids)) == ("forget", ("a",), 1)
    assert entry.counts == {"items": 2, "versions": 3}
    assert b"fact" not in (tmp_path / "AUDIT").read_bytes()


@plain_and_encrypted
def test_each_file_that_it_was_in_is_written_once(tmp_path: Path, key: bytes | None) -> None:
    """However much goes from however many segments, those are written anew once each, and no others."""
    store = FolderStore(tmp_path, segment_size=4_000, key=key)
    for n in range(60):
        store.commit("u", [said(f"m{n:02}", f"text {n} {'x' * 200}", minute=n)])
    assert len(list(tmp_path.rglob("docs.*"))) > 4
    written: list[str] = []

    def see(event: str, args: tuple[object, ...]) -> None:
        if event == "siltstone.disk" and args[0] == "after rename" and str(tmp_path) in str(args[1]):
            written.append(Path(str(args[1])).name)

    sys.addaudithook(see)
    store.commit("u", [said("new", "in their place")], remove=[f"m{n:02}" for n in (0, 1, 2, 3, 40, 41)])

    assert len(written) == len(set(written)) == 2
    assert key is not None or not any(files_with(tmp_path, f"text {n} x") for n in (0, 1, 2, 3, 40, 41))


ACTS: dict[str, Act] = {
    "replace": lambda store: store.commit("u", [said("new", "in its place")], remove=["m"]),
    "remove": lambda store: store.remove("u", ["m"]),
    "remove and refuse": lambda store: store.remove("u", ["m"], transcripts=[Refusal("s", text=f"{SECRET} m")]),
    "refuse": lambda store: store.remove("u", [], transcripts=[Refusal("s", text="never said")]),
    "forget": lambda store: store.forget("u", ["m"]),
}


@pytest.mark.parametrize("act", ACTS)
def test_an_error_behind_the_write_does_not_say_that_nothing_was_stored(tmp_path: Path, act: str) -> None:
    """Where only the audit has to wait, the error says that the rest is on disk, which it is, and the next goes on."""
    store = FolderStore(tmp_path, lock_timeout=0.05)
    store.commit("u", [said("m", f"{SECRET} m"), said("n", "stays", minute=1)])
    left = "n" if act == "refuse" else "m"
    with FileLock(str(tmp_path / "LOCK")).held(1):
        with pytest.raises(
            StoreLockedError, match=r"LOCK has been held .* is on disk, .* no need to send it again"
        ) as one:
            ACTS[act](store)
        assert "nothing was stored" not in str(one.value)
        reader = FolderStore(tmp_path, read_only=True)
        assert (reader.fetch("u", ["m"]) == [None]) is (left == "m")
        assert (reader.fetch("u", ["new"]) != [None]) is (act == "replace")
        with pytest.raises(StoreLockedError, match=r"earlier removal of this user .* so nothing was stored"):
            store.commit("u", [said("later", "later")])
        assert store.fetch("u", ["later"]) == [None]
        assert list(audit(tmp_path)) == []

    store.commit("u", [said("later", "later")])

    (entry,) = audit(tmp_path)
    assert entry.ids == (() if act == "refuse" else ("m",))
    assert bool(files_with(tmp_path, f"{SECRET} m")) is (left == "n")
    assert store.stats("u").health == ()
    assert verify(tmp_path).is_sound


def acted(folder: Path, act: str, step: int) -> bool:
    """Do something in a process that is killed at a step on disk; return whether it came to its end."""
    process = PROCESSES.Process(target=act_until, args=(folder, act, step))
    process.start()
    process.join()
    return process.exitcode == 0


@pytest.mark.parametrize("act", ACTS)
def test_killed_before_its_line_nothing_is_called_lost(tmp_path: Path, act: str) -> None:
    """Killed at any step: verify calls no line lost that the next opening writes, which it does, once."""
    untold, step, ended = 0, 0, False
    while not ended:
        folder = tmp_path / str(step)
        store = FolderStore(folder)
        store.commit("u", [said("m", f"{SECRET} m"), said("n", "stays", minute=1)])
        store.close()
        ended = acted(folder, act, step)
        reader = FolderStore(folder, read_only=True)
        happened = bool(reader.refusing("u")) if act == "refuse" else reader.fetch("u", ["m"]) == [None]
        reader.close()
        lines = len(list(audit(folder)))
        assert [finding for finding in verify(folder).findings if finding.severity == "lost"] == []
        FolderStore(folder).close()
        entries = list(audit(folder))
        assert len(entries) == happened
        assert all(entry.ids == (() if act == "refuse" else ("m",)) for entry in entries)
        assert verify(folder).is_sound
        untold += happened and not lines
        step += 2
    assert untold


def test_a_line_that_is_gone_is_still_called_lost(tmp_path: Path) -> None:
    """Of a removal that has come to its end the line must be there."""
    for act in ("remove and refuse", "refuse"):
        folder = tmp_path / act
        store = FolderStore(folder)
        store.commit("u", [said("m", f"{SECRET} m")])
        ACTS[act](store)
        store.close()
        auditfile.rewrite(str(folder), [])
        assert [finding.path for finding in verify(folder).findings if finding.severity == "lost"] == ["AUDIT"]


def twice(folder: Path, later: Sequence[Put]) -> FolderStore:
    """Back up a session in which something is said, say it again, and forget only that."""
    store = FolderStore(folder)
    store.commit("u", [said("first", "I like tea."), said("b", "ok", minute=1)])
    backup(folder, folder.with_name("backup"))
    store.commit("u", later)
    store.remove("u", [put.id for put in later], transcripts=[Refusal("s", text="I like tea.")])
    store.close()
    return store


@pytest.mark.parametrize("left", ["store", "audit", "folderless"])
def test_where_ids_alone_tell_it_is_said(tmp_path: Path, left: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two messages that say the same, the one that was not forgotten stays; without the store, that is a doubt."""
    twice(tmp_path / "store", [said("second", "I like tea.", minute=2)])
    leave(tmp_path / "store", left)

    report = restore(tmp_path / "backup", tmp_path / "store")

    assert report.doubtful == ({} if left == "store" else {"u": ("first",)})
    assert [record.id for record in FolderStore(tmp_path / "store").scan("u", Where())] == ["turn:first", "turn:b"]


def test_the_command_says_what_is_doubtful(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ids of what may have been forgotten are printed, with the command that forgets one."""
    from siltstone.cli import main

    twice(tmp_path / "store", [said("second", "I like tea.", minute=2)])
    leave(tmp_path / "store", "audit")
    with pytest.raises(SystemExit) as ended:
        main(["restore", str(tmp_path / "backup"), "--store", str(tmp_path / "store"), "--yes"])
    said_of = " ".join(capsys.readouterr().err.split())
    assert not ended.value.code
    assert "under other ids" in said_of
    assert ": first; siltstone forget ID" in said_of


def test_a_removal_that_names_nothing_is_a_doubt(tmp_path: Path) -> None:
    """Where something went that no line names, as releases before this one took it out, a restore says so."""
    FolderStore(tmp_path / "store").commit("u", [said("m", "one")])
    backup(tmp_path / "store", tmp_path / "backup")
    deed = Deed("forget", user_id="u", counts={"items": 0, "versions": 2})
    auditfile.append_locked(str(tmp_path / "store"), [deed], durable=True, timeout=1)
    assert restore(tmp_path / "backup", tmp_path / "store").knew == "part"
