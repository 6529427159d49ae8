"""Symbolic links in a store: no word is left where one leads, and a removal comes to its end all the same."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from items import known, said, space
from siltstone.errors import BackendUnavailableError, ConfigurationError, StoreCorruptedError
from siltstone.protocols import Where
from siltstone.stores.files import storefile
from siltstone.stores.folder import FolderStore
from siltstone.testing import HashEmbedder
from siltstone.upkeep import backup, reembed, rekey, restore, verify

SECRET = "heliotrope-蓝鹊"
KEY = bytes(32)
FILES = ["docs.*", "vectors.*", "cache", "KEY"]


def filled(folder: Path, key: bytes | None = None) -> Path:
    """Make a store of one user, with documents, vectors and a cache, and return the user's folder."""
    if key is not None:
        pytest.importorskip("cryptography")
    with closing(FolderStore(folder, key=key, durability="os")) as store:
        store.set_fingerprint(space())
        store.commit("u", [said("a", "one", seed=1), said("b", f"another {SECRET}", seed=2)])
        store.commit("u", [said(f"m{n}", f"more {n}", seed=n) for n in range(300)])
    (docs,) = folder.rglob("docs.*.jsonl")
    return docs.parent


def linked(path: Path) -> Path:
    """Move a file or folder out of its store, and leave a link; return where it is."""
    elsewhere = path.parents[len(path.parts) - 1 - path.parts.index("store")] / f"elsewhere-{path.name}"
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)
    return elsewhere


def contents(folder: Path) -> dict[Path, bytes | str]:
    """Return what each file below a folder holds, and where each link leads."""
    return {
        path: str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.name != "LOCK" and not path.is_dir()
    }


def texts(folder: Path, key: bytes | None = None, **options: bool) -> list[str]:
    """Return what the user has."""
    with closing(FolderStore(folder, key=key, **options)) as store:
        return [record.text for record in store.scan("u", Where())]


def test_a_linked_user_can_be_erased(tmp_path: Path) -> None:
    """Of a user whose folder is a link, the files that it leads to go, and the link; nothing is left to be done."""
    elsewhere = linked(filled(tmp_path / "store"))
    with closing(FolderStore(tmp_path / "store")) as store:
        store.remove("u", (), everything=True)
        assert store.stats("u").health == ()
    assert list(elsewhere.iterdir()) == []
    assert list((tmp_path / "store" / "trash").iterdir()) == []


