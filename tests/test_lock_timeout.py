"""Whoever waits for another process waits as long as ``lock_timeout`` says, whatever they wait for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from items import known, space
from siltstone.errors import StoreLockedError
from siltstone.opening import open_store
from siltstone.stores.files.lock import FileLock
from siltstone.stores.folder import FolderStore

KEY = bytes(32)
SOON = 0.05


def opened(folder: Path) -> FolderStore:
    """Open a store that waits a moment."""
    return FolderStore(folder, lock_timeout=SOON, key=KEY)


def test_making_a_store(tmp_path: Path) -> None:
    """Another one that makes the same store is waited for as long."""
    pytest.importorskip("cryptography")
    with FileLock(str(tmp_path / "LOCK")).held(0), pytest.raises(StoreLockedError, match=f"for {SOON} s"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("lock", "act"),
    [
        ("KEYS/LOCK", lambda store: store.commit("new", [known("f", "text", user="new")])),
        ("LOCK", lambda store: store.set_fingerprint(space())),
        ("LOCK", lambda store: store.remove("u", ["f"])),
    ],
    ids=["a user's first key", "the settings", "the audit"],
)
def test_writing(lock: str, act: Callable[[FolderStore], object], tmp_path: Path) -> None:
    """Each lock that a write takes is waited for as long."""
    pytest.importorskip("cryptography")
    store = opened(tmp_path)
    store.commit("u", [known("f", "text")])
    with FileLock(str(tmp_path / lock)).held(0), pytest.raises(StoreLockedError, match=f"for {SOON} s"):
        act(store)
    store.close()


def test_each_opening_has_its_own(tmp_path: Path) -> None:
    """A folder that is open already with other settings is opened with the ones that were asked for."""
    settings = {"durability": "os", "read_only": False, "create": True, "lock_timeout": 9.0, "history": 1}
    first = open_store(tmp_path, **settings)
    alike = open_store(tmp_path, **settings)
    other = open_store(tmp_path, **{**settings, "lock_timeout": SOON, "history": 2})
    assert first.store is alike.store
    for version in (1, 2, 3):
        other.store.commit("u", [known("f", f"text {version}", version=version)])
    assert len(other.store.versions("u", "f")) == 2
    (lock,) = tmp_path.glob("users/*/*/LOCK")
    with FileLock(str(lock)).held(0), pytest.raises(StoreLockedError, match=f"for {SOON} s"):
        other.store.commit("u", [known("g", "text")])
    for handle in (first, alike, other):
        handle.close()
