"""Summaries of summaries: a session's from its spans', a week's from its sessions', a month's from its weeks'.

Which ones are due follows from what is stored: a summary whose sources are no longer those that it should have is made
again. ``forget`` takes a summary along with any of its sources; then it is due, without what was forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from ..errors import BackendUnavailableError, ModelError
from ..protocols import Put, Where
from ..records import ROLES, Digest, Message, Record, is_derived
from ..tiers.long_term import Plan
from .asking import digest_of
from .spans import hashed
from .work import NOTHING, Work

SESSION, WEEK, MONTH = 1, 2, 3
"""Levels of summaries; 0 is a span's."""
ROLLING: Final = 4
"""A running session is summarised anew with every so many further spans."""


@dataclass(frozen=True)
class Rolled:
    """A summary that is due: its level, what it is of, its sources, and the version that is stored (0 for none)."""

    level: int
    of: str
    sources: tuple[Record, ...]
    version: int

    @property
    def id(self) -> str:
        """Its id, the same in every process."""
        return _id(self.level, self.of)


def roll_up(work: Work) -> None:
    """Make the summaries that are due, level by level."""
    for level in (SESSION, WEEK, MONTH):
        summaries = [r for r in work.store.scan(work.user_id, Where(kinds=("summary",))) if is_derived(r)]
        sessions = work.store.sessions(work.user_id) if level == SESSION else []
        ended = {info.session_id: info.ended_at for info in sessions}
        for rolled in list(due_rollups(level, summaries, ended, work)):
            _roll(work, rolled)


def due_rollups(level: int, summaries: Sequence[Record], ended: dict[str, datetime], work: Work) -> Iterator[Rolled]:
    """Yield what is due of a level."""
    stored = {record.id: record for record in summaries}
    for of, sources in _groups(level, summaries).items():
        before = stored.get(_id(level, of))
        known = set(before.source_ids if before else ())
        if len(sources) < 2 or known.issuperset(source.id for source in sources):
            continue
        sources = _allowed(level, of, sources, work)
        fresh = {source.id for source in sources} - known
        if len(sources) < 2 or (before is not None and not fresh):
            continue
        if level == SESSION:
            over = of in ended and work.policy.over(ended[of], work.now)
            due = over or len(fresh) >= ROLLING
        else:
            due = work.now >= _end_of(level, sources[-1].created_at)
        if due:
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


def _allowed(level: int, of: str, sources: Sequence[Record], work: Work) -> list[Record]:
    """Return the sources without those of a summary of the same that the user forgot."""
    return [one for one in sources if not work.refused(replace(one, id=_id(level, of), source_ids=(one.id,)))]


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


def _roll(work: Work, rolled: Rolled) -> None:
    names = {SESSION: f"session {rolled.of!r}", WEEK: f"week {rolled.of}", MONTH: f"month {rolled.of}"}
    why = f"{names[rolled.level]}, from {len(rolled.sources)} summaries"
    if work.dry_run:
        work.note("roll up", [rolled.id], "", why)
        return
    said = [message for source in rolled.sources for message in _as_messages(source)]
    try:
        digest = digest_of(work.summarizer, said, max_tokens=work.policy.settings.summary_tokens)
    except (ModelError, BackendUnavailableError) as exc:
        work.note("fail", [rolled.id], why, str(exc))
        return
    record = _record(work, rolled, digest)
    expect = {source.id: source.version for source in rolled.sources} | {rolled.id: rolled.version}

    def plan() -> Plan:
        return Plan((Put(record),), expect, (record.id,)) if work.still(expect) else NOTHING

    if work.long_term.write(work.user_id, plan).puts:
        work.note("roll up", [record.id], record.text, why)


def _record(work: Work, rolled: Rolled, digest: Digest) -> Record:
    last = rolled.sources[-1]
    return Record(
        id=rolled.id,
        text=digest.summary or last.text,
        kind="summary",
        level=rolled.level,
        topic=digest.topic or rolled.of,
        user_id=work.user_id,
        session_id=rolled.of if rolled.level == SESSION else None,
        source_ids=tuple(source.id for source in rolled.sources),
        created_at=last.created_at,
        stored_at=work.now,
        updated_at=work.now if rolled.version else None,
        version=rolled.version + 1,
        made_by=digest.made_by,
        flags=digest.flags,
    )


def _id(level: int, of: str) -> str:
    return hashed("summary", str(level), of)


def _as_messages(summary: Record) -> Iterator[Message]:
    """Yield the lines of a summary as what its speakers said."""
    for line in summary.text.splitlines():
        speaker, found, text = line.partition(": ")
        if not found or len(speaker) > 40:
            speaker, text = "user", line
        role = speaker if speaker in ROLES else "user"
        name = None if speaker in ROLES else speaker
        yield Message(role, text, name=name, id=summary.id, created_at=summary.created_at)
