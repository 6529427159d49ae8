"""The embedded store: a folder, and in it a small store of its own for every user.

::

    store/
      STORE                            format, secret of the hashes, embedding space; two copies
      KEYS/                            encrypted stores only, see ``encryption.keys``
      LOCK                             taken while STORE or USAGE is replaced, or AUDIT grows
      AUDIT                            what was forgotten, restored and repaired: ids and counts, no text
      USAGE                            where language models have limits: what they were used for, in numbers
      users/ab/<name>-<hash>/
        LOCK                           the writer of this user
        KEY                            encrypted stores only: which of the keys is theirs
        docs.000001.jsonl              framed documents: the truth
        vectors.0000x384.000000.f16    vectors, each naming its document
        cache                          indexes, ready to be mapped; made anew when it does not check
      unfinished/                      names users whose removals are under way
      trash/                           users being removed; emptied by every removal and every open
      quarantine/                      damaged pieces that a repair took out; a user's go with their next removal
      migration/                       copies of what a migration touches, until it has succeeded
      restoring/                       what a restore puts into the place of the users
"""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, Literal

from ..errors import (
    BackendUnavailableError,
    ConfigurationError,
    SiltstoneError,
)
from ..protocols import Commit, Fingerprint, Floats, Progress, Put, Refusal, StoreStats
from ..records import ForgetReport, Record
from .aftermath import DONE, telling
from .encryption.cipher import NO_KEYS, Keys
from .erasure import erasure
from .files import auditfile, disk, layout, mounts, pagefile, removed, storefile
from .files.auditfile import Deed
from .files.hashedids import hashed_id
from .files.headers import misplaced
from .files.lock import LOCK_TIMEOUT, FileLock
from .files.segments import Vanished
from .files.storefile import FORMAT, StoreFile
from .files.vectorfile import drop_older
from .maintenance import manifest, quarantine, restored
from .migrations.run import migrate
from .moving import half_done
from .prepare import prepare
from .reading import same_space, stats_of
from .rules import Rules
from .table.plan import Refusals, refused_of
from .table.table import HISTORY
from .user import UserStore
from .users import Users


