"""Which messages a digest covers: it has been taken in, and they are not due again."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocols import Store, Where
from ..records import Message, Record, is_derived
from .jobs import KIND, Job, jobs
from .links import KIND as LINK
from .links import stands_for


def covers(record: Record) -> bool:
    """Return whether the record says that the digest of its sources has been taken in."""
    if record.kind == KIND:
        return bool(record.metadata.get("covers"))
    kind = stands_for(record) if record.kind == LINK else record.kind
    return kind == "summary" and record.level == 0 and record.session_id is not None and is_derived(record)


class Coverage:
    """What digests cover, by session: of what is there, and of what has been evicted. O(summaries and jobs) to make."""

    def __init__(self, store: Store, user_id: str, known: Sequence[Job] | None = None) -> None:
        """``known``: the jobs, where they have been read already."""
        self._store, self._user_id = store, user_id
        self._covered: dict[str, set[str]] = {}
        for record in store.scan(user_id, Where(kinds=("summary",))):
            if covers(record):
                self.add(record.session_id or "", record.source_ids)
        for job in jobs(store, user_id) if known is None else known:
            if job.covers:
                self.add(job.session_id, job.source_ids)

    def add(self, session_id: str, ids: Sequence[str]) -> None:
        """Take messages for covered."""
        self._covered.setdefault(session_id, set()).update(ids)

    def number(self, session_id: str) -> int:
        """Return how many messages of a session are covered by digests that are there, evicted messages among them."""
        return len(self._covered.get(session_id, ()))

    def of(self, session_id: str, messages: Sequence[Message]) -> set[str]:
        """Return the ids of a session's covered messages; links are read only where some of ``messages`` are not."""
        covered = self._covered.setdefault(session_id, set())
        if any(message.id not in covered for message in messages):
            for link in self._store.scan(self._user_id, Where(kinds=(LINK,), session_id=session_id)):
                if covers(link):
                    covered.update(link.source_ids)
        return covered
