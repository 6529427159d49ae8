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