class FolderStore(Users):
    """A store in a folder on a local disk, for any number of threads and processes.

    ``path``          the folder; it is created if it does not exist and ``create`` is set
    ``durability``    ``fsync``: a commit survives power loss; ``os``: it survives a killed process
    ``read_only``     write nothing, repair nothing
    ``lock_timeout``  seconds that a writer waits for another one, then ``StoreLockedError``

    ``segment_size``  bytes after which a user's documents go on in another file
    ``history``       how many earlier versions of an item are kept; what is behind them goes when it is much
    ``key``           32 bytes, or a passphrase: the store is encrypted, or is to be if it is made now
    ``keys``          what the key opens, where another folder holds it
    ``secret``        that of the store which is moved here: it is made with it, and opens half done

    Raises ``NotFoundError`` where there is no store and none is to be made, ``ConfigurationError`` for a file, for
    a folder that holds something else or another store's ``KEYS``, for a key of a plain store, or for what is no key,
    ``DecryptionError`` for a wrong or missing key, ``StoreVersionError`` for a newer format. Nothing on disk is
    touched then. An older format is migrated.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Literal["fsync", "os"] = "fsync",
        read_only: bool = False,
        create: bool = True,
        lock_timeout: float = LOCK_TIMEOUT,
        segment_size: int = 64 << 20,
        history: int = HISTORY,
        key: bytes | str | None = None,
        keys: Keys | None = None,
        secret: bytes | None = None,
    ) -> None:
        if durability not in ("fsync", "os"):
            raise ConfigurationError(f"durability is 'fsync' or 'os', not {durability!r}")
        if history < 0:
            raise ConfigurationError(f"history must be 0 or more, not {history}")
        self._location = os.fspath(path)
        root = os.path.abspath(self._location)
        if not read_only:
            mounts.check(root)
            manifest.check_place(root)
        if keys is None:
            keys = prepare(root, key, create=create and not read_only, timeout=lock_timeout, secret=secret)
        super().__init__(Rules(root, durability == "fsync", not read_only, lock_timeout, segment_size, history, keys))
        self._trash = os.path.join(self._root, layout.TRASH)
        self._left: list[SiltstoneError] = []
        self._delayed: dict[str, str] = {}
        if restored.is_pending(self._root):
            self._end_restore()
        document = storefile.document(self._root)
        before = document["format"]
        if "moving" in document and secret is None:
            raise half_done(self._location)
        migrate(self._root, writable=not read_only, lock_timeout=lock_timeout, keys=self._keys)
        self._settled()  # raises what is wrong with it
        if not read_only:
            if before != FORMAT:
                self._note_migration(before)
            restored.sweep(self._root)
            if not disk.exists(os.path.join(self._root, auditfile.NAME)) and not any(self.user_folders()):
                auditfile.append_locked(self._root, [], self._keys, durable=True, timeout=lock_timeout)  # as when made
            self._empty_trash()
            self._finish_removals()

    @property
    def location(self) -> str:
        """The folder, as the user wrote it."""
        return self._location

    def commit(
        self,
        user_id: str,
        puts: Sequence[Put],
        *,
        expect: Mapping[str, int] | None = None,
        sizes: Mapping[str, int] | None = None,
        space: Fingerprint | None = None,
        remove: Sequence[str] = (),
    ) -> Commit:
        """Write all items or none, and take others out with them; on disk when it returns."""
        self._may_write()
        if not puts and not remove:
            return Commit(self.revision(user_id))

        def commit(user: UserStore, store: StoreFile) -> Commit:
            if any(put.vector is not None for put in puts):
                same_space(store.fingerprint, space)
            dim = store.fingerprint.dim if store.fingerprint else None
            return user.commit(puts, expect, store.space, dim, sizes=sizes, remove=remove)

        committed = self._writing(user_id, commit)
        if remove:
            with telling(DONE):
                restored.sweep(self._root)
        return committed

    def remove(
        self, user_id: str, ids: Sequence[str], *, transcripts: Sequence[Refusal] = (), everything: bool = False
    ) -> str:
        """Remove items for good by id; with ``everything`` the user's whole store.

        Their documents are overwritten where they lie, and the numbers of all vectors are looked at: O(what goes +
        vectors). A segment of documents is written anew where a sixteenth of it is dead, or something does not check.
        """
        store = self._settled()
        self._may_write()
        homeless: list[str] = []
        if transcripts or (not everything and self._exists(user_id)):
            chosen = () if everything else ids
            try:
                self._writing(
                    user_id, lambda user, store: user.remove(chosen, transcripts, store.space, erased=everything)
                )
            except BackendUnavailableError:
                if not everything:
                    raise
                secret = self._settled().user_key(user_id)
                homeless = Refusals(secret).hashes(transcripts)  # a full disk: its own words make room
        moved = self._remove_user(user_id, homeless) if everything else None
        self._clear_up({} if moved is None else {moved: user_id})
        if everything and self._settled() is not store and self._exists(user_id):  # a restore brought them back
            return self.remove(user_id, ids, transcripts=transcripts, everything=True)
        if everything and self._left:
            raise BackendUnavailableError(
                f"{user_id!r} was removed and no reader sees anything of it, but files are left in {self._trash} "
                f"({self._left[0]}): the next forget() or open of the store deletes them, once the disk lets it"
            ) from self._left[0]
        return self.revision(user_id)

    def forget(self, user_id: str, ids: Sequence[str], *, named: bool = True) -> ForgetReport:
        """Remove items for good by id, with what rests on them.

        They are hidden at once: on disk, and for every process, in O(items). What rests on them is hidden when it has
        been found. All of it is taken out then, as by ``remove``. A killed process leaves the rest to the next opening
        for writing, which comes to an end with it first; a store that is opened with ``read_only`` before that finds
        and hides what rests on them for itself.
        """
        self._settled()
        self._may_write()
        report = ForgetReport()
        if self._exists(user_id):  # even where nothing is meant: it may be in what cannot be read
            report = self._writing(user_id, lambda user, store: user.forget(ids, store.space, named=named))
        self._clear_up({})
        return report

    def _clear_up(self, moved: Mapping[str, str]) -> None:
        """Delete what waits for it; ``moved`` tells whose some folders in the trash are."""
        with telling(DONE):
            restored.sweep(self._root)
            self._empty_trash(moved)
            if self._delayed:
                self._finish_removals()

    def refused(self, user_id: str, puts: Sequence[Put]) -> tuple[str, ...]:
        """Return the ids of the items that a commit of ``puts`` would skip as forgotten."""
        secret = self._settled().user_key(user_id)
        return tuple(refused_of(self._table(user_id), puts, Refusals(secret)))

    def remove_again(self, user_id: str, ids: Sequence[str], hashes: Iterable[str]) -> int:
        """Remove what was removed before from another copy of the store; return how many items were there still."""
        self._may_write()
        return self._writing(user_id, lambda user, store: user.remove(ids, (), store.space, hashes=hashes))

    def named(self, user_id: str, hashed: Set[str]) -> dict[str, str]:
        """Return the ids of a user's items that some hashes in the audit stand for, by hash. O(items)."""
        key = self._settled().user_key(user_id)
        ids = (versions[-1].id for versions in self.items(user_id)) if hashed else ()
        return {name: id for id in ids if (name := hashed_id(key, id)) in hashed}

    def refusing(self, user_id: str) -> set[str]:
        """Return the hashes of all that a user's store refuses."""
        return set(self._table(user_id).refused)

    def remove_refused(self, user_id: str, hashes: Set[str], still: Callable[[list[str]], Set[str]]) -> int:
        """Remove what another copy of the store refuses; return how many items were there.

        ``still``: which of some ids that copy has, all the same: of two messages that say the same, one was forgotten.
        """
        ids = self.matching(user_id, hashes)
        there = still(ids) if ids else set()
        return self.remove_again(user_id, [id for id in ids if id not in there], hashes)

    def matching(self, user_id: str, hashes: Set[str]) -> list[str]:
        """Return the ids of a user's items that some hashes of what is refused stand for. O(items)."""
        refusals = Refusals(self._settled().user_key(user_id))
        return [put.id for put in self._as_copied(user_id) if refusals.refuses(hashes, put, new=True)]

    def _as_copied(self, user_id: str) -> Iterator[Put]:
        for *_, newest in self.items(user_id):
            yield Put(newest.record, newest.message, supplied_id=newest.supplied_id, restores=True)

    def check_key(self, key: bytes | str | None) -> None:
        """Raise what opening the store with this key would raise."""
        self._keys.check(self._root, key)

    def put_vectors(
        self, user_id: str, records: Sequence[Record], vectors: Floats, *, space: Fingerprint | None = None
    ) -> int:
        """Attach vectors to records whose text is still the same; return how many were attached."""
        self._may_write()

        def attach(user: UserStore, store: StoreFile) -> int:
            same_space(store.fingerprint, space)
            dim = store.fingerprint.dim if store.fingerprint else None
            return user.put_vectors(
                lambda table, known: self._matched(table, records, vectors, dim or known), store.space
            )

        same_space(self._settled().fingerprint, space)
        return self._writing(user_id, attach) if self._exists(user_id) else 0

    def fingerprint(self) -> Fingerprint | None:
        """Return the embedding space that the store was written with, if any yet, as it is on disk now."""
        return self._settled().fingerprint

    def set_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Record the embedding space. One of another space than the present one drops every vector."""
        self._may_write()
        while True:
            self._settled()
            with FileLock(os.path.join(self._root, "LOCK")).held(self._rules.lock_timeout):
                store = self._settings()
                if store.restoring:  # since a moment ago
                    continue
                same = store.fingerprint is None or store.fingerprint.same_space(fingerprint)
                changed = dataclasses.replace(
                    store, fingerprint=fingerprint, space=store.space if same else store.space + 1, damaged=False
                )
                storefile.write(self._root, changed, self._keys)
                break
        if not same:
            for folder in self.user_folders():
                drop_older(folder, changed.space)

    def usage(self) -> Mapping[str, Any]:
        """Return what language models were used for, as it was noted last."""
        return pagefile.usage(self._root)

    def turn_usage(self, turn: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        """Note what ``turn`` makes of what was noted last; no other process comes between."""
        self._turn_page(pagefile.USAGE, pagefile.usage, turn)

    def owed(self) -> Mapping[str, str]:
        """Return whose copies of recent turns elsewhere are still to be removed."""
        return pagefile.owed(self._root)

    def turn_owed(self, turn: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """Note what ``turn`` makes of what was noted last; no other process comes between."""
        self._turn_page(pagefile.OWED, pagefile.owed, turn)

    def _turn_page(
        self,
        name: str,
        read: Callable[[str], Mapping[str, Any]],
        turn: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    ) -> None:
        self._may_write()
        with FileLock(os.path.join(self._root, "LOCK")).held(self._rules.lock_timeout):
            before = read(self._root)
            if (page := turn(before)) != before:
                pagefile.write(self._root, name, page)

    @property
    def encrypted(self) -> bool:
        """Whether what it keeps is encrypted."""
        return self._keys is not NO_KEYS

    def compact(self, user_id: str | None = None, *, progress: Progress | None = None) -> int:
        """Take all dead weight out of a user's files, or of everybody's; return the bytes given back.

        Dead are versions behind the history, their vectors, and notes of what is finished. The store does this by
        itself where it is much; others read and write meanwhile. ``progress(done, total)`` counts users.
        """
        self._may_write()
        before = after = 0
        names = [user_id] if user_id is not None else list(self.users())
        for done, name in enumerate(names, 1):
            if self._exists(name):
                before += sum(self.stats(name).bytes.values())
                try:
                    store = self._settled()
                    self._user(name, store).compact(store.space, whole=True)
                except (Vanished, FileNotFoundError):  # removed meanwhile
                    self._drop(name)
                after += sum(self.stats(name).bytes.values())
            if progress is not None:
                progress(done, len(names))
        return max(0, before - after)

    def stats(self, user_id: str) -> StoreStats:
        """Return counts and sizes of one user."""
        view = self._table(user_id).view
        user = self._users.get(user_id)
        notes: tuple[str, ...] = ("STORE: one of its two copies is damaged",) if self._settings().damaged else ()
        notes += self._keys.health()
        notes += tuple(f"a removed user's files could not be deleted yet: {why}" for why in self._left)
        notes += tuple(
            f"{layout.UNFINISHED}/{os.path.basename(mark)}: "
            f"a removal has not come to its end{why}; the next goes on with it"
            for mark, why in self._delayed.items()
            if disk.exists(mark)
        )
        return stats_of(
            view,
            bytes={} if user is None else user.bytes(),
            health=notes + (() if user is None else user.health()),
        )

    def reseal(self, user_id: str) -> bool:
        """Write everything of a user anew under a fresh key, and destroy the old one; false if none was due."""
        self._may_write()
        self._settled()
        return self._exists(user_id) and self._writing(user_id, lambda user, store: user.reseal(store.space))

    # --- removals

    def _remove_user(self, user_id: str, refused: Sequence[str]) -> str | None:
        """Move a user's folder out of sight, to be deleted from there; return its name in the trash.

        ``refused``: hashes for which there was no room in it.
        """
        folder, name = self._folder(user_id), None
        while True:
            store = self._settled()
            if not disk.is_folder(folder):
                return name
            if self._read_user(folder, anywhere=True) not in (None, user_id):
                raise misplaced(folder)
            name = f"{os.path.basename(folder)}.{secrets.token_hex(4)}"
            gone = os.path.join(self._trash, name)
            with suppress(Vanished, FileNotFoundError):  # by us, or by one who was faster
                disk.make_folder(self._trash)
                with self._user(user_id, store).held(store.space):
                    quarantine.forget(self._root, os.path.basename(folder))
                    disk.rename(folder, gone)
                    if refused:
                        removed.shrink(gone, self._keys.cipher(gone, removed=True), refused)
            self._drop(user_id)
            if self._settled() is store:
                return name

    def _empty_trash(self, known: Mapping[str, str] | None = None) -> None:
        """Delete removed users; note what is left.

        Each goes once what it refuses has gone over to the user's folder, and its removal into the audit. ``known``:
        whose some of the folders are.
        """
        left: list[SiltstoneError] = []
        for name in disk.names(self._trash, missing_ok=True):
            folder = os.path.join(self._trash, name)
            try:
                if not disk.is_folder(folder):
                    disk.unlink(folder)
                    continue
                self._note_erasure(folder, (known or {}).get(name))
                self._keys.destroy(folder)
                disk.remove_tree(folder)
            except SiltstoneError as exc:
                left.append(exc)
        self._left = left

    def _note_migration(self, before: int) -> None:
        key = auditfile.key_of("migrate", self._settings().identity, FORMAT)
        deed = Deed("migrate", counts={"from": before, "to": FORMAT}, key=key)
        auditfile.append_locked(self._root, [deed], self._keys, durable=True, timeout=self._rules.lock_timeout)

    def _note_erasure(self, folder: str, user_id: str | None) -> None:
        deed = erasure(folder, self._keys, user_id)
        if deed is None:
            return
        try:
            self._keep_of_removed(deed)
        except BackendUnavailableError:
            removed.shrink(folder, self._keys.cipher(folder, removed=True))  # a full disk: it needs room to get room
            self._keep_of_removed(deed)

    def _keep_of_removed(self, deed: Deed) -> None:
        """Let the user's new folder refuse what the removed one did, and the audit name what it does not yet."""
        assert deed.user_id is not None
        refused = deed.hashes
        if refused:
            self._writing(deed.user_id, lambda user, store: user.remove((), (), store.space, hashes=refused))
            named = auditfile.refusals(self._root, self._keys).get(deed.user_id, set())
            deed = dataclasses.replace(deed, hashes=tuple(hash for hash in refused if hash not in named))
        rules = self._rules
        auditfile.append_locked(self._root, [deed], self._keys, durable=rules.durable, timeout=rules.lock_timeout)

    def _finish_removals(self) -> None:
        """Open the users whose removals a killed process left half done; opening makes up for it.

        What fails is that user's: the others go on. ``stats`` tells it, and the next removal or open tries again.
        """
        store = self._settled()
        marks = os.path.join(self._root, layout.UNFINISHED)
        self._delayed = {}
        for name in disk.names(marks, missing_ok=True):
            mark, why = os.path.join(marks, name), ""
            try:
                user_id = self._read_user(storefile.named_folder(self._root, name))
                if user_id is None:
                    disk.unlink(mark)
                else:
                    self._user(user_id, store).mend(store.space)
            except (Vanished, FileNotFoundError):
                continue  # removed meanwhile
            except SiltstoneError as exc:
                why = f" ({exc})"
            if disk.exists(mark):
                self._delayed[mark] = why

    def _end_restore(self) -> None:
        if self._rules.writable:
            restored.end(self._root, self._keys, self._rules.lock_timeout)
            self._empty_trash()
        else:
            restored.wait(self._root, self._rules.lock_timeout)
