"""Backup and restore: whole while others write, old or new after a kill, and nothing forgotten comes back."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
import sys
import threading
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from items import asked, known, said, space
from siltstone import TieredMemory
from siltstone.cli import main
from siltstone.errors import BackendUnavailableError, ConfigurationError, NotFoundError, StoreCorruptedError
from siltstone.protocols import Refusal, Where
from siltstone.stores.files import storefile
from siltstone.stores.folder import FolderStore
from siltstone.stores.maintenance import manifest
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.upkeep import audit, backup, restore, verify
from writers import PROCESSES, add_without_end, back_up_until, restore_until, restore_with_few_files

SECRET = "heliotrope-蓝鹊"


def filled(folder: Path) -> FolderStore:
    """Return a store of two users."""
    store = FolderStore(folder, segment_size=2_000)
    store.set_fingerprint(space())
    for n in range(20):
        store.commit("u", [said(f"m{n:02}", f"text {n} 深圳 " + "x" * 100, minute=n, seed=n)])
    store.commit("u", [said("s", f"the word is {SECRET}", session="t", seed=77), known("f", SECRET, seed=78)])
    store.commit("v", [said("m", "another user", user="v", seed=1)])
    return store


def contents(folder: Path, *users: str) -> dict[str, list[tuple[str, str]]]:
    """Return what users find in a store, by user, and check that it is sound."""
    store = FolderStore(folder)
    found = {}
    for user in users or tuple(store.users()):
        found[user] = [(record.id, record.text) for record in store.scan(user, Where())]
        candidates = store.candidates(user, asked(seed=1))
        assert np.count_nonzero(candidates.eligible) == len(found[user])
        assert store.stats(user).pending_vectors == 0
        assert store.stats(user).health == ()
    store.close()
    return found


def files_with(folder: Path, needle: str) -> list[str]:
    """Return the files below a folder that hold a text."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and needle.encode() in path.read_bytes()]


def test_a_backup_restores_to_what_was(tmp_path: Path) -> None:
    """Restored to an empty folder, a backup holds every record with its vector; it has no caches."""
    filled(tmp_path / "store").close()
    report = backup(tmp_path / "store", tmp_path / "backup")
    assert (report.users, report.damaged, report.files) == (2, (), report.copied)
    names = {path.name for path in (tmp_path / "backup").rglob("*") if path.is_file()}
    assert not {name for name in names if name == "cache" or name.endswith(".new")}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "backup").rglob("*"))
    restored = restore(tmp_path / "backup", tmp_path / "again")
    assert (restored.users, restored.forgotten, restored.erased, restored.knew) == (2, 0, (), "nothing")
    assert contents(tmp_path / "again") == contents(tmp_path / "store")
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == ["AUDIT", "LOCK", "STORE", "users"]
    assert [entry.action for entry in audit(tmp_path / "again")] == ["restore"]


def test_a_second_backup_copies_only_what_has_changed(tmp_path: Path) -> None:
    """Files that were not written to since are kept, and what no backup needs any more is removed."""
    store = filled(tmp_path / "store")
    first = backup(tmp_path / "store", tmp_path / "backup")
    assert first.files > 5
    time.sleep(2.1)  # files changed just before the first backup are copied again: their times could not tell
    backup(tmp_path / "store", tmp_path / "backup")
    store.commit("v", [said("n", "later", user="v", seed=2)])
    report = backup(tmp_path / "store", tmp_path / "backup")
    assert (report.files, report.copied) == (first.files, 2)
    store.remove("u", ["s", "f"])
    backup(tmp_path / "store", tmp_path / "backup")
    assert files_with(tmp_path / "backup", SECRET) == []
    named = {copy.path for entry in manifest.read(str(tmp_path / "backup")) for copy in entry.copies}
    held = {str(path.relative_to(tmp_path / "backup")) for path in (tmp_path / "backup").rglob("*") if path.is_file()}
    assert held == named | {"MANIFEST", "LOCK"}
    restore(tmp_path / "backup", tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "store")


