"""A restore that is killed or runs while others write: they lose nothing, and nothing forgotten comes back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from items import said
from plain_and_encrypted import plain_and_encrypted
from siltstone.errors import BackendUnavailableError, StoreCorruptedError
from siltstone.protocols import Refusal
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import audit, backup, restore, verify
from writers import PROCESSES, restore_and_count, restore_until_count, write_and_forget

SECRET = "heliotrope-蓝鹊"


def filled(folder: Path, key: bytes | None) -> FolderStore:
    """Return a store of three users, and back it up."""
    store = FolderStore(folder, key=key)
    store.commit("u", [said("a", "kept", seed=1), said("b", f"{SECRET} one", seed=2)])
    store.commit("v", [said("c", f"{SECRET} two", user="v", seed=3)])
    store.commit("w", [said("d", "other", user="w", seed=4)])
    backup(folder, folder.with_name("backup"), key=key)
    store.commit("u", [said("since", "since the backup", seed=5)])
    return store


def texts(store: FolderStore, user: str) -> list[str]:
    """Return what a user finds."""
    return [m.content for s in store.sessions(user) for m in store.messages(user, s.session_id)]


def holding(folder: Path, needle: str) -> list[str]:
    """Return the files below a folder that hold a text."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and needle.encode() in path.read_bytes()]


def killed_at(folder: Path, key: bytes | None, left: int) -> None:
    """Restore in a process that is killed before that many moments of the end."""
    process = PROCESSES.Process(target=restore_until_count, args=(folder.with_name("backup"), folder, key, left))
    process.start()
    process.join()


def moments(tmp_path: Path, key: bytes | None) -> int:
    """Return how many moments a restore has."""
    folder = tmp_path / "counted" / "store"
    folder.parent.mkdir()
    filled(folder, key).close()
    seen, told = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=restore_and_count, args=(folder.with_name("backup"), folder, key, told))
    process.start()
    count: int = seen.recv()
    process.join()
    return count


@plain_and_encrypted
def test_whoever_has_the_store_open_loses_nothing_whenever_a_restore_is_killed(
    tmp_path: Path, key: bytes | None
) -> None:
    """Killed at any moment: what another process then adds stays, what it forgets and erases does not come back."""
    whole = moments(tmp_path, key)
    outcomes = set()
    for at in [*range(1, whole - 90, 101), *range(whole - 90, whole, 10)]:
        folder = tmp_path / str(at) / "store"
        folder.parent.mkdir()
        store = filled(folder, key)
        assert len(texts(store, "u")) == 3
        killed_at(folder, key, at)
        happened = "since the backup" not in texts(store, "u")
        outcomes.add(happened)
        store.commit("u", [said("after", "acknowledged afterwards", seed=6)])
        store.remove("u", ["b"], transcripts=[Refusal("s", "b", f"{SECRET} one")])
        store.remove("v", [], everything=True)
        assert texts(store, "v") == []
        for opened in (store, FolderStore(folder, key=key)):
            expected = ["kept", *([] if happened else ["since the backup"]), "acknowledged afterwards"]
            assert texts(opened, "u") == expected
            assert texts(opened, "v") == []
            assert texts(opened, "w") == ["other"]
        assert holding(folder, SECRET) == []
        assert verify(folder, key=key).is_sound
        actions = [entry.action for entry in audit(folder, key=key)]
        assert actions == [*(["restore"] if happened else []), "forget", "erase"]
        restore(folder.with_name("backup"), folder, key=key)
        assert texts(store, "u") == ["kept"]
        assert texts(store, "v") == []
        assert holding(folder, SECRET) == []
    assert outcomes == {False, True}


