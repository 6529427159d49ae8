"""What the operations on a whole store report: ``verify``, ``backup``, ``restore`` and ``audit``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class AuditEntry:
    """One deed done to a store: no text, only who, when, what and how much.

    ``action``: ``forget`` (some of a user's memories), ``erase`` (all of a user), ``restore``, ``repair``, ``rekey``
    or ``migrate``; ``at``: when, in UTC; ``user_id``: whose memories, ``None`` for a deed on the whole store;
    ``ids``: the messages and records concerned; ``counts``: how many of what.
    """

    action: str
    at: datetime
    user_id: str | None = None
    ids: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


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
    since the backup: ``store`` (the store was still there), ``audit`` (its audit was), or ``nothing``.
    """

    source: str
    location: str
    taken_at: datetime
    users: int
    forgotten: int
    erased: tuple[str, ...]
    unreadable: tuple[str, ...]
    knew: str
