"""Short-term memory: recent turns, kept for a time to live and a number of turns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from ..forks import ForkSafeLock
from ..protocols import Clock
from ..records import Message


class RamShortTerm:
    """Recent turns in this process's memory.

    ``ttl`` is how long a turn is kept after it was added, ``turns`` how many per session. Thread-safe.
    """

    def __init__(self, clock: Clock, *, ttl: timedelta = timedelta(hours=24), turns: int = 200) -> None:
        self._clock = clock
        self._ttl = ttl
        self._turns = turns
        self._lock = ForkSafeLock()
        self._sessions: dict[tuple[str, str], dict[str | None, tuple[datetime, Message]]] = {}

    def append(self, user_id: str, session_id: str, messages: Sequence[Message]) -> None:
        """Keep the messages, each in the place of an earlier one of its id, dropping the oldest over the limit."""
        now = self._clock.now()
        with self._lock:
            kept = self._sessions.setdefault((user_id, session_id), {})
            kept.update({message.id: (now, message) for message in messages})
            for id in list(kept)[: max(len(kept) - self._turns, 0)]:
                del kept[id]

    def recent(self, user_id: str, session_id: str, limit: int | None = None) -> list[Message]:
        """Return the newest messages of the session that have not expired, oldest first."""
        oldest = self._clock.now() - self._ttl
        with self._lock:
            kept = self._sessions.get((user_id, session_id), {})
            for id in [id for id, (time, _) in kept.items() if time < oldest]:
                del kept[id]
            live = [message for _, message in kept.values()]
        return live if limit is None else live[max(len(live) - limit, 0) :]

    def drop(self, user_id: str, *, session_id: str | None = None, ids: Sequence[str] | None = None) -> None:
        """Remove a session's turns, single messages, or everything of the user."""
        gone: set[str | None] | None = None if ids is None else set(ids)
        with self._lock:
            for key in [k for k in self._sessions if k[0] == user_id and session_id in (None, k[1])]:
                if gone is None:
                    del self._sessions[key]
                    continue
                for id in gone & set(self._sessions[key]):
                    del self._sessions[key][id]