@pytest.mark.parametrize("how", ["damaged", "gone"])
def test_a_backup_is_checked_and_does_not_rely_on_a_damaged_copy(tmp_path: Path, how: str) -> None:
    """A file of an earlier run that is not what was copied is told by ``verify``, and the next run copies it anew."""
    target = tmp_path / "backup"
    filled(tmp_path / "store").close()
    backup(tmp_path / "store", target)
    time.sleep(2.1)  # files changed just before a backup are copied again anyway
    first = backup(tmp_path / "store", target)
    report = verify(target)
    assert (report.users, report.findings) == (2, ())
    (copied,) = target.rglob("u-*/docs.000001.jsonl")
    if how == "damaged":
        copied.write_bytes(copied.read_bytes().replace(b"text 1 ", b"text 7 "))
    else:
        copied.unlink()
    left = copied.with_name("left")
    left.touch()
    found = {(finding.severity, finding.path) for finding in verify(target, repair=True).findings}
    assert found == {("lost", str(copied.relative_to(target))), ("cosmetic", str(left.relative_to(target)))}
    again = backup(tmp_path / "store", target)
    assert (again.copied, again.files) == (1, first.files)
    assert verify(target).findings == ()
    restore(target, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "store")
    (target / "MANIFEST").write_bytes((target / "MANIFEST").read_bytes()[:-9])
    assert [finding.path for finding in verify(target).findings] == ["MANIFEST"]


def test_a_restore_needs_no_open_file_for_each_user(tmp_path: Path) -> None:
    """Where a process may have few files open, a store of more users than that is restored while it is in use."""
    store = FolderStore(tmp_path / "store", durability="os")
    for n in range(450):
        store.commit(f"u{n}", [said("m", "kept", user=f"u{n}")])
    backup(tmp_path / "store", tmp_path / "backup")
    store.commit("u7", [said("since", "since the backup", user="u7")])
    process = PROCESSES.Process(target=restore_with_few_files, args=(tmp_path / "backup", tmp_path / "store", 400))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert [record.id for record in store.scan("u7", Where())] == ["turn:m"]
    assert len(list(store.users())) == 450


def test_a_backup_is_whole_while_three_processes_write(tmp_path: Path) -> None:
    """Everything acknowledged before the backup began is in it, and each commit whole or not at all."""
    notes = [tmp_path / f"notes-{n}" for n in range(3)]
    writers = [
        PROCESSES.Process(target=add_without_end, args=(tmp_path / "store", note.name, note), daemon=True)
        for note in notes
    ]
    for process in writers:
        process.start()
    try:
        for round in range(5):
            deadline = time.monotonic() + 60
            while not all(n.exists() and n.read_bytes().count(b"\n") > 30 * round for n in notes):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            acknowledged = {id for note in notes for id in note.read_text().split("\n")[:-1]}
            assert backup(tmp_path / "store", tmp_path / "backup").damaged == ()
            restore(tmp_path / "backup", tmp_path / f"again-{round}")
            store = FolderStore(tmp_path / f"again-{round}")
            held = {m.id for session in store.sessions("u") for m in store.messages("u", session.session_id)}
            assert acknowledged <= held
            for note in notes:
                numbers = {int(str(id).rsplit("-", 1)[1]) for id in held if str(id).startswith(note.name)}
                n = 0
                while n in numbers:
                    assert numbers.issuperset(range(n, n + 1 + n % 3))
                    n += 1 + n % 3
                assert max(numbers) < n
            assert store.stats("u").health == ()
    finally:
        for process in writers:
            process.kill()
            process.join()


