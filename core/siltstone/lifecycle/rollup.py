"""Summaries of summaries: a session's from its spans', a week's from its sessions', a month's from its weeks'.

Which ones are due follows from what is stored: a summary whose sources are no longer those that it should have is made
again. ``forget`` takes a summary along with any of its sources; then it is due, without what was forgotten. Where one
of its sources was evicted, the summary is what is left of that: it is made again of itself and what has come.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from ..records import Record
from .rolled import MONTH, SESSION, WEEK, Rolled, allowed, is_outdated, newer, roll, rolled_id
from .topics import due_topics
from .work import Work

ROLLING: Final = {SESSION: 4, WEEK: 32}
"""A running session is summarised anew with every so many further spans, a week with every so many sessions."""


def roll_up(work: Work, *, retry: bool = False) -> None:
    """Make the summaries that are due, level by level; with ``retry`` those also on which a model has failed."""
    for level in (SESSION, WEEK, MONTH):
        summaries = work.summaries()
        sessions = work.store.sessions(work.user_id) if level == SESSION else []
        ended = {info.session_id: info.ended_at for info in sessions}
        due = list(due_rollups(level, summaries, ended, work))
        alone = [roll(work, rolled, retry=retry) for rolled in due]
        if not all(alone):
            return  # the other worker goes on to what is to rest on these
    for rolled in due_topics(work):
        roll(work, rolled, retry=retry)


def due_rollups(level: int, summaries: Sequence[Record], ended: dict[str, datetime], work: Work) -> Iterator[Rolled]:
    """Yield what is due of a level."""
    stored = {record.id: record for record in summaries}
    for of, sources in _groups(level, summaries).items():
        before = stored.get(rolled_id(level, of))
        known = set(before.source_ids if before else ())
        changed = before is not None and is_outdated(before, sources)
        if (before is None and len(sources) < 2) or (known.issuperset(one.id for one in sources) and not changed):
            continue
        sources = allowed(level, of, sources, work)
        fresh = {source.id for source in sources} - known
        if before is not None and not known.issubset(stored):  # of what was evicted it is all that is left
            sources = [before, *newer(before, sources)]
        if len(sources) < 2 or (before is not None and not fresh and not changed):
            continue
        if level == SESSION:
            over = of in ended and work.policy.over(ended[of], work.now)
            due = over or changed
        else:
            due = work.now >= _end_of(level, sources[-1].created_at)
        if due or len(fresh) >= ROLLING.get(level, math.inf):
            yield Rolled(level, of, tuple(sources), 0 if before is None else before.version)


def top(summaries: Sequence[Record], level: int) -> list[Record]:
    """Return the summaries below a level that none below it covers, in order of time."""
    below = [record for record in summaries if record.level < level]
    covered = {id for record in below for id in record.source_ids}
    return sorted((record for record in below if record.id not in covered), key=lambda record: record.created_at)


def _groups(level: int, summaries: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the sources of each summary of a level, in order of time."""
    groups: dict[str, list[Record]] = {}
    if level == SESSION:
        for record in sorted((r for r in summaries if r.level == 0), key=lambda r: r.created_at):
            if record.session_id is not None:
                groups.setdefault(record.session_id, []).append(record)
        return groups
    for record in top(summaries, level):
        groups.setdefault(_period(level, record.created_at), []).append(record)
    return groups


def _period(level: int, time: datetime) -> str:
    if level == WEEK:
        year, week, _ = time.isocalendar()
        return f"{year}-W{week:02}"
    return f"{time:%Y-%m}"


def _end_of(level: int, time: datetime) -> datetime:
    """Return when the week or month of a time is over, and a day has passed for what comes late."""
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    if level == WEEK:
        return day + timedelta(days=8 - day.weekday())
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1) + timedelta(days=1)
