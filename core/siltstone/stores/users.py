"""The users of a store: who they are, each of them opened as they are needed, and what ``STORE`` says of all."""

from __future__ import annotations

import gc
import os
import resource
import sys
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from threading import Lock, Thread
from typing import Final, TypeVar
from weakref import WeakSet

from ..errors import NotFoundError, ReadOnlyError, StoreCorruptedError
from .encryption.cipher import Keys
from .erasure import refused_there
from .files import auditfile, disk, layout, storefile
from .files.headers import read_user
from .files.segments import Vanished
from .files.storefile import StoreFile
from .reading import ReadingStore, check_user_id
from .rules import Rules
from .table.table import Table
from .user import UserStore

_OPEN_USERS: Final = 64
"""Users kept in memory whatever their size, the ones used last."""
_SMALL_USERS: Final = 256
"""Users kept in memory while they are small, which to open anew costs ten times what a search of them does."""
_SMALL_ROWS: Final = 1 << 16
"""Rows of all of them together up to which users count as small, of three to four kB each."""
_FILES: Final = 4
"""Files that a user has open, at most."""
_T = TypeVar("_T")
_stores: WeakSet[Users] = WeakSet()


class Users(ReadingStore):
    """The half of ``FolderStore`` that finds and opens users, for any number of threads, and is safe after ``fork``."""

    def __init__(self, rules: Rules) -> None:
        self._rules, self._root, self._keys = rules, rules.root, rules.keys
        self._settings_path = os.path.join(rules.root, storefile.NAME)
        self._guard = Lock()
        self._users: OrderedDict[str, UserStore] = OrderedDict()
        self._evicted = 0
        self._keeper: Thread | None = None
        self._refused = auditfile.Refused(rules.root, rules.keys)
        self._known: tuple[tuple[int, int, int], StoreFile] | None = None
        _stores.add(self)

    @abstractmethod
    def _end_restore(self) -> None:
        """Make up for the end of a restore that was killed, or wait for one at work."""

    @property
    def settings(self) -> StoreFile:
        """What ``STORE`` says now."""
        return self._settled()

    @property
    def keys(self) -> Keys:
        """What opens the files of the store."""
        return self._keys

    def users(self) -> Iterator[str]:
        """Yield the ids of all users that have a store."""
        for folder in self.user_folders():
            user_id = self._read_user(folder)
            if user_id is not None and self._folder(user_id) == folder:
                yield user_id

    def close(self) -> None:
        """Write caches and release files. A store that is not closed loses nothing."""
        with self._guard:
            users = list(self._users.values())
            self._users.clear()
        for user in users:
            if self._rules.writable:
                user.tend(closing=True)
        if self._keeper is not None:
            self._keeper.join()

    def _table(self, user_id: str) -> Table:
        while True:
            store = self._settled()
            try:
                if self._exists(user_id):
                    return self._user(user_id, store).current(store.space)
            except FileNotFoundError:
                self._drop(user_id)
                if disk.is_folder(self._folder(user_id)):
                    continue  # it was written anew while we read
            except Vanished:
                self._drop(user_id)
            if self._settled() is store:  # else a restore brought others
                return Table.empty(user_id)

    def _writing(self, user_id: str, act: Callable[[UserStore, StoreFile], _T]) -> _T:
        """Do something to a user's store, anew when another process removed or replaced it meanwhile."""
        while True:
            store = self._settled()
            try:
                disk.make_folder(self._folder(user_id, store))
                user = self._user(user_id, store)
                done = act(user, store)
                if user.is_due() or user.is_wasteful():
                    self._tend(user)
                return done
            except (Vanished, FileNotFoundError):
                self._drop(user_id)

    def _user(self, user_id: str, store: StoreFile) -> UserStore:
        with self._guard:
            user = self._users.get(user_id)
            if user is None:
                folder = store.user_folder(self._root, user_id)
                user = UserStore(
                    folder,
                    user_id,
                    self._rules,
                    store.user_key(user_id),
                    lambda: refused_there(self._root, folder, user_id, self._keys) | self._refused.to(user_id),
                    lambda: self._settings().restoring,
                )
                self._users[user_id] = user
                while not fits(len(self._users), self._rows(), _most_files()):
                    _, idle = self._users.popitem(last=False)
                    if self._rules.writable and idle.is_due(closing=True):
                        self._tend(idle, closing=True)
                    self._evicted += 1
                    if self._evicted % _OPEN_USERS == 0:
                        gc.collect()  # a search may still use their files, so that they close with the last reference
            self._users.move_to_end(user_id)
            return user

    def _rows(self) -> Iterator[int]:
        return (user.table.rows.count for user in self._users.values())

    def _tend(self, user: UserStore, *, closing: bool = False) -> None:
        """Write a user's cache and compact their files in the background, unless another one's turn it is."""
        if self._keeper is None or not self._keeper.is_alive():
            self._keeper = Thread(target=user.tend, kwargs={"closing": closing}, name="siltstone-keeper", daemon=True)
            self._keeper.start()

    def _drop(self, user_id: str) -> None:
        with self._guard:
            self._users.pop(user_id, None)

    def _folder(self, user_id: str, store: StoreFile | None = None) -> str:
        check_user_id(user_id)
        return (store or self._settings()).user_folder(self._root, user_id)

    def _read_user(self, folder: str, *, anywhere: bool = False) -> str | None:
        """Return whose folder it is, or ``None`` where that cannot be told: no head of a file is whole, or no key.

        ``anywhere``: also of a sealed one that was moved.
        """
        try:
            return read_user(folder, self._keys.cipher(folder, removed=anywhere))
        except StoreCorruptedError:
            return None

    def _exists(self, user_id: str) -> bool:
        return user_id in self._users or disk.is_folder(self._folder(user_id))

    def user_folders(self) -> Iterator[str]:
        """Yield the folders of all users, readable or not."""
        self._settled()
        return layout.user_folders(self._root)

    # --- settings

    def _settled(self) -> StoreFile:
        """Return what ``STORE`` says once no restore is under way; the end of a killed one is made up for.

        Not under the lock of a user, which that needs: whoever has one looks at ``restoring``, and begins anew.
        """
        while (store := self._settings()).restoring:
            self._end_restore()
        return store

    def _settings(self) -> StoreFile:
        """Return what ``STORE`` says now: one system call while it is the file that was read last."""
        try:
            found = disk.status(self._settings_path)
        except FileNotFoundError as exc:
            raise NotFoundError(f"the store {self._root} is gone") from exc
        seen = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
        known = self._known
        if known is None or known[0] != seen:
            known = seen, storefile.read(self._root, self._keys)
            self._known = known  # at once: another thread may read another state
        return known[1]

    def _may_write(self) -> None:
        if not self._rules.writable:
            raise ReadOnlyError.opened(self._root)

    def _forked(self) -> None:
        """Begin anew in a child process: locks and files belong to the parent."""
        self._guard = Lock()
        self._users = OrderedDict()
        self._refused = auditfile.Refused(self._root, self._keys)
        self._keeper = None


def fits(users: int, rows: Iterable[int], files: int) -> bool:
    """Return whether so many users may stay open: few, or small ones, with half of the files that may be open."""
    if users <= _OPEN_USERS:
        return True
    return users <= min(_SMALL_USERS, files // 2 // _FILES) and sum(rows) <= _SMALL_ROWS


def _most_files() -> int:
    """Return how many files this process may have open."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if most == resource.RLIM_INFINITY else most


def _after_fork() -> None:
    for store in list(_stores):
        store._forked()


os.register_at_fork(after_in_child=_after_fork)