@pytest.mark.parametrize("left", ["store", "audit"])
def test_what_was_forgotten_since_does_not_come_back(tmp_path: Path, left: str) -> None:
    """Restored over its store, or over the audit that is left of it, a backup brings nothing forgotten back."""
    store = filled(tmp_path / "store")
    backup(tmp_path / "store", tmp_path / "backup")
    store.remove("u", ["s", "f"], transcripts=[Refusal("t", "s", f"the word is {SECRET}")])
    store.remove("v", [], transcripts=[Refusal("s", "m", "another user")], everything=True)
    store.commit("u", [said("new", "since the backup")])
    store.close()
    if left == "audit":
        for path in (tmp_path / "store").iterdir():
            if path.name != "AUDIT":
                path.rename(tmp_path / f"gone-{path.name}")
    report = restore(tmp_path / "backup", tmp_path / "store")
    assert (report.forgotten, report.erased, report.knew) == (2, ("v",), left)
    assert [entry.action for entry in audit(tmp_path / "store")] == ["forget", "erase", "restore"]
    assert files_with(tmp_path / "store", SECRET) == files_with(tmp_path / "store", "another user") == []
    again = FolderStore(tmp_path / "store")
    assert [record.id for record in again.scan("u", Where())] == [f"turn:m{n:02}" for n in range(20)]
    assert not again.candidates("u", asked("heliotrop", "蓝鹊")).document_frequency.any()
    assert list(again.scan("v", Where())) == []
    assert again.commit("u", [said("s", "x", session="t")]).skipped == ("s",)
    assert again.commit("v", [said("other", "Another  user", user="v")]).skipped == ("other",)
    assert files_with(tmp_path / "backup", SECRET)  # until the next backup into it


@pytest.mark.parametrize("everything", [False, True])
def test_what_is_forgotten_while_a_backup_is_taken_does_not_come_back(tmp_path: Path, everything: bool) -> None:
    """Forgotten behind the copy of the user, it stands in the audit of the backup: restored elsewhere, it is gone."""
    store = filled(tmp_path / "store")
    *_, last = sorted((tmp_path / "store").glob("users/*/u-*/docs.*"))
    assert SECRET.encode() in last.read_bytes()
    done: list[str] = []

    def forget(event: str, args: tuple[object, ...]) -> None:
        copying = event == "siltstone.disk" and args[0] == "before write" and "/backup/" in str(args[1])
        if copying and str(args[1]).endswith(f"/{last.parent.name}/{last.name}") and not done:
            done.append("begun")
            refused = [Refusal("t", "s", f"the word is {SECRET}")]
            store.remove("u", ["s", "f"], transcripts=refused, everything=everything)

    sys.addaudithook(forget)
    backup(tmp_path / "store", tmp_path / "backup")
    assert done
    assert files_with(tmp_path / "backup", SECRET)
    restored = restore(tmp_path / "backup", tmp_path / "again")
    assert (restored.knew, restored.erased) == ("nothing", ("u",) if everything else ())
    assert files_with(tmp_path / "again", SECRET) == []
    assert verify(tmp_path / "again").is_sound
    again = FolderStore(tmp_path / "again")
    assert len(list(again.scan("u", Where()))) == (0 if everything else 20)
    assert again.commit("u", [said("s", f"the word is {SECRET}", session="t")]).skipped == ("s",)


def test_where_nothing_is_left_everything_comes_back(tmp_path: Path) -> None:
    """Without the store and its audit nothing tells what was forgotten since, and the report says so."""
    store = filled(tmp_path / "store")
    backup(tmp_path / "store", tmp_path / "backup")
    before = contents(tmp_path / "store")
    store.remove("u", ["s", "f"])
    assert restore(tmp_path / "backup", tmp_path / "elsewhere").knew == "nothing"
    assert contents(tmp_path / "elsewhere") == before


def test_a_user_who_came_back_is_restored_as_they_were_then(tmp_path: Path) -> None:
    """An erasure before a backup takes nothing out of it: what the user wrote afterwards is theirs."""
    store = filled(tmp_path / "store")
    store.remove("v", [], everything=True)
    store.commit("v", [said("back", "here again", user="v", seed=3)])
    backup(tmp_path / "store", tmp_path / "backup")
    store.commit("v", [said("later", "later", user="v", seed=4)])
    assert restore(tmp_path / "backup", tmp_path / "store").erased == ()
    assert contents(tmp_path / "store", "v") == {"v": [("turn:back", "here again")]}
    store.remove("v", [], everything=True)
    assert restore(tmp_path / "backup", tmp_path / "store").erased == ("v",)
    assert contents(tmp_path / "store", "v") == {"v": []}


