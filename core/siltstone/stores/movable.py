"""A folder as one side of a migration; see ``moving``."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

import numpy as np
import numpy.typing as npt

from .encryption.cipher import Keys
from .erasure import refused_there
from .files import auditfile, disk, layout, pagefile, storefile
from .files.auditfile import Deed
from .files.lock import FileLock
from .files.storefile import StoreFile
from .folder import FolderStore
from .moving import Kept, changed, unreadable
from .table.kept import order_of
from .table.table import Table

_AT_ONCE: Final = 1_000
"""Versions of which the vectors are read at once, and lines of an audit that are written at once."""
_CONTENT: Final = (
    layout.USERS, layout.UNFINISHED, layout.TRASH, layout.QUARANTINE, "migration", "restoring", storefile.KEYS
)  # fmt: skip


class MovableFolder(FolderStore):
    """A ``FolderStore`` that can be moved as a whole, or into which another store is moved."""

    @property
    def secret(self) -> bytes:
        """What keys the hashes of the store."""
        return self.settings.secret

    # --- reading

    def everybody(self) -> Iterator[str]:
        """Yield all who have anything, or to whom anything is refused."""
        known: set[str] = set()
        for folder in self.user_folders():
            user_id = self._read_user(folder)
            if user_id is not None and self._folder(user_id) == folder:
                known.add(user_id)
                yield user_id
            elif any(disk.size(os.path.join(folder, name)) for name in disk.names(folder) if _is_of_documents(name)):
                raise unreadable(self.location, f"{folder} does not tell whose it is, or lies in another's place")
        for user_id in auditfile.refusals(self._root, self._keys):
            if user_id not in known and self.refusing(user_id):
                yield user_id

    def kept_count(self, user_id: str) -> int:
        """Return how many versions ``kept`` yields. O(rows)."""
        return len(_rows(self._table(user_id)))

    def kept(self, user_id: str) -> Iterator[Kept]:
        """Yield every version of every item, in order of writing."""
        table = self._table(user_id)
        view = table.view
        user = self._users.get(user_id)
        if user is not None and (lost := user.losses()):
            raise unreadable(self.location, f"of user {user_id!r}, {'; '.join(lost)}")
        rows = _rows(table)
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            live = view.alive[some]
            vectors = self.vectors(user_id, view.rows["number"][some].tolist()).astype(np.float16)
            for row, present, vector in zip(some.tolist(), live.tolist(), vectors, strict=True):
                item = table.item(row)
                if item is None and self._table(user_id).view is not view:
                    raise changed(self.location, user_id)
                if item is None:
                    raise unreadable(self.location, f"a document of user {user_id!r} does not check")
                has_vector = present and bool(len(vector)) and not np.isnan(vector[0])
                yield Kept(item, present, vector if has_vector else None)

    def refusing(self, user_id: str) -> set[str]:
        """Return the hashes of all that is refused to a user, in their documents or by the audit."""
        folder = self._folder(user_id)
        waiting = refused_there(self._root, folder, user_id, self._keys)
        return super().refusing(user_id) | self._refused.to(user_id) | waiting

    def deeds(self) -> Iterator[Deed]:
        """Yield the lines of the audit, the oldest first."""
        return auditfile.read(self._root, self._keys)

    # --- writing

    def load(self, user_id: str, kept: Sequence[Kept], after: int) -> None:
        """Write versions all or none, behind the ``after`` versions that are there."""
        self._may_write()
        self._writing(user_id, lambda user, store: user.load(kept, after, store.space))

    def refuse(self, user_id: str, hashes: Set[str]) -> None:
        """Refuse from now on what the hashes stand for; what the audit tells already needs no folder of the user's."""
        if new := hashes - self.refusing(user_id):
            self.remove_again(user_id, [], new)

    def note(self, deeds: Iterable[Deed]) -> None:
        """Write lines of the audit that are not there yet."""
        known = {deed.key for deed in self.deeds()}
        new = [deed for deed in deeds if deed.key not in known]
        for first in range(0, len(new), _AT_ONCE):
            rules = self._rules
            some = new[first : first + _AT_ONCE]
            auditfile.append_locked(self._root, some, self._keys, durable=rules.durable, timeout=rules.lock_timeout)

    def discard(self, user_id: str) -> None:
        """Take out all that a user has; nobody reads a half-done store, so that it need not happen at once."""
        folder = self._folder(user_id)
        self._drop(user_id)
        if disk.is_folder(folder):
            self._keys.destroy(folder)
            for number in reversed(layout.segment_numbers(folder)):  # the first says whose it is, and goes last
                disk.unlink(os.path.join(folder, layout.segment_name(number)))
            disk.remove_tree(folder)

    def settle(self) -> None:
        """Let others open the store."""
        with FileLock(os.path.join(self._root, "LOCK")).held(self._rules.lock_timeout):
            store = dataclasses.replace(self._settings(), moving=False, damaged=False)
            storefile.write(self._root, store, self._keys)


def found_in(root: str, key: bytes | str | None) -> tuple[StoreFile, bool] | None:
    """Return what ``STORE`` says and whether anything is in the store; ``None`` where there is no store.

    Raises what ``storefile.unlock`` raises. Nothing is written.
    """
    if not storefile.exists(root):
        return None
    keys: Keys = storefile.unlock(root, key)
    settings = storefile.settings(storefile.document(root), keys)
    empty = next(layout.user_folders(root), None) is None and next(auditfile.read(root, keys), None) is None
    return settings, not empty


def wipe(root: str) -> None:
    """Delete a store for good, ``STORE`` last: killed in between, it is still one, and can be wiped again."""
    for name in _CONTENT:
        if disk.is_folder(os.path.join(root, name)):
            disk.remove_tree(os.path.join(root, name))
    for name in (pagefile.USAGE, pagefile.OWED, auditfile.NAME, storefile.NAME):
        disk.unlink(os.path.join(root, name))
    disk.sync_folder(root)


def _is_of_documents(name: str) -> bool:
    return layout.segment_number(name) is not None


def _rows(table: Table) -> npt.NDArray[np.int64]:
    """Return the rows of the versions that are moved, in order."""
    rows, there = table.view.rows, np.flatnonzero(table.view.rows["place"] >= 0)
    number, origin, version = (rows[name][there] for name in ("number", "origin", "version"))
    return there[order_of(number, origin, version, table.view.alive[there], table.history)]
