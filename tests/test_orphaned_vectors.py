"""Vectors whose documents were never written: they are blanked before another document gets their number."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from items import said
from siltstone.errors import BackendUnavailableError
from siltstone.protocols import Put
from siltstone.stores.folder import FolderStore

SECRET = said("x", "the word", seed=7)


def killed(place: Path, store: FolderStore, write: Callable[[FolderStore], object], *, torn: bool = False) -> None:
    """Let a child write and be killed as soon as vectors are on disk, or part of one, and documents are not."""
    child = os.fork()
    if not child:
        other = FolderStore(place)

        def hook(event: str, args: tuple[object, ...]) -> None:
            if event == "siltstone.disk" and args[0] == "before write" and "docs." in str(args[1]):
                for path in place.rglob("vectors.*") if torn else ():
                    os.truncate(path, path.stat().st_size - 9)
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        write(other)
        os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def torn(place: Path, store: FolderStore, write: Callable[[FolderStore], object]) -> None:
    """Let a child be killed amid its vectors."""
    killed(place, store, write, torn=True)


def refused(place: Path, store: FolderStore, write: Callable[[FolderStore], object]) -> None:
    """Let the disk take the vectors and refuse the documents."""
    (log,) = place.rglob("docs.*.jsonl")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 20, hard))
    try:
        with pytest.raises(BackendUnavailableError):
            write(store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def has_vector(place: Path, put: Put) -> bool:
    """Return whether a file holds the vector of a put, or the best part of it."""
    assert put.vector is not None
    half = np.asarray(put.vector / np.linalg.norm(put.vector), np.float16).tobytes()
    return any(half[: len(half) // 2] in path.read_bytes() for path in place.rglob("*") if path.is_file())


@pytest.mark.parametrize("goes_on", ["the open store", "another process"])
@pytest.mark.parametrize("fail", [killed, torn, refused])
def test_the_vector_of_a_write_that_failed_is_gone_with_the_next(
    tmp_path: Path, fail: Callable[..., None], goes_on: str
) -> None:
    """Whoever writes next, whatever that is; a forgotten text then leaves no vector under another's number."""
    store = FolderStore(tmp_path)
    store.commit("u", [said("a", "one " * 2_000, seed=1)])
    fail(tmp_path, store, lambda other: other.commit("u", [SECRET]))
    assert has_vector(tmp_path, SECRET)
    writer = store if goes_on == "the open store" else FolderStore(tmp_path)
    writer.commit("u", [said("b", "two", seed=2)])
    assert not has_vector(tmp_path, SECRET)
    writer.commit("u", [SECRET])
    assert has_vector(tmp_path, SECRET)
    writer.remove("u", ["x"])
    assert not has_vector(tmp_path, SECRET)
    for reader in (store, FolderStore(tmp_path)):
        assert reader.stats("u").pending_vectors == 0
        assert reader.stats("u").health == ()


def test_the_first_vector_of_a_user_may_be_the_orphan(tmp_path: Path) -> None:
    """A store that knew of no vectors at all finds the file that a killed process began."""
    store = FolderStore(tmp_path)
    store.commit("u", [Put(message=said("a", "one").message)])
    killed(tmp_path, store, lambda other: other.commit("u", [SECRET]))
    assert has_vector(tmp_path, SECRET)
    store.commit("u", [Put(message=said("b", "two").message)])
    assert not has_vector(tmp_path, SECRET)