def test_open_stores_turn_to_what_was_restored(tmp_path: Path) -> None:
    """Processes that have the store open find the restored one at their next read, and go on writing there."""
    store, other = filled(tmp_path / "store"), FolderStore(tmp_path / "store")
    assert len(list(other.scan("u", Where()))) == 22
    backup(tmp_path / "store", tmp_path / "backup")
    store.commit("u", [known("g", "since")])
    store.remove("u", ["s"])
    restore(tmp_path / "backup", tmp_path / "store")
    for opened in (store, other):
        assert len(list(opened.scan("u", Where()))) == (21 if opened is store else 22)
        opened.commit("u", [known("h", "afterwards", version=1 if opened is store else 2)])
        assert [r.text for r in opened.scan("u", Where(kinds=("fact",)))] == [SECRET, "afterwards"]
    store.remove("u", ["f"])
    assert files_with(tmp_path / "store", SECRET) == []


def test_a_restore_waits_for_whoever_writes(tmp_path: Path) -> None:
    """A removal during which a restore begins comes to its end first, and what it removed does not come back."""
    store = filled(tmp_path / "store")
    backup(tmp_path / "store", tmp_path / "backup")
    restoring = threading.Thread(target=restore, args=(tmp_path / "backup", tmp_path / "store"))

    def begin(event: str, args: tuple[object, ...]) -> None:
        if (
            restoring.ident is None
            and event == "siltstone.disk"
            and args[0] == "after write"
            and "docs." in str(args[1])
        ):
            restoring.start()
            restoring.join(0.5)  # it waits for us by then, or will

    sys.addaudithook(begin)
    store.remove("u", ["s", "f"])
    restoring.join()
    assert verify(tmp_path / "store").is_sound
    for opened in (store, FolderStore(tmp_path / "store")):
        assert [record.id for record in opened.scan("u", Where())] == [f"turn:m{n:02}" for n in range(20)]
    assert files_with(tmp_path / "store", SECRET) == []


def test_a_killed_backup_is_never_taken_for_a_whole_one(tmp_path: Path) -> None:
    """Killed at any step, a backup leaves the one before, or none, or the new one."""
    store = filled(tmp_path / "store")
    old = contents(tmp_path / "store")
    backup(tmp_path / "store", tmp_path / "first")
    store.commit("u", [known("g", "since", seed=5)])
    store.close()
    new = contents(tmp_path / "store")
    outcomes = []
    for target, step in [("first", n) for n in range(3, 300, 29)] + [("empty", n) for n in range(0, 300, 29)]:
        process = PROCESSES.Process(target=back_up_until, args=(tmp_path / "store", tmp_path / target, step))
        process.start()
        process.join()
        place = tmp_path / f"{target}-{step}"
        try:
            restore(tmp_path / target, place)
            outcomes.append((target, contents(place)))
        except NotFoundError:
            assert target == "empty"
            outcomes.append((target, {}))
        if process.exitcode == 0:
            backup(tmp_path / "store", tmp_path / target)
    assert all(found in (old, new) if target == "first" else found in ({}, new) for target, found in outcomes)
    assert {("first", found == new) for target, found in outcomes if target == "first"} == {
        ("first", True),
        ("first", False),
    }


