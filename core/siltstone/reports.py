"""What the operations on a whole store report: ``verify``, ``backup``, ``restore``, ``rekey`` and ``audit``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class AuditEntry:
    """One deed done to a store: no text, only who, when, what and how much.

    ``action``: ``forget`` (some of a user's memories), ``erase`` (all of a user), ``restore``, ``repair``, ``rekey``
    or ``migrate``; ``at``: when, in UTC; ``user_id``: whose memories, ``None`` for a deed on the whole store;
    ``ids``: the messages and records concerned; ``hashed_ids``: those of them that were made of others, by keyed hashes
    of their ids, which follow from their words; ``counts``: how many of what; ``taken_at``: of a restore, when its
    backup was taken, in UTC.
    """

    action: str
    at: datetime
    user_id: str | None = None
    ids: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    taken_at: datetime | None = None
    hashed_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class EmbedReport:
    """What ``embed_source`` did: ``texts`` read, ``embedded`` of them, ``known`` already, ``failed`` twice.

    ``path`` is the file of vectors; ``error`` says why the last of the failures failed.
    """

    path: str
    texts: int
    embedded: int
    known: int
    failed: int
    error: str = ""


@dataclass(frozen=True)
class BackupReport:
    """What ``backup`` did: ``files`` and ``bytes`` in the backup, ``copied`` and ``copied_bytes`` of them in this run.

    ``damaged``: files that were copied with pieces that do not check; ``verify`` says more.
    """

    location: str
    target: str
    users: int
    files: int
    copied: int
    bytes: int
    copied_bytes: int
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True)
class RestoreReport:
    """What ``restore`` did: ``users`` that are back, as of ``taken_at``.

    ``forgotten``: items that the backup held and that were forgotten since; ``erased``: users who were erased since,
    and did not come back; ``unreadable``: folders of users whose key is not there; ``knew``: what was known of the time
    since the backup: ``store`` (the store was still there), ``audit`` (its audit was), ``part`` (the audit does not
    name all that went, so that something forgotten may be back), or ``nothing``. ``doubtful``: the ids, by user, of
    what is back and says the same as something forgotten under another id; only the documents of the store could have
    told whether that went, too, and they were gone.
    """

    source: str
    location: str
    taken_at: datetime
    users: int
    forgotten: int
    erased: tuple[str, ...]
    unreadable: tuple[str, ...]
    knew: str
    doubtful: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Severity: TypeAlias = Literal["lost", "exposed", "recomputable", "cosmetic"]


@dataclass(frozen=True)
class Gap:
    """What is missing where documents of a user cannot be read, as far as those around them tell.

    ``documents``: how many messages and memories at most; ``session_id``: their session, where both neighbours are of
    one; ``after`` and ``before``: the ids of what was written before and behind them; ``since`` and ``until``: the
    times of these.
    """

    documents: int
    session_id: str | None = None
    after: str | None = None
    before: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    ``severity``: ``lost`` (something cannot be read any more), ``exposed`` (something can be read that should not be),
    ``recomputable`` (it is made anew from the documents) or ``cosmetic`` (nothing is lost or wrong: what a killed
    process left, for instance). ``path`` is relative to the store, ``start`` and ``end`` are bytes in it, where a
    piece is meant. ``repair`` says what ``verify --repair`` does about it; empty where it can do nothing. ``gap``: what
    is missing where documents are lost.
    """

    severity: Severity
    path: str
    what: str
    repair: str = ""
    user_id: str | None = None
    start: int = 0
    end: int = 0
    gap: Gap | None = None

    @property
    def is_repairable(self) -> bool:
        """Whether ``verify --repair`` can do anything about it."""
        return bool(self.repair)


@dataclass(frozen=True)
class VerifyReport:
    """What ``verify`` found: counts of what was read, and everything that is not as it should be.

    After a repair ``findings`` are those that remain, ``repaired`` those that were there before, and ``quarantine`` is
    the folder that holds copies of the damaged pieces. ``pending_vectors`` counts records that are to be embedded anew.
    """

    location: str
    users: int
    documents: int
    vectors: int
    pending_vectors: int
    findings: tuple[Finding, ...]
    repaired: tuple[Finding, ...] = ()
    quarantine: str | None = None

    @property
    def is_sound(self) -> bool:
        """Whether nothing is lost, exposed or to be made anew."""
        return all(finding.severity == "cosmetic" for finding in self.findings)


@dataclass(frozen=True)
class RekeyReport:
    """What ``rekey`` did: whether the store has another ``master_key``, and how many ``users`` got another key."""

    location: str
    master_key: bool
    users: int


@dataclass(frozen=True)
class MigrationReport:
    """What ``migrate`` did, or with ``dry_run`` would do.

    ``users``, and of all of them: ``messages``, ``records`` (turns aside), ``jobs`` (work that waits or has failed, and
    reviews), ``versions`` (of all these, earlier ones among them), ``vectors``, ``refused`` (what is refused as
    forgotten) and ``audit`` (lines). ``written`` of the versions came in this run; the others were there. ``checksum``
    is over all of it, and the same on both sides. ``target_was``: ``absent``, ``empty``, ``half done`` (by an earlier
    run, which this one goes on with), ``the same`` (there was nothing to do) or ``replaced``.
    """

    source: str
    target: str
    users: int
    messages: int
    records: int
    jobs: int
    versions: int
    vectors: int
    refused: int
    audit: int
    written: int
    checksum: str
    target_was: str
    dry_run: bool = False
