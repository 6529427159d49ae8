"""Files as the embedded store uses them: plain system calls, errors in siltstone's words, steps that can be watched.

Every step that changes something on disk raises the audit event ``siltstone.disk`` with its name and path before and
after (``sys.addaudithook``): the crash harness kills there.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from ...errors import BackendUnavailableError, ConfigurationError, ReadOnlyError, SiltstoneError

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
_FORBIDDEN: Final = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))


def _datasync(fd: int) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync alone leaves data in the disk's own cache
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(fd)


@contextmanager
def step(name: str, path: str) -> Iterator[None]:
    """Announce a change on disk, and translate what goes wrong with it; what is gone is a ``FileNotFoundError``."""
    sys.audit("siltstone.disk", f"before {name}", path)
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise translated(exc, path) from exc
    sys.audit("siltstone.disk", f"after {name}", path)


@contextmanager
def looking(path: str) -> Iterator[None]:
    """Translate what goes wrong with a look at the disk; what is not there stays a ``FileNotFoundError``."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as exc:
        raise translated(exc, path) from exc


def status(path: str, fd: int | None = None) -> os.stat_result:
    """Return what the disk knows of a file or folder; ``FileNotFoundError`` where there is none.

    With ``fd`` it is the open file that is asked after, whatever lies at the path by now.
    """
    try:  # looked at a dozen times in every write: not ``looking``, which takes longer than the system call
        return os.stat(path if fd is None else fd)
    except FileNotFoundError:
        raise
    except NotADirectoryError as exc:
        raise FileNotFoundError(path) from exc
    except OSError as exc:
        raise translated(exc, path) from exc


def exists(path: str) -> bool:
    """Return whether there is a file or folder; a disk that does not answer is an error, never a no."""
    try:
        status(path)
    except FileNotFoundError:
        return False
    return True


def is_folder(path: str) -> bool:
    """Return whether there is a folder; a disk that does not answer is an error, never a no."""
    try:
        return stat.S_ISDIR(status(path).st_mode)
    except FileNotFoundError:
        return False


