"""Migrations: numbered steps that change files after a copy, and leave the old or the new whatever happens."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from items import known, said
from siltstone.errors import BackendUnavailableError, ReadOnlyError, StoreVersionError
from siltstone.protocols import Where
from siltstone.stores.encryption.cipher import Keys
from siltstone.stores.files import disk, storefile
from siltstone.stores.files.frames import Frame, frame, scan
from siltstone.stores.folder import FolderStore
from siltstone.stores.migrations.run import FOLDER, STEPS, migrate
from siltstone.stores.migrations.step import Step
from writers import PROCESSES, die_at

OLD, NEW = "老地方", "新地方!"


def documents(root: str) -> Iterable[str]:
    """Return the files of all users' documents."""
    return sorted(str(path.relative_to(root)) for path in Path(root).glob("users/*/*/docs.*.jsonl"))


def rename_words(root: str, keys: Keys) -> None:
    """Change a word in every document, in place and in small writes: nothing is safe but the copy."""
    for path in documents(root):
        file = disk.File(f"{root}/{path}", write=True)
        found = [piece for piece in scan(file.read(0, file.size)) if isinstance(piece, Frame)]
        file.truncate(0)
        at = 0
        for piece in found:
            data = frame(piece.number, piece.document.replace(OLD.encode(), NEW.encode()), piece.last)
            file.write(data, at)
            at += len(data)
        file.sync()


RENAMING = Step(1, "another word", touches=documents, apply=rename_words)


def old_store(folder: Path, *, rows: int = 3) -> None:
    """Write a store of one user or two, said to be of the format before the first."""
    store = FolderStore(folder, segment_size=500 * rows)
    for user in ("a", "李")[: rows - 1]:
        for n in range(rows):
            store.commit(user, [said(f"m{n}", f"{n} in {OLD}", user=user, minute=n, seed=n)])
        store.commit(user, [known("f", f"we meet in {OLD}", user=user)])
        store.remove(user, ["m0"])
    store.close()
    storefile.replace(str(folder), {**storefile.document(str(folder)), "format": 0})


def texts(folder: Path) -> list[str]:
    """Return what both users have."""
    store = FolderStore(folder, read_only=True)
    return [record.text for user in sorted(store.users()) for record in store.scan(user, Where())]


def up(folder: Path, step: Step = RENAMING, *, writable: bool = True) -> None:
    """Bring a store of format 0 up to date."""
    migrate(str(folder), writable=writable, lock_timeout=10, steps=(step, *STEPS))


def migrate_until(folder: Path, step: int) -> None:
    """Migrate a store and die at a step on disk."""
    die_at(step)
    up(folder)


def without_steps(folder: Path, act: Callable[[], None]) -> int:
    """Return how many changes on disk something makes."""
    seen, watching = 0, True

    def watch(event: str, args: tuple[object, ...]) -> None:
        nonlocal seen
        seen += watching and event == "siltstone.disk"

    sys.addaudithook(watch)
    act()
    watching = False
    return seen


def test_steps_are_taken_in_order_and_once(tmp_path: Path) -> None:
    """A store that lacks several steps gets them all; what it holds is in the new form, and no copy is left."""
    old_store(tmp_path)
    up(tmp_path)
    migrated = texts(tmp_path)
    assert migrated == [f"1 in {NEW}", f"2 in {NEW}", f"we meet in {NEW}"] * 2
    assert storefile.read(str(tmp_path)).format == storefile.FORMAT == STEPS[-1].to
    assert without_steps(tmp_path, lambda: up(tmp_path)) == 0
    assert not (tmp_path / FOLDER).exists()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and OLD.encode() in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.timeout(1_200)  # some 160 kills; a busy machine takes many minutes
def test_a_migration_that_was_killed_is_finished_by_the_next_opening(tmp_path: Path) -> None:
    """Killed before or after any change on disk, the next opening for writing brings the new state, whole."""
    old_store(tmp_path / "old", rows=2)
    steps = without_steps(tmp_path, lambda: up(shutil.copytree(tmp_path / "old", tmp_path / "count")))
    assert steps > 30
    for step in range(steps):
        folder = shutil.copytree(tmp_path / "old", tmp_path / str(step))
        process = PROCESSES.Process(target=migrate_until, args=(folder, step))
        process.start()
        process.join()
        assert process.exitcode == -9
        if "step" in storefile.document(str(folder)):
            with pytest.raises(StoreVersionError, match="read_only"):
                up(folder, writable=False)
            with pytest.raises(StoreVersionError):
                storefile.read(str(folder))
        up(folder)
        assert texts(folder) == [f"1 in {NEW}", f"we meet in {NEW}"]
        assert FolderStore(folder).stats("a").health == ()
        assert not (folder / FOLDER).exists()


def test_a_step_that_fails_leaves_the_old_store(tmp_path: Path) -> None:
    """A full disk in the middle of a step: every file is as it was, the copies are gone, and it may be tried again."""

    def fail(root: str, keys: Keys) -> None:
        rename_words(root, keys)
        raise BackendUnavailableError("no room left")

    old_store(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "LOCK"}
    with pytest.raises(BackendUnavailableError):
        up(tmp_path, Step(1, "another word", touches=documents, apply=fail))
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "LOCK"}
    assert after == before
    up(tmp_path)
    assert f"1 in {NEW}" in texts(tmp_path)


def test_an_older_format_is_read_without_writing_where_it_can_be(tmp_path: Path) -> None:
    """Read-only, a format that this release understands is read as it is; another one says what to do."""
    old_store(tmp_path)
    with pytest.raises(StoreVersionError, match="open it once without read_only=True, as siltstone consolidate"):
        up(tmp_path, writable=False)
    storefile.replace(str(tmp_path), {**storefile.document(str(tmp_path)), "format": 1})
    assert len(texts(tmp_path)) == 6
    assert storefile.document(str(tmp_path))["format"] == 1
    with pytest.raises(ReadOnlyError):
        FolderStore(tmp_path, read_only=True).commit("a", [known("g", "x", user="a")])
    FolderStore(tmp_path)
    assert storefile.document(str(tmp_path))["format"] == storefile.FORMAT


def test_the_steps_are_numbered_without_a_gap() -> None:
    """Every format from the first to the present one has its step, and each says why."""
    assert [step.to for step in STEPS] == list(range(2, storefile.FORMAT + 1))
    assert all(step.why for step in STEPS)
