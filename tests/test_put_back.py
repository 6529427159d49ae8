"""An older copy of a folder put in the place of one that is open: what is read and kept is what lies there now."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from items import said, space
from siltstone.stores.files import cache
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import verify

Swap = Callable[[Path, Path], None]


def renamed(copy: Path, folder: Path) -> None:
    """Put a copy in the place of a folder by renaming both."""
    folder.rename(folder.with_name("away"))
    copy.rename(folder)


def overwritten(copy: Path, folder: Path) -> None:
    """Write the files of a copy over those of a folder, which stay the same files."""
    for source in copy.rglob("*"):
        if source.is_file():
            (folder / source.relative_to(copy)).write_bytes(source.read_bytes())


def in_session(store: FolderStore, session: str) -> list[str]:
    """Return what was said in a session."""
    return [message.content for message in store.messages("u", session)]


@pytest.fixture
def stale(tmp_path: Path) -> FolderStore:
    """Return an open store with 300 messages more than the copy of it in ``copy``."""
    store = FolderStore(tmp_path / "store", durability="os")
    store.set_fingerprint(space())
    store.commit("u", [said(f"a{n}", f"base {n}", session="a", seed=n) for n in range(5)])
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    store.commit("u", [said(f"b{n}", f"late {n} giraffe", session="b", seed=n) for n in range(300)])
    return store


@pytest.mark.parametrize("swap", [renamed, overwritten])
@pytest.mark.parametrize("compacted", [False, True])
def test_what_was_read_of_other_files_is_forgotten(
    stale: FolderStore, tmp_path: Path, swap: Swap, compacted: bool
) -> None:
    """Whoever had the store open shows, keeps and caches what others wrote into the copy, and nothing of its own."""
    swap(tmp_path / "copy", tmp_path / "store")
    other = FolderStore(tmp_path / "store", durability="os")
    texts = [f"acknowledged {n} zebra" for n in range(700)]
    other.commit("u", [said(f"c{n}", text, session="c", seed=n) for n, text in enumerate(texts)])
    if compacted:
        other.commit("u", [said("c0", "edited", session="c", version=2)])
        other.compact("u")
        texts[0] = "edited"
    assert in_session(stale, "b") == []
    assert in_session(stale, "c") == texts
    stale.close()
    found = FolderStore(tmp_path / "store", durability="os")
    assert (in_session(found, "b"), in_session(found, "c")) == ([], texts)
    assert found.stats("u").health == ()
    assert [finding for finding in verify(tmp_path / "store").findings if finding.severity != "cosmetic"] == []


def test_no_cache_is_written_of_files_that_are_gone(
    stale: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy put in place while the picture of a cache is packed gets no cache of what was there before."""
    from siltstone.stores.table import snapshot

    pack = snapshot.pack

    def swapped(picture: snapshot.Picture) -> object:
        renamed(tmp_path / "copy", tmp_path / "store")
        return pack(picture)

    monkeypatch.setattr(snapshot, "pack", swapped)
    stale.close()
    (folder,) = (tmp_path / "store" / "users").glob("*/*")
    assert cache.read(str(folder)) is None
    assert in_session(FolderStore(tmp_path / "store"), "b") == []


def test_a_cache_of_other_documents_is_refused(stale: FolderStore, tmp_path: Path) -> None:
    """A cache whose state fits the documents, and whose rows are of others, is not used."""
    stale.close()
    (folder,) = (os.fspath(path) for path in (tmp_path / "store" / "users").glob("*/*"))
    found = cache.read(folder)
    assert found is not None
    values, arrays = found
    name = next(name for name in arrays if name.endswith("text_hash"))
    cache.write(folder, values, arrays | {name: arrays[name][::-1].copy()})
    reopened = FolderStore(tmp_path / "store", durability="os")
    assert in_session(reopened, "b")[7] == "late 7 giraffe"
    reopened.close()
    mended = cache.read(folder)
    assert mended is not None
    assert (mended[1][name] == arrays[name]).all()
