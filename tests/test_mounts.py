"""File systems of the network are recognised, warned of once, and refused where their locks shut nobody out."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from siltstone.errors import ConfigurationError
from siltstone.stores.files import mounts
from siltstone.stores.files.mounts import Mount, _excludes, mount_of
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import backup, restore

MOUNTINFO = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid shared:12 - proc proc rw
40 22 0:36 / /home rw,relatime shared:20 - nfs4 server:/home rw,vers=4.2
41 40 8:2 / /home/alice/fast rw,relatime - xfs /dev/nvme0n1p1 rw
42 22 0:40 / /mnt/my\040share rw shared:30 master:2 - cifs //nas/share rw
43 22 0:41 / /srv/box rw - fuse.sshfs me@host:/ rw
44 22 0:42 / /srv/mine rw - fuse.gocryptfs /srv/.mine rw
45 22 0:43 / /over rw - nfs server:/a rw
46 22 0:44 / /over rw - ext4 /dev/sdb1 rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind", "remote"),
    [
        ("/", "ext4", False),
        ("/var/lib/memory", "ext4", False),
        ("/home/alice/memory", "nfs4", True),
        ("/home/alice/fast", "xfs", False),
        ("/home/alice/fast/memory", "xfs", False),
        ("/home/alice/faster", "nfs4", True),
        ("/homeless", "ext4", False),
        ("/mnt/my share/记忆", "cifs", True),
        ("/srv/box/memory", "fuse.sshfs", True),
        ("/srv/mine/memory", "fuse.gocryptfs", False),
        ("/over/memory", "ext4", False),
    ],
)
def test_the_file_system_of_a_path(path: str, kind: str, remote: bool) -> None:
    """The innermost mount counts, the later of two on one place, and only those of the network are remote."""
    found = mount_of(path, MOUNTINFO)
    assert found is not None
    assert (found.kind, found.is_remote) == (kind, remote)


def test_nothing_is_known_of_nothing() -> None:
    """Without mounts there is no answer; unknown kinds are taken for local."""
    assert mount_of("/x", "") is None
    assert not Mount("/", "newfs").is_remote


@pytest.fixture
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the system says lies on NFS."""
    folder, told = tmp_path / "share", tmp_path / "mountinfo"
    folder.mkdir()
    told.write_text(f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 0:36 / {folder} rw - nfs4 server:/home rw\n")
    monkeypatch.setattr(mounts, "MOUNTINFO", str(told))
    return folder


def test_a_store_on_the_network_is_warned_of_once(share: Path) -> None:
    """However many stores of a share are opened, one warning says what to do; reading alone needs none."""
    with pytest.warns(UserWarning, match="from one machine at a time"):
        FolderStore(share / "a").close()
    FolderStore(share / "a").close()  # a second warning would be an error here
    FolderStore(share / "b").close()
    FolderStore(share / "a", read_only=True).close()
    assert {path.name for path in share.iterdir()} == {"a", "b"}


def test_locks_that_shut_nobody_out_refuse_a_store(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store is neither made, opened for writing nor restored there, each time anew, and nothing is on disk of it."""
    local = share.parent / "local"
    FolderStore(local).close()
    backup(local, share.parent / "backup")
    monkeypatch.setattr(fcntl, "flock", lambda fd, how: None)
    for _ in range(2):
        for act in (FolderStore, lambda place: restore(share.parent / "backup", place)):
            with pytest.raises(ConfigurationError, match=r"shut nobody out.*nothing was changed"):
                act(share / "deep" / "store")
    assert list(share.iterdir()) == []


def test_the_probe_tells_locks_that_hold(tmp_path: Path) -> None:
    """On a local disk a lock that is held keeps another one out, and nothing is left of the probe."""
    assert _excludes(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
