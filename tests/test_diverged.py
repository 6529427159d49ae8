"""Copies of a store that go their own ways: none is backed up over what another one has brought into a backup."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from items import said
from plain_and_encrypted import plain_and_encrypted
from siltstone.cli import main
from siltstone.errors import ConfigurationError
from siltstone.protocols import Refusal
from siltstone.stores.folder import FolderStore
from siltstone.stores.maintenance.descent import Documents, parted
from siltstone.upkeep import backup, compact, rekey, restore, verify

REFUSED = r"does not go on from.*nothing was changed.*siltstone backup DIR"
Change = Callable[[FolderStore, str], object]


def filled(folder: Path, key: bytes | None = None) -> Path:
    """Make a store of two users, in several segments, and return its folder."""
    with closing(FolderStore(folder, key=key, segment_size=1_000, durability="os")) as store:
        for n in range(12):
            store.commit("u", [said(f"m{n}", f"text {n} " + "x" * 100, seed=n)])
        store.commit("v", [said("m", "another", user="v")])
    return folder


def change(folder: Path, done: str, key: bytes | None = None, word: str = "original") -> None:
    """Do something to a store, with a word in it."""
    with closing(FolderStore(folder, key=key, segment_size=1_000, durability="os")) as store:
        CHANGES[done](store, word)


def contents(folder: Path) -> dict[Path, bytes]:
    """Return what each file below a folder holds, locks aside."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "LOCK"}


CHANGES: dict[str, Change] = {
    "adds": lambda store, word: store.commit("u", [said(word, word)]),
    "adds much": lambda store, word: [store.commit("u", [said(f"{word}{n}", "x" * 200)]) for n in range(9)],
    "updates": lambda store, word: store.commit("u", [said("m3", word, version=2)]),
    "forgets": lambda store, word: store.remove("u", ["m3"]),
    "forgets the last": lambda store, word: store.remove("u", ["m11"]),
    "refuses": lambda store, word: store.remove("u", (), transcripts=[Refusal("s", "absent", word)]),
    "erases": lambda store, word: store.remove("v", (), everything=True),
    "begins a user": lambda store, word: store.commit("w", [said("m", word, user="w")]),
    "erases and begins again": lambda store, word: (
        store.remove("v", (), everything=True),
        store.commit("v", [said("m", word, user="v")]),
    ),
}


@plain_and_encrypted
@pytest.mark.parametrize("done", CHANGES)
def test_a_copy_is_not_backed_up_over_what_its_original_did_since(tmp_path: Path, done: str, key: bytes | None) -> None:
    """Whatever the original did between, the copy is refused, unchanged or not, and the backup stays as it is."""
    folder, target = filled(tmp_path / "store", key), tmp_path / "backup"
    backup(folder, target, key=key)
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    change(folder, done, key)
    backup(folder, target, key=key)
    before = contents(target)
    for other in (None, *CHANGES):
        place = Path(shutil.copytree(copy, tmp_path / "diverged"))
        if other is not None:
            change(place, other, key, "copy")
        with pytest.raises(ConfigurationError, match=REFUSED):
            backup(place, target, key=key)
        shutil.rmtree(place)
    assert contents(target) == before
    assert verify(target).findings == ()
    backup(copy, tmp_path / "apart", key=key)
    change(folder, "adds", key, "later")
    backup(folder, target, key=key)


@plain_and_encrypted
def test_a_store_goes_on_with_its_backup_whatever_it_does(tmp_path: Path, key: bytes | None) -> None:
    """Adding, forgetting, erasing, compacting, restoring, rekeying, moving and copying keep nobody from backing up."""
    folder, target = filled(tmp_path / "store", key), tmp_path / "backup"
    backup(folder, target, key=key)
    rng = random.Random(5)
    for round in range(24):
        for done in rng.sample(list(CHANGES), 3):
            change(folder, done, key, f"word{round}")
        if round % 3 == 0:
            compact(folder, key=key)
        if round % 6 == 4 and key is not None:
            rekey(folder, key=key, data_keys=True)
        if round % 4 == 1:
            restore(target, folder, key=key)
        if round % 5 == 2:
            folder = folder.rename(tmp_path / f"moved-{round}")
        if round % 5 == 4:
            folder = Path(shutil.copytree(folder, tmp_path / f"copied-{round}"))
        if round % 6 == 3:
            verify(folder, repair=True, key=key)
        backup(folder, target, key=key)
    assert verify(target).findings == ()


