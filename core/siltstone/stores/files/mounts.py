"""File systems on which locks of several machines cannot be relied on; recognised by their kind, on Linux only.

Elsewhere nothing is known, and nothing said. Kinds: ``mount(8)`` and ``/proc/self/mountinfo`` of ``proc(5)``.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import warnings
from dataclasses import dataclass
from typing import Final

from ...errors import ConfigurationError
from . import disk
from .disk import File

MOUNTINFO = "/proc/self/mountinfo"
_REMOTE: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ncpfs", "davfs", "vboxsf", "prl_fs", "virtiofs", "drvfs")
)
_REMOTE_FUSE: Final = re.compile(
    r"fuse\.(sshfs|s3fs|s3ql|rclone|gcsfuse|goofys|blobfuse2?|davfs2?|curlftpfs|glusterfs|smb.*)"
)
_told: set[str] = set()
"""Where the file systems are mounted that were warned of."""


@dataclass(frozen=True)
class Mount:
    """Where a file system is mounted, and its kind."""

    place: str
    kind: str

    @property
    def is_remote(self) -> bool:
        """Whether other machines may write to it."""
        return self.kind in _REMOTE or _REMOTE_FUSE.fullmatch(self.kind) is not None


def mount_of(path: str, mountinfo: str) -> Mount | None:
    """Return the file system that a resolved path lies on, as ``/proc/self/mountinfo`` tells it."""
    found: Mount | None = None
    for line in mountinfo.splitlines():
        fields, dash, rest = line.partition(" - ")
        columns = fields.split(" ")
        if not dash or len(columns) < 5 or not rest:
            continue
        place = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), columns[4])
        inside = path == place or path.startswith(place.rstrip("/") + "/")
        if inside and (
            found is None or len(place) >= len(found.place)
        ):  # of two on one place, the later hides the other
            found = Mount(place, rest.split(" ")[0])
    return found


def check(root: str) -> None:
    """Warn, once in a process for each file system, of a store on one of the network; the store need not be there yet.

    Raises ``ConfigurationError`` where even within this machine its locks shut nobody out. Leaves nothing on disk.
    """
    where = os.path.realpath(root)
    try:
        with open(MOUNTINFO, encoding="utf-8", errors="surrogateescape") as file:
            mount = mount_of(where, file.read())
    except OSError:
        return  # not Linux, or nothing that we may look at
    if mount is None or not mount.is_remote:
        return
    while not disk.is_folder(where):
        where = os.path.dirname(where)
    if not _excludes(where):
        raise ConfigurationError(
            f"{root} lies on {mount.kind} ({mount.place}), whose locks shut nobody out: two writers would damage the "
            "store; nothing was changed: put it on a local disk"
        )
    if mount.place in _told:
        return
    _told.add(mount.place)
    warnings.warn(
        f"{root} lies on {mount.kind} ({mount.place}), a file system of the network, whose locks may not hold between "
        "machines: use it from one machine at a time, or put it on a local disk",
        stacklevel=2,
    )


def _excludes(folder: str) -> bool:
    """Return whether a lock on a file of a folder keeps another one out."""
    path = os.path.join(folder, f".siltstone-{secrets.token_hex(8)}")
    one = File(path, write=True, create=True, exclusive=True)
    try:
        other = File(path, write=True)
        fcntl.flock(one.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        disk.unlink(path)
    return False
