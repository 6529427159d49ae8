"""Documents that are gone are told by what is left of their user: nobody calls such a store sound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from items import said, space
from siltstone.protocols import Refusal
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import verify


def filled(folder: Path, count: int) -> Path:
    """Write a store of one user, each message a commit with its vector; return the user's folder."""
    store = FolderStore(folder, durability="os")
    store.set_fingerprint(space())
    for n in range(count):
        store.commit("u", [said(f"m{n}", f"text {n} 深圳", minute=n, seed=n)])
    store.remove("u", ["m0"], transcripts=[Refusal("s", "m0", "text 0 深圳")])
    store.close()
    (user,) = folder.glob("users/*/u-*")
    return user


def later(path: Path) -> None:
    """Let a file have been changed some time after all others."""
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))


@pytest.mark.parametrize("how", ["deleted", "emptied"])
@pytest.mark.parametrize("count", [5, 300])
def test_a_user_whose_documents_are_gone_is_lost(tmp_path: Path, how: str, count: int) -> None:
    """With vectors, with a cache: a finding that names folder and user, that no repair takes away, and stats say it."""
    user = filled(tmp_path / "store", count)
    assert (user / "cache").exists() == (count > 100)
    for path in user.glob("docs.*"):
        if how == "deleted":
            path.unlink()
        else:
            path.write_bytes(b"")
            later(path)
    for repair in (False, True):
        report = verify(tmp_path / "store", repair=repair)
        (finding,) = report.findings
        assert (finding.severity, finding.path) == ("lost", str(user.relative_to(tmp_path / "store")))
        assert (finding.user_id, finding.is_repairable) == ("u", False)
        assert "restore from a backup" in finding.what
        assert not report.is_sound
    store = FolderStore(tmp_path / "store")
    (remark,) = store.stats("u").health
    assert "restore from a backup" in remark
    store.close()


def test_a_first_write_that_was_killed_is_no_loss(tmp_path: Path) -> None:
    """Vectors beside an empty file that was made before them: nothing was acknowledged, and it is said."""
    user = filled(tmp_path / "store", 3)
    (documents,) = user.glob("docs.*")
    documents.write_bytes(b"")
    (vectors,) = user.glob("vectors.*")
    later(vectors)
    report = verify(tmp_path / "store")
    assert report.is_sound
    assert any("2 vectors name documents that are not there" in finding.what for finding in report.findings)


@pytest.mark.parametrize(("gone", "severity"), [(1, "cosmetic"), (2, "lost")])
def test_a_cut_end_is_told_by_the_vectors_behind_it(tmp_path: Path, gone: int, severity: str) -> None:
    """Vectors of a later commit than the one that is cut prove a loss; else it may have been a killed add."""
    store = FolderStore(tmp_path / "store", durability="os")
    store.set_fingerprint(space())
    for n in range(5):
        store.commit("u", [said(f"m{n}", f"text {n}", minute=n, seed=n)])
    store.close()
    (documents,) = tmp_path.rglob("docs.*")
    lines = documents.read_bytes().splitlines(keepends=True)
    os.truncate(documents, len(b"".join(lines[:-gone])) + 30)
    report = verify(tmp_path / "store")
    (finding,) = [finding for finding in report.findings if "vectors name" in finding.what]
    assert finding.what.startswith(f"{gone} vectors name documents that are not there")
    assert (finding.severity, finding.user_id) == (severity, "u")
    assert report.is_sound == (severity == "cosmetic")