def is_link(path: str) -> bool:
    """Return whether a path is a symbolic link; a disk that does not answer is an error, never a no."""
    try:
        with looking(path):
            return stat.S_ISLNK(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def size(path: str) -> int:
    """Return the bytes of a file, 0 where there is none."""
    try:
        return status(path).st_size
    except FileNotFoundError:
        return 0


def names(folder: str, *, missing_ok: bool = False) -> list[str]:
    """Return the names in a folder, sorted.

    Raises ``FileNotFoundError`` where there is none; with ``missing_ok`` there are no names then.
    """
    try:
        with looking(folder):
            return sorted(os.listdir(folder))
    except FileNotFoundError:
        if missing_ok:
            return []
        raise


def links(folder: str) -> list[str]:
    """Return the names in a folder that are symbolic links, sorted; none where there is no folder."""
    try:
        with looking(folder), os.scandir(folder) as found:
            return sorted(each.name for each in found if each.is_symlink())
    except FileNotFoundError:
        return []


def walk(root: str, *, topdown: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk through a folder as ``os.walk`` does, which passes over what it cannot list: here that is an error.

    What goes meanwhile is passed over.
    """

    def refuse(exc: OSError) -> None:
        if not isinstance(exc, FileNotFoundError):
            raise translated(exc, exc.filename or root) from exc

    return os.walk(root, topdown, refuse)


def translated(exc: OSError, path: str) -> SiltstoneError:
    """Return the error of siltstone's tree for a failed system call."""
    if exc.errno in _FORBIDDEN:
        return ReadOnlyError(
            f"{path} cannot be written ({exc.strerror}); nothing was stored: open with read_only=True, or give access"
        )
    if exc.errno in _FULL:
        return BackendUnavailableError(f"no room left for {path}; nothing was stored: free some space and retry")
    if exc.errno in (errno.ENOTDIR, errno.ENAMETOOLONG, errno.EISDIR):
        return ConfigurationError(f"{path} cannot be used: {exc.strerror}")
    return BackendUnavailableError(f"{path}: {exc.strerror}; what was stored before is safe: check the disk and retry")


class File:
    """An open file, read and written by position. It closes itself when nothing refers to it any more."""

    def __init__(self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False) -> None:
        """Open ``path``; a missing file raises ``FileNotFoundError`` unless ``create``.

        A link to nothing is a disk that does not answer: what it leads to may be there tomorrow.
        """
        self.path = path
        flags = os.O_RDWR if write else os.O_RDONLY
        flags |= (os.O_CREAT if create else 0) | (os.O_EXCL if exclusive else 0) | os.O_CLOEXEC
        self.fd = -1
        try:
            with looking(path):
                self.fd = os.open(path, flags, FILE_MODE)
        except FileNotFoundError as exc:
            if is_link(path):
                raise BackendUnavailableError(
                    f"{path} is a symbolic link to {os.readlink(path)}, where nothing is; what was stored before is as "
                    "safe as that: bring it back, and retry (siltstone verify names all links)"
                ) from exc
            raise

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file now; it cannot be used afterwards."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            with suppress(OSError):  # closed all the same, and what must not be lost was synced before
                os.close(fd)

    @property
    def status(self) -> os.stat_result:
        """What the disk knows of it."""
        return status(self.path, self.fd)

    @property
    def inode(self) -> int:
        """The file's identity on its disk."""
        return self.status.st_ino

    @property
    def size(self) -> int:
        """Bytes."""
        return self.status.st_size

    def read(self, start: int, size: int) -> bytes:
        """Return ``size`` bytes from ``start``, fewer at the end of the file."""
        try:
            data = os.pread(self.fd, size, start)
            while 0 < len(data) < size:
                more = os.pread(self.fd, size - len(data), start + len(data))
                if not more:
                    break
                data += more
        except OSError as exc:
            raise translated(exc, self.path) from exc
        return data

    def mapped(self, size: int) -> mmap.mmap:
        """Return the first ``size`` bytes, to be read where the system keeps them."""
        with looking(self.path):
            return mmap.mmap(self.fd, size, access=mmap.ACCESS_READ)

    def write(self, data: bytes, start: int) -> None:
        """Write all of ``data`` at ``start``."""
        with step("write", self.path):
            view = memoryview(data)
            while view:
                done = os.pwrite(self.fd, view, start)
                view, start = view[done:], start + done

    def sync(self) -> None:
        """Return when what was written is on disk."""
        with step("sync", self.path):
            _datasync(self.fd)

    def truncate(self, size: int) -> None:
        """Cut the file."""
        with step("truncate", self.path):
            os.ftruncate(self.fd, size)


def make_folder(path: str) -> None:
    """Create a folder and its parents, for the owner alone; on disk when it returns."""
    missing: list[str] = []
    while not is_folder(path):
        if exists(path) and not is_folder(path):  # twice: another process may make it right now
            raise ConfigurationError(f"{path} is a file: it cannot hold a store")
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with step("mkdir", folder):
            try:
                os.mkdir(folder, FOLDER_MODE)
            except FileExistsError:
                if not is_folder(folder):
                    raise
            except FileNotFoundError as exc:
                if not is_folder(os.path.dirname(folder)):  # another process has just removed it
                    raise
                raise ConfigurationError(
                    f"{os.path.dirname(folder)} takes no folders, so {folder} cannot be made and nothing was changed: "
                    "choose a place on a disk"
                ) from exc
        sync_folder(os.path.dirname(folder))


def protect(path: str) -> None:
    """Let only the owner read and write a file or folder."""
    with step("chmod", path):
        os.chmod(path, FOLDER_MODE if is_folder(path) else FILE_MODE)


def sync_folder(path: str) -> None:
    """Return when the folder's entries are on disk."""
    with step("sync", path):
        fd = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def replace(path: str, data: bytes) -> None:
    """Put ``data`` in the place of a file: the old or the new, never between; on disk when it returns.

    What cannot be put there is taken away: it would keep a full disk full.
    """
    new = f"{path}.new"
    try:
        file = File(new, write=True, create=True)
        file.truncate(0)
        file.write(data, 0)
        file.sync()
        rename(new, path)
    except SiltstoneError:
        with suppress(SiltstoneError):
            unlink(new)
        raise


def copy(path: str, target: str) -> None:
    """Put a copy of a file in the place of another: the old or the new; on disk when it returns."""
    file = File(path)
    replace(target, file.read(0, file.size))


def touch(path: str) -> None:
    """Make sure that a file is there; on disk when it returns."""
    with step("create", path):
        File(path, write=True, create=True)
    sync_folder(os.path.dirname(path))


def rename(old: str, new: str) -> None:
    """Rename a file or folder, within its folder or to another; on disk when it returns."""
    with step("rename", new):
        os.rename(old, new)
    there, here = os.path.dirname(new), os.path.dirname(old)
    sync_folder(there)
    if here != there:  # second: after a power loss it may be in both places, never in none
        sync_folder(here)


def remove_tree(path: str) -> None:
    """Remove a folder with everything in it. What cannot be removed is passed over, and raised in the end."""
    failures: list[SiltstoneError] = []
    unlisted: list[OSError] = []
    for folder, folders, found in os.walk(path, topdown=False, onerror=unlisted.append):
        for name in (*found, *(name for name in folders if is_link(os.path.join(folder, name)))):
            try:
                unlink(os.path.join(folder, name))
            except SiltstoneError as exc:
                failures.append(exc)
        try:
            if is_link(folder):  # the top one: what it led to is empty by now
                unlink(folder)
                continue
            with step("rmdir", folder), suppress(FileNotFoundError):
                os.rmdir(folder)
        except SiltstoneError as exc:
            failures.append(exc)
    failures += [translated(exc, path) for exc in unlisted if not isinstance(exc, FileNotFoundError)]
    if failures:
        raise failures[0]


def remove_empty(path: str) -> None:
    """Remove a folder if nothing is in it."""
    if not names(path):
        with step("rmdir", path), suppress(FileNotFoundError):
            os.rmdir(path)


def unlink(path: str) -> None:
    """Remove a file if it is there."""
    with step("unlink", path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
