"""Symbolic links in a store: a removal comes to its end all the same."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from items import said
from siltstone.stores.folder import FolderStore


def filled(folder: Path) -> Path:
    """Make a store of one user, and return the user's folder."""
    with closing(FolderStore(folder)) as store:
        store.commit("u", [said("a", "one", seed=1), said("b", "another")])
    (docs,) = folder.rglob("docs.*.jsonl")
    return docs.parent


def test_a_linked_user_can_be_erased(tmp_path: Path) -> None:
    """Of a user whose folder is a link, the files that it leads to go, and the link; nothing is left to be done."""
    folder = filled(tmp_path / "store")
    shutil.move(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with closing(FolderStore(tmp_path / "store")) as store:
        store.remove("u", (), everything=True)
        assert store.stats("u").health == ()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert list((tmp_path / "store" / "trash").iterdir()) == []
