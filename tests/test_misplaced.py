"""A user's folder that lies in another user's place is an error for that user, and told; nobody is shown it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from items import asked, said
from plain_and_encrypted import plain_and_encrypted
from siltstone.errors import StoreCorruptedError
from siltstone.protocols import Refusal, Where
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import verify


def filled(folder: Path, key: bytes | None) -> tuple[Path, Path]:
    """Write a store of alice and bob, with caches; return their folders."""
    store = FolderStore(folder, key=key)
    for user in ("alice", "bob"):
        store.commit(user, [said(f"{user}{n}", f"secret {n} of {user}", user=user, seed=n) for n in range(300)])
    store.close()
    alice, bob = (Path(store.settings.user_folder(str(folder), user)) for user in ("alice", "bob"))
    return alice, bob


def listing(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes, locks aside."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "LOCK"}


def refuses(store: FolderStore, user: str) -> None:
    """Check that every verb of a user's is the error, and changes nothing."""
    before = listing(Path(store.location))
    for act in (
        lambda: store.messages(user, "s"),
        lambda: store.fetch(user, ["bob1"]),
        lambda: list(store.scan(user, Where())),
        lambda: store.candidates(user, asked("secret", seed=1)),
        lambda: store.commit(user, [said("new", "new", user=user)]),
        lambda: store.remove(user, ["bob1"]),
        lambda: store.remove(user, [], everything=True),
        lambda: store.remove(user, [], transcripts=[Refusal("s", id="x")], everything=True),
    ):
        with pytest.raises(StoreCorruptedError, match="nothing was changed"):
            act()
    assert listing(Path(store.location)) == before


@pytest.mark.parametrize("read_at", ["before", "after"])
@plain_and_encrypted
def test_exchanged_folders_are_an_error_for_both(tmp_path: Path, key: bytes | None, read_at: str) -> None:
    """Neither user reads, writes or erases the other's, whether or not the store was open; put back, all is well."""
    alice, bob = filled(tmp_path, key)
    store = FolderStore(tmp_path, key=key)
    if read_at == "before":
        assert len(store.messages("alice", "s")) == len(store.messages("bob", "s")) == 300
    aside = tmp_path.parent / "aside"
    for _ in range(2):
        os.makedirs(bob.parent, exist_ok=True)
        alice.rename(aside)
        bob.rename(alice)
        aside.rename(bob)
        if _ == 0:
            refuses(store, "alice")
            refuses(store, "bob")
            assert list(store.users()) == []
            findings = verify(tmp_path, key=key).findings
            assert {(f.severity, f.path) for f in findings} == {
                ("lost", str(folder.relative_to(tmp_path))) for folder in (alice, bob)
            }
    assert verify(tmp_path, key=key).findings == ()
    assert [len(FolderStore(tmp_path, key=key).messages(user, "s")) for user in ("alice", "bob")] == [300, 300]


@plain_and_encrypted
def test_a_copy_in_the_place_of_another_leaves_its_owner_alone(tmp_path: Path, key: bytes | None) -> None:
    """Bob's folder copied over alice's is an error for alice, whatever she does; bob goes on, listed once."""
    alice, bob = filled(tmp_path, key)
    shutil.rmtree(alice)
    shutil.copytree(bob, alice)
    store = FolderStore(tmp_path, key=key)
    refuses(store, "alice")
    assert list(store.users()) == ["bob"]
    store.commit("bob", [said("new", "new", user="bob")])
    assert len(store.messages("bob", "s")) == 301
    assert [f.path for f in verify(tmp_path, key=key).findings] == [str(alice.relative_to(tmp_path))]
    verify(tmp_path, key=key, repair=True)
    assert len(FolderStore(tmp_path, key=key).messages("bob", "s")) == 301
