"""What was forgotten from a store since a copy of it was made, and is to be forgotten from the copy, too.

Its audit tells, and so do the users' folders: those that wait in ``trash/`` to be deleted, and the documents of the
others, which hold what each refuses. Where the audit lacks what they refuse, it has lost lines, and cannot be trusted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from ...errors import SiltstoneError, StoreCorruptedError
from ...records import Message
from ..encryption.cipher import Keys
from ..erasure import erasures
from ..files import auditfile, disk, storefile
from ..files.auditfile import Deed
from ..files.codec import canonical
from ..files.layout import segment_numbers
from ..files.lock import FileLock
from ..folder import FolderStore


@dataclass
class Replay:
    """Brings a copy of a store up to what was forgotten from the store since.

    ``copied``: how many bytes of the audit were written before a user's folder was copied, by its name; ``before``:
    where the line of each deed that the copy's audit has begins, and ``noted`` those deeds: some were done between the
    copy of a user's folder and that of the audit. ``forgotten`` counts items, ``erased`` names users; ``doubtful`` are
    the ids, by user, of what stays although it says the same as something forgotten under another id: where the store
    cannot tell any more, ids do.
    """

    root: str
    copy: str
    keys: Keys
    copied: Mapping[str, int]
    before: Mapping[int, int]
    noted: Sequence[Deed]
    forgotten: int = 0
    erased: set[str] = field(default_factory=set)
    doubtful: dict[str, list[str]] = field(default_factory=dict)
    _done: set[int] = field(default_factory=set)

    def run(self) -> bool:
        """Forget again, and for good, what was forgotten since the last run; return whether there was anything."""
        deeds = list(self._due())
        if deeds:
            self._erase(deeds)
            theirs: dict[str, list[Deed]] = {}
            for deed in deeds:
                assert deed.user_id is not None
                theirs.setdefault(deed.user_id, []).append(deed)
            with closing(FolderStore(self.copy, create=False, keys=self.keys)) as store:
                for user_id, done in theirs.items():
                    self._forget(store, user_id, done)
            self._done.update(deed.key for deed in deeds)
        return bool(deeds)

    def _forget(self, store: FolderStore, user_id: str, deeds: Sequence[Deed]) -> None:
        """Forget what was forgotten of one user: what the deeds name at once, so that their files are written once."""
        unnamed = {hash for deed in deeds if not _is_named(deed) for hash in deed.hashes}
        if anew := unnamed - store.refusing(user_id):
            self.forgotten += store.remove_refused(user_id, anew, partial(self._still, user_id))
        ids_of = store.named(user_id, {name for deed in deeds for name in deed.hashed or ()})
        ids = {deed.key: [*deed.ids, *(ids_of.get(name, name) for name in deed.hashed or ())] for deed in deeds}
        hashes = {hash for deed in deeds if _is_named(deed) for hash in deed.hashes}
        anew = hashes - store.refusing(user_id)
        out = [id for deed in deeds if not deed.hashes for id in ids[deed.key]]
        back = self._back(store, user_id, out).difference(*(ids[deed.key] for deed in deeds if deed.hashes))
        if going := [id for found in ids.values() for id in found if id not in back]:
            self.forgotten += store.remove_again(user_id, going, hashes)
        if anew and self._has(user_id):  # in the copy it may go by another id
            self.forgotten += store.remove_refused(user_id, anew, partial(self._still, user_id))
        elif anew and (alike := store.matching(user_id, anew)):
            self.doubtful.setdefault(user_id, []).extend(alike)

    def _back(self, store: FolderStore, user_id: str, ids: Sequence[str]) -> set[str]:
        """Return which messages of the copy, taken out without being refused, the store has again.

        A transcript that was sent later held them, under the same ids or others.
        """
        found = [each for each in store.fetch(user_id, ids) if each is not None] if ids else []
        there = [(each.id, each.message) for each in found if each.message is not None and each.version == 1]
        back: set[str] = set()
        with self._living() as living, suppress(SiltstoneError, FileNotFoundError):
            for session in {message.session_id or "" for _, message in there} if living is not None else ():
                assert living is not None
                held = {message.id for message in store.messages(user_id, session)}.difference(ids)
                said = Counter(_says(m) for m in living.messages(user_id, session) if m.id not in held)
                for id, message in there:
                    if (message.session_id or "") == session and said[_says(message)]:
                        said[_says(message)] -= 1
                        back.add(id)
        return back

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

    def _has(self, user_id: str) -> bool:
        """Return whether the store can tell what it has still: of two messages that say the same, one was forgotten."""
        with self._living() as living:
            folder = None if living is None else living.settings.user_folder(self.root, user_id)
            return folder is not None and disk.is_folder(folder) and bool(segment_numbers(folder))

    @contextmanager
    def _living(self) -> Iterator[FolderStore | None]:
        """Open the store to be read, where there is enough of it."""
        try:
            store = FolderStore(self.root, read_only=True, keys=self.keys)
        except (SiltstoneError, FileNotFoundError):
            yield None
            return
        with closing(store):
            yield store

    def _still(self, user_id: str, ids: list[str]) -> set[str]:
        """Return which ids the store has, all the same; none where it cannot be read."""
        with self._living() as living, suppress(SiltstoneError, FileNotFoundError):
            if living is not None:
                return {id for id, found in zip(ids, living.fetch(user_id, ids), strict=True) if found is not None}
        return set()


def _is_named(deed: Deed) -> bool:
    return bool(deed.ids or deed.hashed)


def _says(message: Message) -> tuple[object, ...]:
    return message.role, message.name, message.content, canonical(message.metadata or {})


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