WRITES: dict[str, Callable[[Path, bytes | None], object]] = {
    "add": lambda folder, key: FolderStore(folder, key=key).commit("u", [known("g", "more")]),
    "forget": lambda folder, key: FolderStore(folder, key=key).remove("u", ["b"]),
    "erase": lambda folder, key: FolderStore(folder, key=key).remove("u", (), everything=True),
    "compact": lambda folder, key: FolderStore(folder, key=key).compact("u"),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", FILES)
def test_nothing_is_written_to_a_user_one_of_whose_files_is_a_link(tmp_path: Path, name: str, write: str) -> None:
    """Whatever is written anew would leave its words where the link leads: it is refused, and all can be read."""
    key = KEY if name == "KEY" else None
    folder = tmp_path / "store"
    (path,) = filled(folder, key).glob(name)
    linked(path)
    before = contents(tmp_path)
    with pytest.raises(StoreCorruptedError, match=r"symbolic link.*nothing was changed.*siltstone verify --repair"):
        WRITES[write](folder, key)
    assert contents(tmp_path) == before
    for read_only in (False, True):
        assert len(texts(folder, key, read_only=read_only)) == 302
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", FILES)
def test_verify_names_a_linked_file_and_puts_a_copy_in_its_place(tmp_path: Path, name: str) -> None:
    """It says where the link leads; repaired, the user can be written to, and what is forgotten is gone from there."""
    key = KEY if name == "KEY" else None
    folder = tmp_path / "store"
    (path,) = filled(folder, key).glob(name)
    elsewhere = linked(path)
    elsewhere.chmod(0o600)
    (finding,) = verify(folder, key=key).findings
    assert (finding.severity, finding.path) == ("exposed", str(path.relative_to(folder)))
    assert str(elsewhere) in finding.what
    report = verify(folder, repair=True, key=key)
    assert (report.findings, report.repaired) == ((), (finding,))
    assert elsewhere.exists()  # it may be another store's
    assert not path.is_symlink()
    with closing(FolderStore(folder, key=key)) as store:
        store.remove("u", ["b"])
        assert store.stats("u").pending_vectors == 0
    assert not [one for one in folder.rglob("*") if one.is_file() and SECRET.encode() in one.read_bytes()]
    assert len(texts(folder, key)) == 301


@pytest.mark.parametrize(
    ("name", "severity"), [("docs.*", "lost"), ("vectors.*", "recomputable"), ("cache", "exposed")]
)
def test_verify_names_a_link_to_nothing(tmp_path: Path, name: str, severity: str) -> None:
    """What can be made anew is, by a repair; documents are lost, and said to be, until they are back."""
    folder = tmp_path / "store"
    (path,) = filled(folder).glob(name)
    elsewhere = linked(path)
    away = elsewhere.rename(tmp_path / "away")
    found = verify(folder, repair=True)
    assert (severity, str(path.relative_to(folder))) in {
        (finding.severity, finding.path) for finding in (*found.findings, *found.repaired)
    }
    assert path.is_symlink() == (name == "docs.*")
    if name == "docs.*":
        for read_only in (False, True):
            with pytest.raises(BackendUnavailableError, match=r"symbolic link.*where nothing is"):
                texts(folder, read_only=read_only)
        away.rename(elsewhere)
    assert len(texts(folder)) == 302


@pytest.mark.parametrize("depth", [0, 1, 2], ids=["users", "group", "user"])
def test_a_restore_does_not_take_the_place_of_a_linked_folder(tmp_path: Path, depth: int) -> None:
    """Users who lie elsewhere are neither replaced nor left behind: a restore is refused, and nothing is changed."""
    folder = tmp_path / "store"
    user = filled(folder)
    backup(folder, tmp_path / "backup")
    place = [user.parents[1], user.parents[0], user][depth]
    elsewhere = linked(place)
    (finding,) = verify(folder).findings
    assert (finding.severity, finding.path) == ("cosmetic", str(place.relative_to(folder)))
    with closing(FolderStore(folder)) as store:
        store.remove("u", ["b"])
    assert not [one for one in tmp_path.rglob("elsewhere*/**/docs.*") if SECRET.encode() in one.read_bytes()]
    before = contents(folder)
    with pytest.raises(ConfigurationError, match=r"symbolic link.*nothing was changed"):
        restore(tmp_path / "backup", folder)
    assert contents(folder) == before
    place.unlink()
    shutil.move(elsewhere, place)
    assert restore(tmp_path / "backup", folder).forgotten == 1
    assert len(texts(folder)) == 301


def test_a_restore_leaves_no_file_behind_a_link(tmp_path: Path) -> None:
    """Documents that lie elsewhere are not left there by a restore that puts others in their place."""
    folder = tmp_path / "store"
    (docs,) = filled(folder).glob("docs.*")
    backup(folder, tmp_path / "backup")
    elsewhere = linked(docs)
    with pytest.raises(ConfigurationError, match=r"symbolic link.*nothing was changed"):
        restore(tmp_path / "backup", folder)
    elsewhere.rename(docs)
    restore(tmp_path / "backup", folder)
    assert len(texts(folder)) == 302


def test_a_killed_restore_does_not_take_the_place_of_a_linked_folder(tmp_path: Path) -> None:
    """What waits for its place waits on where that has become a link meanwhile, and goes there when it is none."""
    folder = tmp_path / "store"
    filled(folder)
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy").rename(folder / "restoring")
    storefile.write(str(folder), dataclasses.replace(storefile.read(str(folder)), restoring=True))
    elsewhere = linked(folder / "users")
    with pytest.raises(ConfigurationError, match=r"symbolic link.*nothing was changed"):
        FolderStore(folder)
    assert (folder / "users").is_symlink()
    (folder / "users").unlink()
    elsewhere.rename(folder / "users")
    assert len(texts(folder)) == 302
    assert not (folder / "restoring").exists()


@pytest.mark.parametrize("name", ["AUDIT", "STORE"])
def test_verify_names_links_that_keep_no_words(tmp_path: Path, name: str) -> None:
    """Other files of a store may be links, too: they are named, and everything works."""
    folder = tmp_path / "store"
    filled(folder)
    linked(folder / name).chmod(0o600)
    (finding,) = verify(folder).findings
    assert (finding.severity, finding.path) == ("cosmetic", name)
    with closing(FolderStore(folder)) as store:
        store.remove("u", ["b"])
    assert len(texts(folder)) == 301


def test_rekey_does_not_leave_a_linked_key_behind(tmp_path: Path) -> None:
    """A user whose files are links keeps the old key, and is named."""
    folder = tmp_path / "store"
    (path,) = filled(folder, KEY).glob("docs.*")
    linked(path)
    with pytest.raises(StoreCorruptedError, match="symbolic link"):
        rekey(folder, key=KEY, data_keys=True)
    assert len(texts(folder, KEY)) == 302


def test_a_key_that_is_a_link_is_named(tmp_path: Path) -> None:
    """Destroying it would leave it where the link leads."""
    folder = tmp_path / "store"
    filled(folder, KEY)
    (path,) = (one for one in (folder / "KEYS").rglob("*") if one.is_file() and len(one.name) == 32)
    linked(path).chmod(0o600)
    (finding,) = verify(folder, key=KEY).findings
    assert (finding.severity, finding.path) == ("exposed", str(path.relative_to(folder)))


@pytest.mark.parametrize("name", ["docs.*", "vectors.*"])
def test_an_embedder_is_not_changed_behind_a_link(tmp_path: Path, name: str) -> None:
    """Vectors of the embedder before are not left where a link leads, nor others written beside it."""
    folder = tmp_path / "store"
    (path,) = filled(folder).glob(name)
    linked(path)
    with pytest.raises(StoreCorruptedError, match="symbolic link"):
        reembed(folder, embedder=HashEmbedder(64))
    assert path.is_symlink()
    assert len(texts(folder, read_only=True)) == 302
