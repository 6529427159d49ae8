"""What was forgotten from a store since a copy of it was made, and is to be forgotten from the copy, too.

Its audit tells, and so do the users' folders: those that wait in ``trash/`` to be deleted, and the documents of the
others, which hold what each refuses. Where the audit lacks what they refuse, it has lost lines, and cannot be trusted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial

from ...errors import SiltstoneError, StoreCorruptedError
from ..encryption.cipher import Keys
from ..erasure import erasures
from ..files import auditfile, disk, storefile
from ..files.auditfile import Deed
from ..files.lock import FileLock
from ..folder import FolderStore


@dataclass
class Replay:
    """Brings a copy of a store up to what was forgotten from the store since.

    ``copied``: how many bytes of the audit were written before a user's folder was copied, by its name; ``before``:
    where the line of each deed that the copy's audit has begins, and ``noted`` those deeds: some were done between the
    copy of a user's folder and that of the audit. ``forgotten`` counts items, ``erased`` names users.
    """

    root: str
    copy: str
    keys: Keys
    copied: Mapping[str, int]
    before: Mapping[int, int]
    noted: Sequence[Deed]
    forgotten: int = 0
    erased: set[str] = field(default_factory=set)
    _done: set[int] = field(default_factory=set)

    def run(self) -> bool:
        """Forget again, and for good, what was forgotten since the last run; return whether there was anything."""
        deeds = list(self._due())
        if deeds:
            self._erase(deeds)
            with closing(FolderStore(self.copy, create=False, keys=self.keys)) as store:
                for deed in deeds:
                    assert deed.user_id is not None
                    if deed.ids:
                        self.forgotten += store.remove_again(deed.user_id, deed.ids, deed.hashes)
                    elif deed.hashes:
                        self.forgotten += store.remove_refused(
                            deed.user_id, set(deed.hashes), partial(self._still, deed.user_id)
                        )
                    self._done.add(deed.key)
        return bool(deeds)

    def _due(self) -> Iterator[Deed]:
        store = storefile.read(self.copy, self.keys)
        seen = set(self._done)
        told = [*auditfile.read(self.root, self.keys), *erasures(self.root, self.keys)]
        for at, deed in enumerate((*told, *self.noted)):
            if deed.user_id is None or deed.action not in ("forget", "erase") or deed.key in seen:
                continue
            seen.add(deed.key)
            folder = os.path.basename(store.user_folder(self.root, deed.user_id))
            if at >= len(told) and folder not in self.copied:
                continue  # there was nothing of theirs left to be copied
            copied = self.copied.get(folder, 0)
            if self.before.get(deed.key, copied) >= copied:
                yield deed

    def _erase(self, deeds: list[Deed]) -> None:
        """Remove the folders of those who were erased; what they refuse stays refused."""
        settings = storefile.read(self.copy, self.keys)
        users = {deed.user_id for deed in deeds if deed.action == "erase" and deed.user_id is not None}
        refused = auditfile.refusals(self.root, self.keys) if users else {}
        for user_id in users:
            folder = settings.user_folder(self.copy, user_id)
            if disk.is_folder(folder):
                disk.remove_tree(folder)
                self.erased.add(user_id)
                noted = {hash for deed in self.noted if deed.user_id == user_id for hash in deed.hashes}
                hashes = tuple(refused.get(user_id, set()) | noted)
                deeds.append(Deed("forget", user_id=user_id, hashes=hashes))

    def compare(self, timeout: float) -> None:
        """Forget what the documents of the store's users refuse and the copy has still.

        Raises ``StoreCorruptedError`` where the audit lacks some of it.
        """
        with closing(FolderStore(self.root, read_only=True, keys=self.keys)) as living:
            refused = dict(_refused(living))
        if unnamed(self.root, self.keys, refused, timeout):
            raise lacking(self.root)
        with closing(FolderStore(self.copy, create=False, keys=self.keys)) as store:
            for user_id, hashes in refused.items():
                if missing := hashes - store.refusing(user_id):
                    self.forgotten += store.remove_refused(user_id, missing, partial(self._still, user_id))

    def _still(self, user_id: str, ids: list[str]) -> set[str]:
        """Return which ids the store has, all the same; none where it cannot be read."""
        with suppress(SiltstoneError), closing(FolderStore(self.root, read_only=True, keys=self.keys)) as living:
            return {id for id, found in zip(ids, living.fetch(user_id, ids), strict=True) if found is not None}
        return set()


def _refused(store: FolderStore) -> Iterator[tuple[str, set[str]]]:
    for user_id in store.users():
        with suppress(StoreCorruptedError):  # what can be read of the others is known all the same
            if refused := store.refusing(user_id):
                yield user_id, refused


def unnamed(root: str, keys: Keys, refused: Mapping[str, Set[str]], timeout: float) -> dict[str, set[str]]:
    """Return what users' documents refuse, as they were a moment ago, and no line of the audit names.

    Whoever forgets something writes its line before they let go of the user; one who is erased has it at the end.
    """
    missing = _unnamed(root, keys, refused)
    if missing:
        settings = storefile.read(root, keys)
        for user_id in missing:
            lock = FileLock(os.path.join(settings.user_folder(root, user_id), "LOCK"), write=False)
            with suppress(FileNotFoundError), lock.held(timeout):
                pass
        leaving = {deed.user_id for deed in erasures(root, keys)}
        missing = _unnamed(root, keys, {user: hashes for user, hashes in missing.items() if user not in leaving})
    return missing


def _unnamed(root: str, keys: Keys, refused: Mapping[str, Set[str]]) -> dict[str, set[str]]:
    named = auditfile.refusals(root, keys)
    return {user_id: set(rest) for user_id, hashes in refused.items() if (rest := hashes - named.get(user_id, set()))}


def lacking(root: str) -> StoreCorruptedError:
    """Return the error for a store whose audit has lost lines."""
    return StoreCorruptedError(
        f"{root}/{auditfile.NAME} has lost lines, so that what was forgotten since the backup is not known in full; "
        f"nothing was changed: siltstone verify --repair --store {root} makes up for what can be told, then restore"
    )
