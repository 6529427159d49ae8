"""Several processes, several stores and several threads on one folder."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from items import asked, known, said, space, vector
from siltstone.errors import ConflictError, StoreLockedError
from siltstone.protocols import Where
from siltstone.stores.folder import FolderStore
from siltstone.stores.ram import RamStore
from writers import PROCESSES, add_some, hold_lock


def in_threads(*work: Callable[[], None]) -> None:
    """Run all at once and raise the first failure."""
    failures: list[BaseException] = []

    def guarded(act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(act,)) for act in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def user_folder(folder: Path) -> Path:
    """Return the folder of the only user."""
    (path,) = folder.glob("users/*/*")
    return path


def test_processes_take_turns_on_one_user(tmp_path: Path) -> None:
    """Four processes that write to one user at once lose nothing and double nothing; a reader sees it all."""
    reader = FolderStore(tmp_path)
    assert reader.sessions("u") == []
    processes = [PROCESSES.Process(target=add_some, args=(tmp_path, f"w{n}", "u", 40)) for n in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    for n in range(4):
        expected = [f"message {i} of w{n}" for i in range(40)]
        assert sorted(m.content for m in reader.messages("u", f"w{n}")) == sorted(expected)
    candidates = reader.candidates("u", asked("messag", seed=1))
    assert candidates.document_frequency.tolist() == [160]
    assert not np.isnan(candidates.dense).any()


def test_two_stores_on_one_folder_see_each_other(tmp_path: Path) -> None:
    """What one store acknowledged is in the next read of the other: additions, edits, vectors, removals."""
    a, b = FolderStore(tmp_path), FolderStore(tmp_path)
    for n in range(5):
        one, other = (a, b) if n % 2 else (b, a)
        one.commit("u", [said(f"m{n}", f"text {n}", minute=n)])
        assert [m.id for m in other.messages("u", "s")] == [f"m{i}" for i in range(n + 1)]
    a.commit("u", [said("m1", "edited", minute=1, version=2)])
    assert b.candidates("u", asked("edit")).document_frequency.tolist() == [1]
    b.put_vectors("u", b.pending("u", 2), np.stack([vector(0), vector(1)]))
    assert a.stats("u").pending_vectors == 3
    a.remove("u", ["m2"])
    assert b.fetch("u", ["m2"]) == [None]
    assert [m.content for m in b.messages("u", "s")] == ["text 0", "edited", "text 3", "text 4"]
    b.commit("u", [known("f", "fact", source_ids=("m0",))])
    assert [r.id for r in a.dependents("u", ["m0"])] == ["f"]
    assert a.revision("u") == b.revision("u")
    with pytest.raises(ConflictError):
        b.commit("u", [said("m1", "late", version=2)], expect={"m1": 1})
    b.remove("u", [], everything=True)
    assert a.sessions("u") == []
    a.commit("u", [said("n", "anew")])
    assert [m.content for m in b.messages("u", "s")] == ["anew"]
    b.set_fingerprint(space())
    assert a.fingerprint() == space()


def test_a_user_begun_anew_is_not_mistaken_for_the_old_one(tmp_path: Path) -> None:
    """When a user is removed and written again by another process, nothing of the old one is left in memory."""
    a, b = FolderStore(tmp_path), FolderStore(tmp_path)
    a.commit("u", [said(f"m{n}", f"old {n}", seed=n) for n in range(3)])
    assert len(b.messages("u", "s")) == 3
    a.remove("u", [], everything=True)
    a.commit("u", [said(f"m{n}", f"new {n}") for n in range(9)])
    assert [m.content for m in b.messages("u", "s")] == [f"new {n}" for n in range(9)]
    assert b.candidates("u", asked("old")).document_frequency.tolist() == [0]


def test_a_writer_that_holds_on_is_named(tmp_path: Path) -> None:
    """Waiting ends after ``lock_timeout`` with the holder's process id; killing the holder frees the user."""
    store = FolderStore(tmp_path, lock_timeout=0.2)
    store.commit("u", [said("a", "one")])
    held = tmp_path.parent / "held"
    holder = PROCESSES.Process(target=hold_lock, args=(user_folder(tmp_path) / "LOCK", held), daemon=True)
    holder.start()
    while not held.exists():
        time.sleep(0.01)
    with pytest.raises(StoreLockedError, match=f"process {holder.pid}"):
        store.commit("u", [said("b", "two")])
    assert [m.content for m in store.messages("u", "s")] == ["one"]
    store.commit("other", [said("b", "two", user="other")])
    holder.kill()
    holder.join()
    store.commit("u", [said("b", "two")])
    assert [m.content for m in store.messages("u", "s")] == ["one", "two"]


def test_a_forked_child_shares_the_folder_not_the_state(tmp_path: Path) -> None:
    """After fork, parent and child write in turn, each sees the other, and neither holds the other's lock."""
    store = FolderStore(tmp_path)
    store.commit("u", [said("a", "before", minute=0)])
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        code = 1
        try:
            store.commit("u", [said("b", "child", minute=1)])
            os.write(ready[1], b".")
            os.read(done[0], 1)
            code = int([m.content for m in store.messages("u", "s")] != ["before", "child", "parent"])
        finally:
            os._exit(code)
    os.read(ready[0], 1)
    store.commit("u", [said("c", "parent", minute=2)])
    os.write(done[1], b".")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert [m.content for m in store.messages("u", "s")] == ["before", "child", "parent"]


