"""Moving a whole store into another one: user after user, in order of writing, in large batches, checked in the end.

The target's versions of a user are at any moment the first ones of the source's, so that a migration that was killed
looks at what is there and goes on behind it. Where the source has changed in what was there already, that user is moved
anew. Memory: one batch, and some bytes for each user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice, zip_longest
from typing import Any, Final

from ..errors import ConflictError, SiltstoneError, StoreCorruptedError
from ..protocols import Progress
from ..records import HIDDEN_KINDS
from ..stores.files.codec import encode
from ..stores.moving import Kept, Movable

_MOST_VERSIONS: Final = 2_000
_MOST_BYTES: Final = 8 << 20
"""Versions, and bytes of their documents, that are written at once."""
COUNTS: Final = ("messages", "records", "jobs", "versions", "vectors", "refused")
"""What is counted of each user, as ``Tally`` and ``MigrationReport`` name it."""
_NAMED: Final = 5
"""Users who are named in an error; of more, their number."""


@dataclass
class Tally:
    """What a user has in a store: counts, and a checksum over all of it, bit for bit."""

    versions: int = 0
    messages: int = 0
    records: int = 0
    jobs: int = 0
    vectors: int = 0
    refused: int = 0
    hashed: Any = field(default_factory=lambda: blake2b(digest_size=16), compare=False)
    checksum: str = ""

    def add(self, kept: Kept) -> int:
        """Count a version in; return the bytes of its document."""
        document = encode(kept.stored, 0)
        self.hashed.update(len(document).to_bytes(4, "little") + document)
        self.versions += 1
        if kept.vector is not None:
            self.hashed.update(kept.vector.tobytes())
            self.vectors += 1
        record = kept.stored.record
        if kept.live and kept.stored.message is not None:
            self.messages += 1
        elif kept.live and record is not None and record.kind in HIDDEN_KINDS:
            self.jobs += 1
        elif kept.live:
            self.records += 1
        return len(document)

    def end(self, refused: set[str]) -> Tally:
        """Count in what is refused, and return the whole."""
        self.refused = len(refused)
        self.hashed.update("".join(sorted(refused)).encode())
        self.checksum = self.hashed.hexdigest()
        return self

    def difference(self, other: Tally) -> str:
        """Return in which counts another one differs, in words; empty where only the checksum does, or nothing."""
        told = ((name, getattr(self, name), getattr(other, name)) for name in COUNTS)
        return ", ".join(f"{there} {name} instead of {here}" for name, here, there in told if here != there)


def counted(store: Movable, user_id: str, tell: Callable[[int], None] = lambda done: None) -> Tally:
    """Return what a user has in a store. O(documents); ``tell`` is called with how many versions were read."""
    tally, done = Tally(), 0
    for done, kept in enumerate(store.kept(user_id), 1):
        tally.add(kept)
        if not done % _MOST_VERSIONS:
            tell(_MOST_VERSIONS)
    tell(done % _MOST_VERSIONS)
    return tally.end(store.refusing(user_id))


class Migration:
    """One migration of a source into a target that is empty, or half done by one before; ``copy``, then ``check``."""

    def __init__(self, source: Movable, *, progress: Progress | None = None) -> None:
        self._source = source
        self._progress = progress
        self._revisions: dict[str, str] = {}
        self._moved: dict[str, Tally] = {}
        self._done = self._total = 0
        self.found = 0
        """Versions that an earlier run had written."""

    def survey(self, passes: int = 2) -> int:
        """Look at who is in the source; return how many versions there are. ``passes``: how often each is gone over."""
        total = 0
        for user_id in self._source.everybody():
            self._revisions[user_id] = self._source.revision(user_id)
            total += self._source.kept_count(user_id)
        self._total = passes * total
        return total

    @property
    def tallies(self) -> dict[str, Tally]:
        """What was moved, by user."""
        return self._moved

    def count(self) -> None:
        """Count what would be moved, and write nothing."""
        for user_id in self._revisions:
            self._moved[user_id] = counted(self._source, user_id, self._tell)

    # --- writing

    def copy(self, target: Movable, *, fresh: bool) -> None:
        """Write into the target what it does not hold yet; ``fresh``: it holds nothing."""
        if (space := self._source.fingerprint()) is not None:
            target.set_fingerprint(space)
        target.note(self._source.deeds())
        if not fresh:
            for user_id in set(target.everybody()) - self._revisions.keys():
                target.discard(user_id)
        for user_id in self._revisions:
            self._moved[user_id] = self._copy(user_id, target, fresh=fresh)
        if usage := self._source.usage():
            target.turn_usage(lambda page: usage)
        if owed := self._source.owed():
            target.turn_owed(lambda page: owed)

    def _copy(self, user_id: str, target: Movable, *, fresh: bool) -> Tally:
        stream, tally, there = self._source.kept(user_id), Tally(), 0
        if not fresh:
            there = self._there(user_id, target)
            if there and self._is_beginning(stream, tally, user_id, target, there):
                self.found += there
                self._tell(there)
            else:
                target.discard(user_id)
                stream, tally, there = self._source.kept(user_id), Tally(), 0
        for batch in _batches(stream, tally):
            target.load(user_id, batch, there)
            there += len(batch)
            self._tell(len(batch))
        refused = self._source.refusing(user_id)
        target.refuse(user_id, refused)
        return tally.end(refused)

    def _there(self, user_id: str, target: Movable) -> int:
        """Return how many versions of a user the target has; 0 where they cannot be read, and are to go."""
        try:
            return target.kept_count(user_id)
        except SiltstoneError:
            return 0

    def _is_beginning(self, stream: Iterator[Kept], tally: Tally, user_id: str, target: Movable, there: int) -> bool:
        """Return whether what the target has of a user is how the source's begins; both are read so far then."""
        for kept in islice(stream, there):
            tally.add(kept)
        found = Tally()
        try:
            for kept in target.kept(user_id):
                found.add(kept)
        except SiltstoneError:
            return False
        return found.versions == tally.versions and bool(found.hashed.digest() == tally.hashed.digest())

    # --- checking

    def check(self, target: Movable) -> None:
        """Compare what the target holds with what was read, by count and checksum, user by user.

        Raises ``StoreCorruptedError`` that names the first difference.
        """
        for user_id, tally in self._moved.items():
            there = counted(target, user_id, self._tell)
            if there != tally:
                raise StoreCorruptedError(
                    f"user {user_id!r} is not the same in {target.location} as in {self._source.location}: "
                    f"{tally.difference(there) or self._first_difference(user_id, target)}"
                )
        if strangers := set(target.everybody()) - self._moved.keys():
            raise StoreCorruptedError(f"{target.location} has users whom the source has not: {named(strangers)}")
        known = {deed.key for deed in target.deeds()}
        if lacking := sum(deed.key not in known for deed in self._source.deeds()):
            raise StoreCorruptedError(f"{target.location} lacks {lacking} lines of the audit")

    def _first_difference(self, user_id: str, target: Movable) -> str:
        pairs = zip_longest(self._source.kept(user_id), target.kept(user_id))
        for here, there in pairs:
            if here is None or there is None or _sum(here) != _sum(there):
                found = (here or there).stored
                return f"version {found.version} of {found.id!r} is another"
        return "other texts are refused"

    def check_source(self) -> None:
        """Raise ``ConflictError`` where the source was written to since it was looked at, with whose memory it was."""
        present = {user_id: self._source.revision(user_id) for user_id in self._source.everybody()}
        changed = {user_id for user_id, token in self._revisions.items() if present.get(user_id) != token}
        changed |= present.keys() - self._revisions.keys()
        if changed:
            raise ConflictError(
                f"{self._source.location} was written to while it was moved ({named(changed)}), so that the target is "
                "not the same yet, and stays closed: stop what writes to the source, and run the same command again; "
                "it goes on"
            )

    def _tell(self, versions: int) -> None:
        self._done += versions
        if self._progress is not None:
            self._progress(self._done, max(self._done, self._total))


def _batches(stream: Iterator[Kept], tally: Tally) -> Iterator[list[Kept]]:
    batch: list[Kept] = []
    size = 0
    for kept in stream:
        batch.append(kept)
        size += tally.add(kept)
        if len(batch) >= _MOST_VERSIONS or size >= _MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _sum(kept: Kept) -> bytes:
    tally = Tally()
    tally.add(kept)
    return bytes(tally.hashed.digest())


def named(users: set[str]) -> str:
    """Return users by name, as many as fit a sentence."""
    few = [repr(user) for user in sorted(users)[:_NAMED]]
    more = len(users) - len(few)
    return ", ".join(few) + (f" and {more} more" if more else "")
