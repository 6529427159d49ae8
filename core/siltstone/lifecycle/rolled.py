"""Making one summary of summaries, of whatever level: ask the summarizer, and write it if nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import BackendUnavailableError, ModelError
from ..records import ROLES, TOPIC_LEVEL, Digest, Message, Record, replace, unique
from ..tiers.long_term import Plan
from .asking import digest_of
from .attempts import fail, is_model_free, job_for, lease, may_try, outcome
from .candidates import FALLBACK
from .jobs import KIND
from .spans import hashed
from .work import NOTHING, Work, writes

SESSION, WEEK, MONTH, TOPIC = 1, 2, 3, TOPIC_LEVEL
"""Levels of summaries; 0 is a span's."""


@dataclass(frozen=True)
class Rolled:
    """A summary that is due: its level, what it is of, its sources, and the version that is stored (0 for none).

    Its sources begin with that version itself where it is all that is left of others. ``along`` are versions of hidden
    records that are written with it.
    """

    level: int
    of: str
    sources: tuple[Record, ...]
    version: int
    along: tuple[Record, ...] = ()

    @property
    def id(self) -> str:
        """Its id, the same in every process."""
        return rolled_id(self.level, self.of)

    @property
    def name(self) -> str:
        """What it is of, in words."""
        if self.level == TOPIC:
            return "a topic"
        return {SESSION: f"session {self.of!r}", WEEK: f"week {self.of}", MONTH: f"month {self.of}"}[self.level]


def rolled_id(level: int, of: str) -> str:
    """Return the id of a summary of summaries."""
    return hashed("summary", str(level), of)


def is_outdated(before: Record, sources: Sequence[Record]) -> bool:
    """Return whether one of the sources is of a later version than what was made of them, or no model made it."""
    known = [one for one in sources if one.id in before.source_ids]
    return FALLBACK in before.flags or bool(newer(before, known))


def newer(before: Record, sources: Sequence[Record]) -> list[Record]:
    """Return those of the sources that a summary was not made of, or not of their present version."""
    made = before.updated_at or before.stored_at
    known = set(before.source_ids)
    return [one for one in sources if one.id not in known or (one.updated_at is not None and one.updated_at > made)]


def allowed(level: int, of: str, sources: Sequence[Record], work: Work) -> list[Record]:
    """Return the sources without those of a summary of the same that the user forgot."""
    return [one for one in sources if not work.refused(replace(one, id=rolled_id(level, of), source_ids=(one.id,)))]


def roll(work: Work, rolled: Rolled, *, retry: bool) -> bool:
    """Make a summary that is due, or note that it would be; one that a model has failed on waits for its time.

    Return whether no other worker is at it.
    """
    work.go_on()
    why = f"{rolled.name}, from {len(rolled.sources)} summaries"
    ours = [(rolled.id, "summary"), (hashed(KIND, rolled.id), KIND), *((one.id, one.kind) for one in rolled.along)]
    if any(work.taken(id, kind) for id, kind in ours):
        return True
    job = job_for(work, rolled.name, hashed(KIND, rolled.id), [source.id for source in rolled.sources])
    if not may_try(work, job, retry=retry):
        return job.state != "leased"
    if work.dry_run and not is_model_free(work):
        work.note("roll up", [rolled.id], "", why)
        work.unwritten[rolled.id] = _record(work, rolled, Digest("", ""))
        return True
    expect = {source.id: source.version for source in rolled.sources}
    if not work.dry_run and not work.still({**expect, rolled.id: rolled.version}):
        return False  # another worker was
    leased = None if is_model_free(work) else lease(work, job)
    if leased is None and not is_model_free(work):
        return False
    said = [message for source in rolled.sources for message in _as_messages(source)]
    try:
        digest = digest_of(work.summarizer, said, max_tokens=work.policy.settings.summary_tokens)
    except (ModelError, BackendUnavailableError) as exc:
        fail(work, leased or job, expect, exc)
        return True
    record = _record(work, rolled, digest)
    if work.dry_run:
        work.note("roll up", [record.id], record.text, why)
        work.unwritten[record.id] = record
        return True
    puts, versions = writes([record, *rolled.along])
    if leased is not None:
        after = outcome(work, digest, leased, covers=False, covers_alone=False)
        puts, versions = (*puts, after.put(work.user_id, work.now)), {**versions, leased.id: leased.version}
    expect |= versions

    def plan() -> Plan:
        return Plan(puts, expect, (record.id,)) if work.still(expect) else NOTHING

    if work.long_term.write(work.user_id, plan).puts:
        work.note("roll up", [record.id], record.text, why)
        if FALLBACK in digest.flags:
            work.note("fail", [record.id], rolled.name, digest.error)
    return True


def _record(work: Work, rolled: Rolled, digest: Digest) -> Record:
    last = rolled.sources[-1]
    return Record(
        id=rolled.id,
        text=digest.summary or last.text,
        kind="summary",
        level=rolled.level,
        topic=digest.topic or (None if rolled.level == TOPIC else rolled.of),
        user_id=work.user_id,
        session_id=rolled.of if rolled.level == SESSION else None,
        source_ids=unique(id for one in rolled.sources for id in (one.source_ids if one.id == rolled.id else [one.id])),
        created_at=last.created_at,
        stored_at=work.now,
        updated_at=work.now if rolled.version else None,
        version=rolled.version + 1,
        made_by=digest.made_by,
        flags=digest.flags,
    )


def _as_messages(summary: Record) -> Iterator[Message]:
    """Yield the lines of a summary as what its speakers said."""
    for line in summary.text.splitlines():
        speaker, found, text = line.partition(": ")
        if not found or len(speaker) > 40:
            speaker, text = "user", line
        role = speaker if speaker in ROLES else "user"
        name = None if speaker in ROLES else speaker
        yield Message(role, text, name=name, id=summary.id, created_at=summary.created_at)
