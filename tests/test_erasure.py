"""Removal from the store: no file keeps the words or their vector, and a kill in between is made up for."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import numpy as np
import pytest

from items import asked, known, said, vector
from siltstone.errors import BackendUnavailableError
from siltstone.protocols import Refusal, Where
from siltstone.stores.folder import FolderStore
from writers import PROCESSES, die_at

CANARY = "heliotrope-蓝鹊"


def files_with(folder: Path, *needles: bytes) -> list[str]:
    """Return the files below a folder that hold one of the byte strings."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(needle in path.read_bytes() for needle in needles)]


def traces(seed: int) -> tuple[bytes, ...]:
    """Return the canary's text in UTF-8 and UTF-16, and its vector."""
    half = vector(seed).astype(np.float16).tobytes()
    return CANARY.encode(), CANARY.encode("utf-16-le"), CANARY.encode("utf-16-be"), half


def with_canary(folder: Path) -> FolderStore:
    """Return a store where the canary is in a message, in a version that was replaced, and in metadata."""
    store = FolderStore(folder)
    store.commit("u", [said("m1", "before", seed=1), said("m2", f"the word is {CANARY}", seed=77), said("m3", "after")])
    store.commit("u", [known("f", f"word: {CANARY}", seed=77)])
    store.commit("u", [known("f", "nothing", seed=3, version=2), known("g", "x", metadata={"word": CANARY})])
    store.commit("u", [said("m4", "last", seed=4, session=CANARY, name=CANARY)])
    return store


def test_no_file_keeps_what_was_removed(tmp_path: Path) -> None:
    """Text, older versions, metadata, names and vectors are in no file when remove returns, nor after close."""
    store = with_canary(tmp_path)
    assert files_with(tmp_path, *traces(77))
    store.remove("u", ["m2", "f", "g", "m4"], transcripts=[Refusal("s", text=f"the word is {CANARY}")])
    assert files_with(tmp_path, *traces(77)) == []
    assert [m.content for m in store.messages("u", "s")] == ["before", "after"]
    store.close()
    assert files_with(tmp_path, *traces(77)) == []
    again = FolderStore(tmp_path)
    assert [r.text for r in again.scan("u", Where())] == ["before", "after"]
    assert again.candidates("u", asked(seed=1)).dense[0] == pytest.approx(1, abs=1e-3)
    assert again.stats("u").health == ()
    assert again.commit("u", [said("n", f"The word is  {CANARY}")]).skipped == ("n",)
    assert files_with(tmp_path, *traces(77)) == []


def test_no_file_keeps_a_removed_user(tmp_path: Path) -> None:
    """With everything, the user's folder is gone."""
    store = with_canary(tmp_path)
    store.remove("u", [], everything=True)
    assert files_with(tmp_path, *traces(77)) == []
    assert list(tmp_path.glob("users/*/*")) == []


def test_damaged_pieces_go_with_the_next_removal(tmp_path: Path) -> None:
    """Bytes that cannot be read may hold the words: what is unreadable goes when something is removed."""
    store = with_canary(tmp_path)
    store.close()
    (log,) = tmp_path.rglob("docs.*.jsonl")
    data = log.read_bytes()
    log.write_bytes(data.replace(b'"i":"m2"', b'"i":"m!"'))
    store = FolderStore(tmp_path)
    assert store.stats("u").health
    assert files_with(tmp_path, CANARY.encode())
    store.remove("u", ["m2", "f", "g", "m4"])
    assert files_with(tmp_path, *traces(77)[:3]) == []


def test_other_processes_go_on_reading_through_a_removal(tmp_path: Path) -> None:
    """A store that had everything in memory finds the rest at its new places, and the removed nowhere."""
    store = FolderStore(tmp_path)
    store.commit("u", [said(f"m{n:03}", f"text {n}", minute=n, seed=n) for n in range(200)])
    other = FolderStore(tmp_path)
    assert len(other.messages("u", "s")) == 200
    store.remove("u", [f"m{n:03}" for n in range(0, 200, 2)])
    store.commit("u", [said("n", "new", minute=500)])
    assert [m.content for m in other.messages("u", "s")] == [*(f"text {n}" for n in range(1, 200, 2)), "new"]
    assert other.stats("u").health == ()
    assert other.candidates("u", asked("text")).document_frequency.tolist() == [100]


def erase_until(folder: Path, step: int) -> None:
    """Remove everything of a user, and die at a step on disk."""
    store = FolderStore(folder)
    store.messages("u", "s")
    die_at(step)
    store.remove("u", [], transcripts=[Refusal("s", id="m2", text="second")], everything=True)


@pytest.mark.slow
def test_a_killed_removal_of_a_user_lets_nothing_back_in(tmp_path: Path) -> None:
    """Killed at any step, what was forgotten is refused by a store that was open all along, and by the next opening."""
    outcomes = set()
    for step in range(200):
        folder = tmp_path / str(step)
        store = FolderStore(folder)
        store.commit("u", [said("m1", "first"), said("m2", "second"), said("m3", "third")])
        store.remove("u", ["m1"], transcripts=[Refusal("s", id="m1", text="first")])
        process = PROCESSES.Process(target=erase_until, args=(folder, step))
        process.start()
        process.join()
        gone = store.messages("u", "s") == []
        again = [said("m1", "x"), said("n", "First"), *([said("m2", "y"), said("o", "Second")] if gone else [])]
        assert store.commit("u", again).skipped == tuple(put.id for put in again)
        reopened = FolderStore(folder)
        assert reopened.commit("u", again).skipped == tuple(put.id for put in again)
        assert len(reopened.messages("u", "s")) == (0 if gone else 2)
        assert list(folder.glob("trash/*")) == []
        outcomes.add((process.exitcode, gone))
        if process.exitcode == 0:
            break
    assert outcomes == {(-9, False), (-9, True), (0, True)}


def test_words_that_cannot_be_deleted_are_reported(tmp_path: Path) -> None:
    """Removing a user raises while the disk keeps a file, deletes the others, and the next removal or open ends it."""
    stuck: list[str] = []

    def watch(event: str, args: tuple[object, ...]) -> None:
        if event == "os.remove" and any(name in str(args[0]) for name in stuck):
            raise OSError(errno.EBUSY, "in use")

    sys.addaudithook(watch)
    for finish in ("removal", "removal of another user", "open"):
        folder = tmp_path / finish
        store = with_canary(folder)
        vectors = [path.name for path in folder.rglob("vectors.*")]
        stuck[:] = [f"{folder}/trash/"] if finish == "open" else vectors
        with pytest.raises(BackendUnavailableError, match="trash"):
            store.remove("u", [], everything=True)
        assert store.messages("u", "s") == []
        assert files_with(folder, *traces(77))
        if finish != "open":
            assert files_with(folder, *traces(77)[:3]) == []
        assert any("could not be deleted" in note for note in store.stats("u").health)
        with pytest.raises(BackendUnavailableError):
            store.remove("u", [], everything=True)
        reopened = FolderStore(folder)
        assert any("could not be deleted" in note for note in reopened.stats("u").health)
        stuck.clear()
        if finish == "removal":
            store.remove("u", [], everything=True)
        elif finish == "open":
            store = FolderStore(folder)
        else:
            store.remove("v", ["nothing"])
        assert list((folder / "trash").iterdir()) == []
        assert files_with(folder, *traces(77)) == []
        assert store.stats("u").health == ()
