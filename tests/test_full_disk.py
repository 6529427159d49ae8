"""A disk that takes no more: the write is refused whole, what was there stays, and it goes on when there is room."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from items import asked, known, said
from siltstone.errors import BackendUnavailableError
from siltstone.protocols import Where
from siltstone.stores.files import cache
from siltstone.stores.folder import FolderStore


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """Let the system refuse to make any file larger than ``size`` bytes, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_commit_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    """Wherever the disk runs full within a commit, nothing of it stays, and the same commit works afterwards."""
    store = FolderStore(tmp_path)
    store.commit("u", [said("a", "one", seed=1)])
    (log,) = tmp_path.rglob("docs.*.jsonl")
    for room in (0, 1, 30, 150, 300):
        before, revision = log.read_bytes(), store.revision("u")
        with files_limited_to(len(before) + room), pytest.raises(BackendUnavailableError):
            store.commit("u", [said(f"b{room}-{n}", f"text {n}", seed=n) for n in range(9)])
        assert log.read_bytes() == before
        assert store.revision("u") == revision
        assert [r.id for r in FolderStore(tmp_path).scan("u", Where())] == [r.id for r in store.scan("u", Where())]
        store.commit("u", [said(f"b{room}-{n}", f"text {n}", seed=n) for n in range(9)])
        assert store.stats("u").pending_vectors == 0
    assert len(list(FolderStore(tmp_path).scan("u", Where()))) == 46
    assert store.stats("u").health == ()


def test_a_new_user_that_does_not_fit_leaves_no_trace(tmp_path: Path) -> None:
    """The first commit of a user may fail too; the user does not exist then, and can be begun later."""
    store = FolderStore(tmp_path)
    with files_limited_to(50), pytest.raises(BackendUnavailableError):
        store.commit("u", [said("a", "one")])
    assert list(store.users()) == []
    assert store.messages("u", "s") == []
    store.commit("u", [said("a", "one")])
    assert [m.content for m in FolderStore(tmp_path).messages("u", "s")] == ["one"]


def test_reading_goes_on_when_the_disk_is_full(tmp_path: Path) -> None:
    """Opening, searching and reading need no room; closing without a cache loses nothing."""
    store = FolderStore(tmp_path)
    store.commit("u", [said(f"m{n}", f"text {n}", seed=n) for n in range(400)])
    with files_limited_to(0):
        again = FolderStore(tmp_path)
        assert again.candidates("u", asked("text", seed=1)).document_frequency.tolist() == [400]
        again.close()
        store.close()
    assert len(FolderStore(tmp_path).messages("u", "s")) == 400


def test_a_removal_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    """A removal that cannot even be announced is refused; with room it goes through."""
    store = FolderStore(tmp_path)
    store.commit("u", [said(f"m{n}", f"secret {n}.", seed=n) for n in range(40)])
    (log,) = tmp_path.rglob("docs.*.jsonl")
    with files_limited_to(len(log.read_bytes()) + 5), pytest.raises(BackendUnavailableError):
        store.remove("u", ["m7"])
    assert len(store.messages("u", "s")) == 40
    store.remove("u", ["m7"])
    store.commit("u", [known("f", "later")])
    assert b"secret 7." not in log.read_bytes()
    assert len(store.messages("u", "s")) == 39
    assert list(FolderStore(tmp_path).scan("u", Where())) == list(store.scan("u", Where()))


def test_a_cache_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    """A cache that cannot be written whole is taken away: it would keep a full disk full."""
    cells = np.zeros(4_000, np.int64)
    with files_limited_to(10_000), pytest.raises(BackendUnavailableError):
        cache.write(str(tmp_path), {}, {"cells": cells})
    assert list(tmp_path.iterdir()) == []
    cache.write(str(tmp_path), {}, {"cells": cells})
    assert cache.read(str(tmp_path)) is not None