def test_a_killed_restore_has_happened_or_not(tmp_path: Path) -> None:
    """Killed at any step, a restore leaves the store as it was or the backup, once it is opened, and can run again."""
    outcomes, step, ended = [], 0, False
    while not ended:
        folder, kept = tmp_path / f"store-{step}", tmp_path / f"backup-{step}"
        store = FolderStore(folder)
        store.commit("u", [said("a", "kept", seed=1), said("b", SECRET, seed=2), said("c", "not since", seed=3)])
        store.commit("v", [said("m", "other", user="v", seed=1)])
        backup(folder, kept)
        store.remove("u", ["b"])
        store.commit("u", [said("d", "since", seed=4)])
        store.close()
        process = PROCESSES.Process(target=restore_until, args=(kept, folder, step))
        process.start()
        process.join()
        ended = process.exitcode == 0
        found = contents(folder, "u", "v")
        assert found["v"] == [("turn:m", "other")]
        texts = [text for _, text in found["u"]]
        assert texts in (["kept", "not since", "since"], ["kept", "not since"])
        actions = [entry.action for entry in audit(folder)]
        assert actions == (["forget"] if len(texts) == 3 else ["forget", "restore"])
        assert files_with(folder / "users", SECRET) == []
        outcomes.append(len(texts))
        if step % 4 == 0:
            restore(kept, folder)
            assert [text for _, text in contents(folder)["u"]] == ["kept", "not since"]
            assert files_with(folder, SECRET) == []
        step += 9
    assert set(outcomes) == {2, 3}


@pytest.mark.parametrize("act", ["read", "list", "write"])
def test_a_store_that_was_open_ends_a_killed_restore(act: str, tmp_path: Path) -> None:
    """Killed when the old users had left their place and the new ones were not in it, it costs no open store a word."""
    folder = tmp_path / "store"
    store, reader = FolderStore(folder), FolderStore(folder, read_only=True)
    store.commit("u", [known("f", "one")])
    assert len(list(reader.scan("u", Where()))) == 1
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy").rename(folder / "restoring")
    storefile.write(str(folder), dataclasses.replace(storefile.read(str(folder)), restoring=True))
    (folder / "trash").mkdir()
    (folder / "users").rename(folder / "trash" / "0000")
    for user in ("u", "another"):
        with pytest.raises(BackendUnavailableError, match="open it for writing"):
            list(reader.scan(user, Where()))
    if act == "read":
        assert [record.text for record in store.scan("u", Where())] == ["one"]
    elif act == "list":
        assert list(store.users()) == ["u"]
    else:
        store.commit("u", [known("g", "two")])
        store.commit("v", [known("h", "three", user="v")])
    assert not (folder / "restoring").exists()
    store.close()
    again = FolderStore(folder)
    texts = [record.text for user in ("u", "v") for record in again.scan(user, Where())]
    assert texts == (["one", "two", "three"] if act == "write" else ["one"])
    again.close()


def test_only_a_place_of_its_own_is_restored_to(tmp_path: Path) -> None:
    """A folder of something else, another store, a store inside its backup: refused, and nothing is changed."""
    filled(tmp_path / "store").close()
    backup(tmp_path / "store", tmp_path / "backup")
    FolderStore(tmp_path / "other").commit("u", [known("f", "other")])
    with pytest.raises(ConfigurationError, match="something else"):
        restore(tmp_path / "backup", tmp_path / "other")
    assert contents_of_other(tmp_path / "other") == ["other"]
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(ConfigurationError, match="something else"):
        restore(tmp_path / "backup", tmp_path / "photos")
    with pytest.raises(ConfigurationError, match="no backup"):
        backup(tmp_path / "store", tmp_path / "photos")
    with pytest.raises(ConfigurationError, match="another store"):
        backup(tmp_path / "other", tmp_path / "backup")
    with pytest.raises(ConfigurationError, match="in one another"):
        backup(tmp_path / "store", tmp_path / "store" / "backup")
    with pytest.raises(NotFoundError):
        restore(tmp_path / "photos", tmp_path / "new")
    with pytest.raises(NotFoundError):
        backup(tmp_path / "nothing", tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "photos").iterdir()) == ["cat.jpg"]


def contents_of_other(folder: Path) -> list[str]:
    """Return the texts of a user."""
    return [record.text for record in FolderStore(folder).scan("u", Where())]


