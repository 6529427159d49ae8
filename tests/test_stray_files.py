"""Files of others in a store, such as a file manager leaves, wherever they lie, keep nothing from working."""

from __future__ import annotations

from pathlib import Path

import pytest

from items import said
from siltstone.protocols import Refusal
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import audit, backup, rekey, restore, verify

OLD, NEW = bytes(32), bytes(range(32))
PLACES = [".", "users", "users/??", "users/??/*", "trash", "unfinished", "quarantine"]


def strew(folder: Path, place: str) -> list[Path]:
    """Leave a stray file in all folders of a kind; return them."""
    if place in ("trash", "unfinished", "quarantine"):
        (folder / place).mkdir(mode=0o700, exist_ok=True)
    strays = [at / ".DS_Store" for at in folder.glob(place)] if place != "." else [folder / ".DS_Store"]
    for stray in strays:
        stray.write_bytes(b"\0\0\0\1Bud1")
        stray.chmod(0o600)
    return strays


@pytest.mark.parametrize(
    ("key", "place"), [(None, place) for place in PLACES] + [(OLD, place) for place in (*PLACES, "KEYS", "KEYS/??")]
)
def test_a_stray_file_is_in_nobodys_way(tmp_path: Path, key: bytes | None, place: str) -> None:
    """With it in the store everything works: opening, writing, verify and repair, backup, restore, rekey, erasing."""
    if key is not None:
        pytest.importorskip("cryptography")
    folder = tmp_path / "store"
    first = FolderStore(folder, key=key)
    for user in ("u", "v"):
        first.commit(user, [said("a", "one", user=user), said("b", "two", user=user)])
    assert strew(folder, place)
    store = FolderStore(folder, key=key)
    assert set(store.users()) == {"u", "v"}
    store.commit("u", [said("c", "three")])
    store.commit("w", [said("c", "three", user="w")])
    store.remove("u", ["a"], transcripts=[Refusal("s", id="a")])
    assert store.stats("u").health == ()
    assert {finding.severity for finding in verify(folder, key=key).findings} <= {"cosmetic"}
    assert {finding.severity for finding in verify(folder, repair=True, key=key).findings} <= {"cosmetic"}
    assert backup(folder, tmp_path / "backup", key=key).users == 3
    store.remove("v", [], everything=True)
    store.compact()
    restored = restore(tmp_path / "backup", folder, key=key)
    assert restored.erased == ("v",)
    strew(folder, place)
    if key is not None:
        assert rekey(folder, key=key, new_key=NEW, data_keys=True).users >= 2
        key = NEW
    again = FolderStore(folder, key=key)
    assert [m.content for m in again.messages("u", "s")] == ["two", "three"]
    assert {entry.action for entry in audit(folder, key=key)} >= {"forget", "erase", "restore"}
    again.remove("w", [], everything=True)
    assert "w" not in again.users()
