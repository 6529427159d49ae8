"""What an import has understood of a source, in short."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..importers.reader import Copied, Found, Noted, Said
from ..records import ImportPreview, Message, Record

_SHOWN: Final = 5
_MOST_SPEAKERS: Final = 20


class Preview:
    """Collects the first items and what there is of sessions, speakers and times."""

    def __init__(self) -> None:
        self._items: list[Message | Record] = []
        self._sessions: set[int] = set()
        self._speakers: dict[str, None] = {}
        self._since: datetime | None = None
        self._until: datetime | None = None

    def add(self, found: Found) -> None:
        """Take an item into account."""
        message, record = _parts(found)
        item = message or record
        if item is None:
            return
        if len(self._items) < _SHOWN:
            self._items.append(item)
        if item.session_id is not None:
            self._sessions.add(hash(item.session_id))
        if message is not None and len(self._speakers) < _MOST_SPEAKERS:
            self._speakers[message.name or message.role] = None
        if message is not None and (time := message.created_at) is not None:
            self._since = time if self._since is None else min(self._since, time)
            self._until = time if self._until is None else max(self._until, time)

    def report(self) -> ImportPreview:
        """Return what was collected."""
        return ImportPreview(tuple(self._items), len(self._sessions), tuple(self._speakers), self._since, self._until)


def _parts(found: Found) -> tuple[Message | None, Record | None]:
    if isinstance(found.item, Copied):
        return found.item.versions[-1].message, found.item.versions[-1].record
    if isinstance(found.item, Said):
        return found.item.message, None
    return None, found.item.record if isinstance(found.item, Noted) else None
