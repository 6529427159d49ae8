"""What the disk does not tell is an error, never taken for "there is nothing": a link to itself cannot be looked at."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from items import known
from siltstone.errors import BackendUnavailableError, SiltstoneError
from siltstone.protocols import Where
from siltstone.stores.files import disk, storefile
from siltstone.stores.folder import FolderStore
from siltstone.stores.maintenance import quarantine
from siltstone.upkeep import backup, restore, verify

SECRET = "something to be forgotten"
tried: list[object] = []
"""The files that were opened, or were to be, in order."""


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        tried.append(arguments[0])


sys.addaudithook(_watch)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of one user."""
    made = FolderStore(tmp_path / "store", durability="os")
    made.commit("u", [known("f", SECRET), known("g", "something to keep")])
    made.close()
    return tmp_path / "store"


def unanswering(path: Path) -> Path:
    """Put a link to itself in a place; return where what was there is now."""
    aside = path.with_name(f"{path.name}.aside")
    if path.exists():
        path.rename(aside)
    path.symlink_to(path)
    return aside


def files(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("act", [verify, lambda store: backup(store, store.with_name("backup"))])
@pytest.mark.parametrize("name", ["users", "AUDIT"])
def test_what_cannot_be_looked_at_is_not_passed_over(act: Callable[[Path], object], name: str, store: Path) -> None:
    """A check does not call a store sound, and a backup does not call itself whole, without having seen all of it."""
    unanswering(store / name)
    with pytest.raises(SiltstoneError):
        act(store)


def test_a_failed_backup_leaves_the_one_before(store: Path) -> None:
    """Users that cannot be looked at do not leave the backup, and its manifest names what it named."""
    target = store.with_name("backup")
    backup(store, target)
    before = files(target)
    unanswering(store / "users")
    with pytest.raises(BackendUnavailableError):
        backup(store, target)
    assert {name: data for name, data in files(target).items() if name in before and name != "LOCK"} == {
        name: data for name, data in before.items() if name != "LOCK"
    }


def test_a_restore_that_cannot_be_looked_at_is_not_thrown_away(store: Path) -> None:
    """What waits for its place is still there when the disk answers again, and goes there."""
    shutil.copytree(store, store.with_name("copy"))
    done = store.with_name("copy").rename(store / "restoring")
    storefile.write(str(store), dataclasses.replace(storefile.read(str(store)), restoring=True))
    aside = unanswering(done / "users")
    with pytest.raises(BackendUnavailableError):
        FolderStore(store)
    (done / "users").unlink()
    aside.rename(done / "users")
    opened = FolderStore(store)
    assert len(list(opened.scan("u", Where()))) == 2
    opened.close()
    assert not done.exists()


def test_a_restore_does_not_take_an_unanswering_place_for_an_empty_one(store: Path) -> None:
    """A place that cannot be looked at is refused, and stays as it is."""
    target = store.with_name("backup")
    backup(store, target)
    unanswering(store)
    with pytest.raises(BackendUnavailableError):
        restore(target, store)
    assert os.readlink(store) == str(store)


def test_forgetting_is_not_done_while_the_quarantine_does_not_answer(store: Path) -> None:
    """Damaged pieces may hold the words: a forget that cannot look for them does not say that it is done."""
    (user,) = (store / "users").glob("*/*")
    (segment,) = user.glob("docs.*")
    kept = Path(quarantine.keep(str(store), user.name, str(user), [(segment.name, 0, segment.stat().st_size)]))
    assert any(SECRET.encode() in data for data in files(kept).values())
    aside = unanswering(store / "quarantine")
    opened = FolderStore(store)
    with pytest.raises(BackendUnavailableError):
        opened.remove("u", ["f"])
    opened.close()
    (store / "quarantine").unlink()
    aside.rename(store / "quarantine")
    opened = FolderStore(store)
    assert [record.id for record in opened.scan("u", Where())] == ["g"]
    opened.close()
    assert not any(SECRET.encode() in data for data in files(store).values())


def test_reading_goes_on_beside_what_cannot_be_cleared_up(store: Path) -> None:
    """Reads do not try it each time anew, say it once however many they are, and no longer once it is done."""
    (user,) = (store / "users").glob("*/*")
    (segment,) = user.glob("docs.*")
    with segment.open("ab") as file:
        file.write(segment.read_bytes()[:40])  # as a killed writer leaves it
    aside = unanswering(user / "LOCK")
    opened = FolderStore(store)
    tried.clear()
    for _ in range(5):
        assert len(list(opened.scan("u", Where()))) == 2
        (remark,) = opened.stats("u").health
        assert "could not be cleared up" in remark
    assert tried.count(str(user / "LOCK")) == 1
    (user / "LOCK").unlink()
    aside.rename(user / "LOCK")
    opened.commit("u", [known("h", "later")])
    (remark,) = opened.stats("u").health
    assert remark.endswith("of an unfinished write")
    opened.close()


def test_a_folder_that_cannot_be_listed_ends_a_walk(tmp_path: Path) -> None:
    """Walking through files passes over nothing that it was not told of."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").touch()
    assert [names for _, _, names in disk.walk(str(tmp_path))] == [[], ["f"]]
    assert list(disk.walk(str(tmp_path / "gone"))) == []
    unanswering(tmp_path / "b")
    with pytest.raises(SiltstoneError):
        list(disk.walk(str(tmp_path / "b")))