def test_a_store_that_was_restored_is_not_backed_up_over_a_later_backup(tmp_path: Path) -> None:
    """Restored elsewhere it is a copy; it goes on with the backup that it comes from, and with no later one."""
    folder, target = filled(tmp_path / "store"), tmp_path / "backup"
    backup(folder, target)
    restore(target, tmp_path / "staging")
    change(folder, "adds")
    backup(folder, target)
    change(tmp_path / "staging", "updates", word="copy")
    with pytest.raises(ConfigurationError, match="taken after the backup that the store was restored from"):
        backup(tmp_path / "staging", target)
    restore(target, tmp_path / "next")
    change(tmp_path / "next", "updates", word="copy")
    backup(tmp_path / "next", target)
    with pytest.raises(ConfigurationError, match=REFUSED):
        backup(folder, target)


def test_a_user_whose_folder_is_gone_does_not_leave_the_backup(tmp_path: Path) -> None:
    """Without a line that says so nobody was erased: the backup may be all that is left of them."""
    folder, target = filled(tmp_path / "store"), tmp_path / "backup"
    backup(folder, target)
    (gone,) = folder.glob("users/*/v-*")
    shutil.rmtree(gone)
    with pytest.raises(ConfigurationError, match=f"{gone.name} is gone"):
        backup(folder, target)
    restore(target, folder)
    backup(folder, target)


def test_who_is_erased_while_a_backup_is_taken_does_not_keep_off_the_next(tmp_path: Path) -> None:
    """A backup may hold a user and, in its audit, that they are gone: the store goes on from there."""
    folder, target = filled(tmp_path / "store"), tmp_path / "backup"
    done: list[str] = []

    def erase(event: str, args: tuple[object, ...]) -> None:
        copying = event == "siltstone.disk" and args[0] == "after write" and str(args[1]).startswith(f"{target}/")
        if copying and "/v-" in str(args[1]) and "docs." in str(args[1]) and not done:
            done.append("begun")
            change(folder, "erases")

    sys.addaudithook(erase)
    backup(folder, target)
    assert done
    backup(folder, target)
    assert restore(target, tmp_path / "again").users == 1


def test_a_segment_goes_on_from_its_copy_or_not() -> None:
    """Items that were there stay the same or go; notes may be written anew; none comes up from before."""
    copied = Documents("a", {1: 10, 2: 20, 3: -1})
    assert not parted(copied, copied, alike=True)
    assert not parted(copied, Documents("a", {2: 20, 3: -1, 4: 40}), alike=True)
    assert not parted(copied, Documents(None, {1: None, 3: -1}), alike=True)
    assert not parted(copied, Documents("a", {1: 11, 2: 20, 3: -1}), alike=False)
    assert "lacks" in parted(copied, Documents("a", {1: 10, 2: 20}), alike=True)
    assert "other" in parted(copied, Documents("a", {1: 11, 2: 20, 3: -1}), alike=True)
    assert "other" in parted(copied, Documents("a", {1: 10, 2: 20, 3: 30}), alike=False)
    assert "before" in parted(Documents("a", {1: 10, 3: -1}), copied, alike=True)
    assert "key" in parted(Documents(None, {1: None}), copied, alike=True)
    assert "lacks" in parted(Documents("a", {1: 10, 3: -1}, frozenset("h")), Documents("a", {1: 10, 3: -1}), alike=True)
    assert "not the folder" in parted(copied, Documents("b", {1: 10, 2: 20, 3: -1}), alike=True)


def test_the_command_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``siltstone backup`` of a copy that has diverged fails, names both, and gives the command that helps."""
    folder, target = filled(tmp_path / "store"), tmp_path / "backup"
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    change(folder, "adds")
    backup(folder, target)
    change(copy, "adds", word="copy")
    with pytest.raises(SystemExit) as ended:
        main(["backup", str(target), "--store", str(copy)])
    assert ended.value.code == 1
    told = "".join(capsys.readouterr().err.split())
    assert f"siltstonebackupDIR--store{copy}" in told