def test_readers_wait_for_a_restore_and_are_told_of_a_dead_one(tmp_path: Path) -> None:
    """Who only reads never sees an empty store: they find the restored one, or an error that says what to do."""
    folder = tmp_path / "store"
    store = filled(folder, None)
    reader = FolderStore(folder, read_only=True)
    assert len(texts(reader, "u")) == 3
    process = PROCESSES.Process(target=restore_until_count, args=(tmp_path / "backup", folder, None, "users"))
    process.start()
    process.join()
    with pytest.raises(BackendUnavailableError, match="open it for writing"):
        texts(reader, "u")
    with pytest.raises(BackendUnavailableError, match="open it for writing"):
        FolderStore(folder, read_only=True)
    assert [finding.path for finding in verify(folder).findings if finding.path == "restoring"]
    assert texts(store, "u") == ["kept", f"{SECRET} one"]
    assert texts(reader, "u") == ["kept", f"{SECRET} one"]
    assert verify(folder).findings == ()


def test_what_a_killed_restore_copied_goes_at_the_next_forget(tmp_path: Path) -> None:
    """The copy of a restore that never happened may hold what is forgotten: it is told of, and goes with it."""
    folder = tmp_path / "store"
    store = filled(folder, None)
    killed_at(folder, None, 60)
    assert (folder / "restoring").exists()
    assert "exposed" in {finding.severity for finding in verify(folder).findings if finding.path == "restoring"}
    store.remove("u", ["b"])
    assert not (folder / "restoring").exists()
    killed_at(folder, None, 60)
    FolderStore(folder).close()
    assert not (folder / "restoring").exists()
    assert verify(folder).findings == ()


@plain_and_encrypted
def test_restores_among_writers_lose_nothing_and_bring_nothing_back(tmp_path: Path, key: bytes | None) -> None:
    """Restored again and again while two processes add and forget: what they did after the last one stands."""
    folder = tmp_path / "store"
    filled(folder, key).close()
    notes: list[Any] = []
    for seed in range(2):
        ours, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(target=write_and_forget, args=(folder, key, seed, theirs), daemon=True)
        process.start()
        notes.append((process, ours))
    for _, ours in notes:
        assert ours.recv() == "ready"
    last = 0.0
    for _ in range(5):
        backup(folder, tmp_path / "again", key=key)
        restore(tmp_path / "again", folder, key=key)
        last = time.time()
    acknowledged, forgotten = {}, {}
    for process, ours in notes:
        ours.send("stop")
        added, removed = ours.recv()
        acknowledged |= {id: at for id, at in added.items() if at > last}
        forgotten |= removed
        process.join()
    with_them = FolderStore(folder, key=key)
    there = {m.id for s in with_them.sessions("u") for m in with_them.messages("u", s.session_id)}
    assert acknowledged
    assert forgotten
    assert {id for id in acknowledged if id not in forgotten} <= there
    assert not there.intersection(forgotten)
    again = [said(id, text, session=id[:2]) for id, text in forgotten.items()]
    assert set(with_them.commit("u", again).skipped) == set(forgotten)
    assert verify(folder, key=key).findings == ()


@pytest.mark.parametrize("how", ["gone", "empty", "cut"])
def test_an_audit_that_lost_lines_is_told_of_and_no_restore_trusts_it(tmp_path: Path, how: str) -> None:
    """What the users' documents refuse and no line names is missed; repaired, a restore says what it knows in part."""
    folder = tmp_path / "store"
    store = filled(folder, None)
    store.remove("w", ["d"])
    before = len((folder / "AUDIT").read_bytes())
    store.remove("u", ["b"], transcripts=[Refusal("s", "b", f"{SECRET} one")])
    store.compact()
    store.close()
    assert verify(folder).findings == ()
    lines = (folder / "AUDIT").read_bytes()
    (folder / "AUDIT").unlink()
    if how != "gone":
        (folder / "AUDIT").write_bytes(lines[:before] if how == "cut" else b"")
    assert ("lost", "AUDIT") in {(finding.severity, finding.path) for finding in verify(folder).findings}
    with pytest.raises(StoreCorruptedError, match="verify --repair"):
        restore(tmp_path / "backup", folder)
    assert not (folder / "restoring").exists()
    verify(folder, repair=True)
    assert verify(folder).findings == ()
    assert restore(tmp_path / "backup", folder).knew == "part"
    assert texts(FolderStore(folder), "u") == ["kept"]
    assert holding(folder, f"{SECRET} one") == []