def test_a_child_forked_amid_a_commit_holds_no_lock(tmp_path: Path) -> None:
    """A lock that a thread held at the fork is freed when the parent is killed, though the child lives on."""
    amid, done = os.pipe(), os.pipe()
    parent = os.fork()
    if parent == 0:  # pragma: no cover
        try:
            fork_amid_a_commit(tmp_path, amid[1], done[0])
        finally:
            os._exit(1)
    child = int(os.read(amid[0], 20))
    try:
        store = FolderStore(tmp_path, lock_timeout=0.3)
        with pytest.raises(StoreLockedError):
            store.commit("u", [said("b", "while it is held")])  # the child's closing has not freed it
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        os.kill(child, 0)
        store.commit("u", [said("c", "after it is dead")])
        assert [m.content for m in store.messages("u", "s")] == ["before", "after it is dead"]
    finally:
        os.write(done[1], b".")


def fork_amid_a_commit(folder: Path, amid: int, done: int) -> None:  # pragma: no cover
    """Let a thread stop within a commit, fork, tell the child's process id, and wait."""
    store = FolderStore(folder)
    store.commit("u", [said("a", "before")])
    stopped = threading.Event()

    def stop(event: str, args: tuple[object, ...]) -> None:
        if event == "siltstone.disk" and args[0] == "before write" and threading.current_thread().name == "writer":
            stopped.set()
            time.sleep(600)

    sys.addaudithook(stop)
    threading.Thread(target=store.commit, args=("u", [said("x", "never")]), name="writer", daemon=True).start()
    stopped.wait()
    warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what this is about
    child = os.fork()
    if child == 0:
        os.read(done, 1)
        os._exit(0)
    os.write(amid, b"%d" % child)
    time.sleep(600)


@pytest.mark.parametrize("kind", ["ram", "folder"])
def test_threads_write_and_search_at_once(tmp_path: Path, kind: str) -> None:
    """With four writers and two readers nothing is lost, and no reader ever sees half of a commit."""
    store = RamStore() if kind == "ram" else FolderStore(tmp_path, durability="os")
    stop = threading.Event()

    def write(name: str) -> None:
        for n in range(60):
            pair = [
                said(f"{name}-{n}-{i}", f"common pair {i}", seed=n, minute=n % 7, session=name, version=1)
                for i in (0, 1)
            ]
            store.commit("u", pair)
            if n % 10 == 9:
                store.commit("u", [said(f"{name}-{n}-{i}", "common changed", session=name, version=2) for i in (0, 1)])

    def read() -> None:
        while not stop.is_set():
            candidates = store.candidates("u", asked("common", seed=1))
            n = len(candidates.keys)
            assert candidates.total % 2 == 0
            assert np.count_nonzero(candidates.eligible) == candidates.total == candidates.document_frequency[0]
            for links in (candidates.previous, candidates.following):
                assert ((links >= -1) & (links < n)).all()
            resolved = store.resolve("u", candidates.keys[candidates.eligible][-5:].tolist())
            assert all(record is not None for record in resolved)

    readers = [threading.Thread(target=read) for _ in range(2)]
    failures: list[str] = []
    threading.excepthook, before = lambda args: failures.append(repr(args.exc_value)), threading.excepthook
    try:
        for reader in readers:
            reader.start()
        in_threads(*(lambda name=name: write(name) for name in "abcd"))
        stop.set()
        for reader in readers:
            reader.join()
    finally:
        stop.set()
        threading.excepthook = before
    assert failures == []
    assert len(list(store.scan("u", Where()))) == 480
    for name in "abcd":
        assert len(store.messages("u", name)) == 120


def test_threads_guard_their_updates_with_versions(tmp_path: Path) -> None:
    """Of concurrent updates that expect the same version exactly one wins each round."""
    store = FolderStore(tmp_path, durability="os")
    store.commit("u", [known("counter", "0")])
    wins: list[int] = []

    def increment() -> None:
        done = 0
        while done < 20:
            (stored,) = store.fetch("u", ["counter"])
            assert stored is not None
            assert stored.record is not None
            text = str(int(stored.record.text) + 1)
            try:
                put = known("counter", text, version=stored.version + 1)
                store.commit("u", [put], expect={"counter": stored.version})
            except ConflictError:
                continue
            done += 1
            wins.append(1)

    in_threads(*[increment] * 4)
    (stored,) = store.fetch("u", ["counter"])
    assert stored is not None
    assert stored.record is not None
    assert (stored.record.text, stored.version) == ("80", 81)


def test_a_search_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    """While another thread waits for the user's lock, reading goes on."""
    store = FolderStore(tmp_path, lock_timeout=30)
    store.commit("u", [said("a", "one")])
    held = tmp_path.parent / "held-2"
    holder = PROCESSES.Process(target=hold_lock, args=(user_folder(tmp_path) / "LOCK", held), daemon=True)
    holder.start()
    while not held.exists():
        time.sleep(0.01)
    writer = threading.Thread(target=store.commit, args=("u", [said("b", "two")]))
    writer.start()
    time.sleep(0.05)
    assert store.candidates("u", asked("one")).document_frequency.tolist() == [1]
    assert writer.is_alive()
    holder.kill()
    holder.join()
    writer.join()
    assert [m.content for m in store.messages("u", "s")] == ["one", "two"]
