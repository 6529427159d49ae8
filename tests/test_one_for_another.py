"""What is left unfinished of one user never hinders another one, and what is erased makes room on a full disk."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from crash.steps import watch
from items import said
from plain_and_encrypted import plain_and_encrypted
from siltstone.errors import BackendUnavailableError
from siltstone.protocols import Refusal, Where
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import audit, backup, verify
from test_full_disk import files_limited_to
from writers import PROCESSES, die_at


def filled(folder: Path) -> FolderStore:
    """Return a store of alice, who has much, and bob, who has little; with a7, much of a file would go."""
    store = FolderStore(folder)
    words = {n: "word " * (1_000 if n == 7 else 60) for n in range(90)}
    store.commit("alice", [said(f"a{n}", f"heliotrope {n} {words[n]}", user="alice") for n in range(90)])
    store.commit("bob", [said("b", "bob's", user="bob")])
    return store


def forget_until(folder: Path, step: str) -> None:
    """Forget a message of alice's, and be killed before a step."""
    store = FolderStore(folder)
    store.messages("alice", "s")

    def tell(moment: str, name: str) -> None:
        if (moment, name) == ("before", step):
            os.kill(os.getpid(), signal.SIGKILL)

    watch(str(folder), tell)
    store.remove("alice", ["a7"], transcripts=[Refusal("s", id="a7")])


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """Return a store in which alice's removal was killed before its words left the files."""
    filled(tmp_path / "store").close()
    process = PROCESSES.Process(target=forget_until, args=(tmp_path / "store", "rename docs"))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(list((tmp_path / "store" / "unfinished").iterdir())) == 1
    return tmp_path / "store"


def log_of(folder: Path, user: str) -> Path:
    """Return a user's documents."""
    (log,) = folder.glob(f"users/*/{user}-*/docs.*.jsonl")
    return log


def test_others_live_on_beside_a_removal_that_cannot_end(unfinished: Path) -> None:
    """While alice's removal has no room, the store opens for all, is backed up, says so, and ends it later."""
    with files_limited_to(8_000):
        store = FolderStore(unfinished)
        store.commit("bob", [said("c", "more", user="bob")])
        assert len(store.messages("alice", "s")) == 89
        assert any("has not come to its end" in note for note in store.stats("bob").health)
        assert any("still in files" in note for note in store.stats("alice").health)
        store.remove("bob", ["c"])
        assert list(unfinished.rglob("*.new")) == []
    assert b"heliotrope 7 " in log_of(unfinished, "alice").read_bytes()
    store.remove("bob", ["b"])
    assert b"heliotrope 7 " not in log_of(unfinished, "alice").read_bytes()
    assert store.stats("bob").health == store.stats("alice").health == ()


@pytest.mark.parametrize("broken", ["folder for file", "folder for new", "noise", "no permission"])
def test_others_live_on_beside_a_broken_user(unfinished: Path, broken: str) -> None:
    """Whatever lies in the place of alice's documents, bob's memory opens, takes writes, and is backed up."""
    log = log_of(unfinished, "alice")
    if broken == "folder for file":
        log.unlink()
        log.mkdir()
    elif broken == "folder for new":
        log.with_name(f"{log.name}.new").unlink(missing_ok=True)
        log.with_name(f"{log.name}.new").mkdir()
    elif broken == "noise":
        log.write_bytes(os.urandom(5_000))
    else:
        log.chmod(0)
    store = FolderStore(unfinished)
    store.commit("bob", [said("c", "more", user="bob")])
    assert [m.content for m in FolderStore(unfinished).messages("bob", "s")] == ["bob's", "more"]
    store.remove("bob", [], everything=True)
    assert store.messages("bob", "s") == []


def test_a_backup_and_a_repair_go_on_beside_a_removal_that_cannot_end(unfinished: Path, tmp_path: Path) -> None:
    """Both do their work for everybody; the repair with room ends the removal."""
    log = log_of(unfinished, "alice")
    blocked = log.with_name(f"{log.name}.new")
    blocked.unlink(missing_ok=True)
    blocked.mkdir()
    assert backup(unfinished, tmp_path / "backup").users == 2
    blocked.rmdir()
    verify(unfinished, repair=True)
    assert b"heliotrope 7 " not in log.read_bytes()
    assert list((unfinished / "unfinished").iterdir()) == []


@plain_and_encrypted
def test_everything_can_be_forgotten_on_a_full_disk(tmp_path: Path, key: bytes | None) -> None:
    """Erasing needs no room but what it frees: files, words, and what is refused stays refused."""
    store = FolderStore(tmp_path, key=key)
    puts = [said(f"a{n}", f"heliotrope {n} " + "word " * 60) for n in range(90)]
    store.commit("u", puts)
    store.remove("u", ["a3"], transcripts=[Refusal("s", id="a3")])
    with files_limited_to(12_000):
        with pytest.raises(BackendUnavailableError):
            store.remove("u", ["a7"], transcripts=[Refusal("s", id="a7")])
        assert list(tmp_path.rglob("*.new")) == []
        store.remove("u", [], transcripts=[Refusal("s", id=f"a{n}") for n in range(5, 60)], everything=True)
    assert list(tmp_path.glob("trash/*")) == []
    assert b"heliotrope" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    again = FolderStore(tmp_path, key=key)
    assert set(again.commit("u", puts).skipped) == {"a3", *(f"a{n}" for n in range(5, 60))}
    assert {entry.action for entry in audit(tmp_path, key=key)} >= {"erase"}
    assert len(list(again.scan("u", Where()))) == 34


def test_a_removal_that_makes_its_own_room_survives_a_kill(tmp_path: Path) -> None:
    """Killed at any step of it, what was refused before stays refused, and the next open ends what was begun."""
    filled(tmp_path / "begin").remove("alice", ["a3", "a80"], transcripts=[Refusal("s", id=f"a{n}") for n in (3, 80)])
    for step in range(0, 200, 3):
        folder = tmp_path / str(step)
        shutil.copytree(tmp_path / "begin", folder)
        process = PROCESSES.Process(target=erase_until, args=(folder, step))
        process.start()
        process.join()
        store = FolderStore(folder)
        assert list(folder.glob("trash/*")) == []
        puts = [said(f"a{n}", "x", user="alice") for n in (3, 80)]
        assert store.commit("alice", puts).skipped == ("a3", "a80")
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        shutil.rmtree(folder)
    assert process.exitcode == 0


def erase_until(folder: Path, step: int) -> None:
    """Erase alice where no file can grow, and be killed at a change on disk."""
    store = FolderStore(folder)
    store.messages("alice", "s")
    die_at(step)
    with files_limited_to(8_000):
        store.remove("alice", [], transcripts=[Refusal("s", id=f"a{n}") for n in range(5, 60)], everything=True)