def test_a_damaged_backup_is_refused(tmp_path: Path) -> None:
    """A byte that was changed in any file of a backup stops the restore before anything is touched."""
    filled(tmp_path / "store").close()
    backup(tmp_path / "store", tmp_path / "backup")
    before = contents(tmp_path / "store")
    for path in sorted((tmp_path / "backup").rglob("*")):
        if path.is_file() and path.name != "LOCK":
            whole = path.read_bytes()
            at = len(whole) // 2
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            with pytest.raises(StoreCorruptedError, match="nothing was changed"):
                restore(tmp_path / "backup", tmp_path / "store")
            path.write_bytes(whole)
    assert contents(tmp_path / "store") == before
    restore(tmp_path / "backup", tmp_path / "store")
    assert contents(tmp_path / "store") == before


def test_a_restore_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    """Whichever step on a full disk it fails at: no new folder stays, and a store that was there opens as before."""
    store = filled(tmp_path / "store")
    backup(tmp_path / "store", tmp_path / "backup")
    restored = contents(tmp_path / "store")
    store.commit("u", [known("g", "since the backup", seed=9)])
    store.close()
    before = contents(tmp_path / "store")
    left = -1

    def fail(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        if event == "siltstone.disk" and str(args[0]) in ("before write", "before rename", "before mkdir"):
            left -= 1
            if left == 0:
                raise BackendUnavailableError("no room left")

    sys.addaudithook(fail)
    failed = {"new": 0, "store": 0}
    for target, step in [(name, n) for name in failed for n in range(1, 120, 13)]:
        folder = tmp_path / "above" / target if target == "new" else tmp_path / "store"
        left = step
        try:
            restore(tmp_path / "backup", folder)
        except BackendUnavailableError:
            failed[target] += 1
            left = -1
            if storefile.exists(str(folder)):  # it failed when it had happened, or not at all
                assert contents(folder) in ((before, restored) if target == "store" else (restored,))
            else:
                assert not folder.parent.exists()
            assert not (folder / "restoring").exists()
        left = -1
        shutil.rmtree(tmp_path / "above", ignore_errors=True)
        if contents(tmp_path / "store") != before:
            shutil.rmtree(tmp_path / "store")
            restore(tmp_path / "backup", tmp_path / "store")
            with closing(FolderStore(tmp_path / "store")) as again:
                again.commit("u", [known("g", "since the backup", seed=9)])
    assert min(failed.values()) > 2


@pytest.mark.parametrize("harm", ["damaged", "emptied", "deleted"])
def test_a_damaged_store_does_not_replace_a_good_backup(tmp_path: Path, harm: str) -> None:
    """Where documents do not check or are gone, an earlier backup stays as it is; another folder takes the copy."""
    filled(tmp_path / "store").close()
    backup(tmp_path / "store", tmp_path / "backup")
    good = {path: path.read_bytes() for path in (tmp_path / "backup").rglob("*") if path.is_file()}
    before = contents(tmp_path / "store")
    for path in (tmp_path / "store").glob("users/*/u-*/docs.*"):
        whole = path.read_bytes()
        if harm == "damaged":
            path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
        elif harm == "emptied":
            path.write_bytes(b"")
        else:
            path.unlink()
    with pytest.raises(StoreCorruptedError, match="siltstone verify first, or back up into another folder"):
        backup(tmp_path / "store", tmp_path / "backup")
    assert {path: path.read_bytes() for path in (tmp_path / "backup").rglob("*") if path.is_file()} == good
    backup(tmp_path / "store", tmp_path / "another")
    restore(tmp_path / "backup", tmp_path / "store")
    assert contents(tmp_path / "store") == before


def test_the_commands_back_up_and_restore(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``siltstone backup`` and ``restore`` say what they did; over a store ``restore`` asks first."""
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    filled(tmp_path / "store").close()
    at = ["--store", str(tmp_path / "store")]
    assert run("backup", str(tmp_path / "backup"), *at) == 0
    assert "2 users" in capsys.readouterr().out
    assert run("backup", str(tmp_path / "backup"), "--json", *at) == 0
    assert json.loads(capsys.readouterr().out)["users"] == 2
    capsys.readouterr()
    assert run("restore", str(tmp_path / "none"), *at) == 1
    assert "Go on?" not in capsys.readouterr().err  # nothing to restore, nothing to ask
    assert run("restore", str(tmp_path / "backup"), *at) == 1
    assert f"the backup of {datetime.now():%Y-}" in capsys.readouterr().err
    assert run("restore", str(tmp_path / "backup"), "--yes", *at) == 0
    assert run("restore", str(tmp_path / "backup"), "--json", "--store", str(tmp_path / "new")) == 0
    printed = capsys.readouterr()
    assert '"knew": "nothing"' in printed.out
    assert "comes back" in printed.err
    assert run("restore", str(tmp_path / "none"), "--store", str(tmp_path / "new")) == 1
    (tmp_path / "left").mkdir()
    shutil.copy(tmp_path / "store" / "AUDIT", tmp_path / "left")  # what is left of a store is replaced by nobody
    assert run("restore", str(tmp_path / "backup"), "--store", str(tmp_path / "left")) == 0


def run(*args: str) -> int:
    """Run a command and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(args)
    return int(ended.value.code or 0)


@pytest.mark.parametrize("place", [".", "000001", "000001/users", "new", ".."])
def test_a_restore_into_its_own_backup_is_refused(tmp_path: Path, place: str) -> None:
    """Into the backup's folder, or one inside or around it, nothing is restored; the backup stays whole."""
    filled(tmp_path / "store").close()
    target = tmp_path / "around" / "backup"
    backup(tmp_path / "store", target)
    before = {path: path.read_bytes() for path in (tmp_path / "around").rglob("*") if path.is_file()}
    (tmp_path / "link").symlink_to(target)
    for source in (target, tmp_path / "link"):
        with pytest.raises(ConfigurationError, match="in one another; nothing was changed"):
            restore(source, target / place)
    assert {path: path.read_bytes() for path in (tmp_path / "around").rglob("*") if path.is_file()} == before
    assert verify(target).findings == ()


def test_a_run_of_a_backup_is_no_store_to_write_to(tmp_path: Path) -> None:
    """What looks like a store inside a backup can be opened to read, and is not opened to write."""
    filled(tmp_path / "store").close()
    backup(tmp_path / "store", tmp_path / "backup")
    run = tmp_path / "backup" / "000001"
    with pytest.raises(ConfigurationError, match="siltstone restore"):
        FolderStore(run)
    with closing(FolderStore(run, read_only=True)) as store:
        assert set(store.users()) == {"u", "v"}
    assert verify(tmp_path / "backup").findings == ()


CANARY = "heliotrope"


def opened(folder: Path) -> TieredMemory:
    """Open a memory with models that cost nothing."""
    return TieredMemory.open(folder, embedder=HashEmbedder(), token_counter=WordCounter())


@pytest.mark.parametrize("sent_again", [True, False], ids=["sent again", "still gone"])
def test_what_was_forgotten_under_another_id_does_not_come_back(tmp_path: Path, sent_again: bool) -> None:
    """A turn that was replaced, sent again with a new id, and forgotten, is not restored under the id that it had."""
    store, target = tmp_path / "store", tmp_path / "backup"
    word, bees = ("user", f"My word is {CANARY}"), ("user", "I keep bees")
    with opened(store) as memory:
        ids = memory.add([word, bees], session_id="t")
        noted = memory.remember("A note of it.", source_ids=ids[:1])
    backup(store, target)
    with opened(store) as memory:
        memory.replace_session("t", [bees])
        if sent_again:
            memory.forget(ids=memory.replace_session("t", [word, bees])[:1])
        else:
            memory.forget(ids=ids[:1])
            assert noted not in {record.id for record in memory.records()}
    restore(target, store)
    with opened(store) as memory:
        assert [message.content for message in memory.messages("t")] == ["I keep bees"]
        assert CANARY not in str(memory.search("word"))
    assert not [path for path in store.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
