"""What is missing where documents do not check, told by those before and behind: how much, of what session and time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Final

from ....protocols import Stored
from ....reports import Finding, Gap

_HEAD: Final = re.compile(rb"^[0-9a-f]{8} [0-9a-f]{8} [+.]([0-9a-f]{1,12}) ", re.MULTILINE)
"""What begins a frame, with its number."""


@dataclass
class _Open:
    """A finding that waits for what comes behind: its place, the last number and item before it, the next number."""

    at: int
    last: int
    item: Stored | None
    next: int
    is_guess: bool = True


@dataclass
class Gaps:
    """Completes those of the ``findings`` that tell of lost documents, as the documents around them come by."""

    findings: list[Finding]
    _last: int = 0
    _item: Stored | None = None
    _open: list[_Open] = field(default_factory=list)

    def note(self, piece: bytes = b"") -> None:
        """Let the newest finding be one of documents that cannot be read; ``piece`` is what lies there."""
        heads = [int(number, 16) for number in _HEAD.findall(piece)]
        last = max((number for number in heads if number <= self._last + len(piece)), default=0)
        self._open.append(_Open(len(self.findings) - 1, self._last, self._item, last + 1))

    def see(self, number: int, item: Stored | None) -> None:
        """Take in a document that checks: its number, and what it holds; ``None`` of a mere note."""
        for gap in self._open:
            if gap.is_guess:
                gap.next, gap.is_guess = number, False
        self._last = number
        if item is not None:
            self._close(item)
            self._item = item

    def close(self) -> None:
        """Nothing more comes."""
        self._close(None)

    def _close(self, item: Stored | None) -> None:
        for each in self._open:
            gap = _between(max(each.next - each.last - 1, 0), each.item, item)
            finding = self.findings[each.at]
            self.findings[each.at] = replace(finding, what=f"{finding.what}{_told(gap)}", gap=gap)
        self._open.clear()


def _between(documents: int, before: Stored | None, behind: Stored | None) -> Gap:
    session = _session(before)
    return Gap(
        documents,
        session if session == _session(behind) else None,
        None if before is None else before.id,
        None if behind is None else behind.id,
        _time(before),
        _time(behind),
    )


def _session(item: Stored | None) -> str | None:
    held = None if item is None else item.message or item.record
    return None if held is None else held.session_id


def _time(item: Stored | None) -> datetime | None:
    held = None if item is None else item.message or item.record
    return None if held is None else held.created_at


def _told(gap: Gap) -> str:
    """Return the words for a gap, to go on with a sentence; none where nothing is known to be missing."""
    if not gap.documents:
        return ""
    amount = "1 message or memory" if gap.documents == 1 else f"{gap.documents} messages or memories"
    session = "" if gap.session_id is None else f" of session {gap.session_id!r}"
    around = [f"after {gap.after}{_minute(gap.since)}"] if gap.after is not None else []
    around += [f"before {gap.before}{_minute(gap.until)}"] if gap.before is not None else []
    return f": at most {amount}{session}" + "".join(f", {place}" for place in around)


def _minute(time: datetime | None) -> str:
    return "" if time is None else f" ({time.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC)"
