"""Compressing what is due: a span of messages becomes a summary and revised statements, in one commit.

A digest is committed on the condition that its messages are as they were when it was made, that nothing covers them
yet, and that nobody else has revised what is known in between. So a span is taken in once, however many workers try
and wherever they are killed; and what is forgotten while a model is at work does not come back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..compress.guarded import LOCAL
from ..compress.limited import OVER_BUDGET
from ..errors import BackendUnavailableError, ModelError
from ..records import Digest, Record
from ..tiers.long_term import Plan
from ..tiers.policy import worth_recalling
from .asking import digest_of
from .attempts import fail, is_model_free, lease, outcome
from .candidates import FALLBACK, candidates_of, in_order, summary_of
from .coverage import Coverage, covers
from .jobs import KIND, LEDGER, Job, jobs
from .judge import judged
from .retract import retractions
from .reviews import KIND as REVIEW
from .reviews import queued, review_id
from .revise import Revision, revise
from .spans import Span, due_spans
from .work import NOTHING, Work, writes


def digest_due(work: Work, *, retry: bool = False) -> None:
    """Compress every span that is due; with ``retry`` those also whose attempts have all failed."""
    known = {job.id: job for job in jobs(work.store, work.user_id)}
    for span in _due(work, known, retry=retry):
        work.go_on()
        id = span.key(KIND)
        if id not in known and work.taken(id, KIND):
            continue
        job = known.get(id) or Job(id, span.session_id, span.ids)
        _digest(work, span, job, redo=False)
    for job in known.values():
        work.go_on()
        if _failed_before(job) and job.covers and (retry or not work.held(job)):
            _redo(work, job)


def _failed_before(job: Job) -> bool:
    return job.state in ("waiting", "dead") or (job.state == "leased" and job.attempts > 0)


def _due(work: Work, known: dict[str, Job], *, retry: bool) -> Iterator[Span]:
    coverage = Coverage(work.store, work.user_id, list(known.values()))
    for job in known.values():
        if work.held(job) and not (retry and job.state != "leased"):
            coverage.add(job.session_id, job.source_ids)
    for info in work.store.sessions(work.user_id):
        # where messages are evicted, those that are covered and those that are there are not the same
        if work.policy.bounded or coverage.number(info.session_id) != info.messages:
            messages = work.store.messages(work.user_id, info.session_id)
            done = coverage.of(info.session_id, messages)
            yield from due_spans(info.session_id, messages, done, work.policy, work.now, work.counter)


def _digest(work: Work, span: Span, job: Job, *, redo: bool) -> None:
    """Digest one span and take it in."""
    small_talk = not any(worth_recalling(message.content) for message in span.messages)
    leasing = not (small_talk or is_model_free(work))
    if work.dry_run and leasing:
        work.note("digest", span.ids, job.name, span.why)
        summary = summary_of(span, Digest("", "", made_by=work.summarizer.name), user_id=work.user_id, now=work.now)
        if _may_write(work, summary):
            work.unwritten[summary.id] = summary
        return
    versions = _versions(work, span.ids)
    if versions is None:
        return
    if leasing:
        leased = lease(work, job)
        if leased is None:
            return
        job = leased
    if small_talk:  # which no model need be paid for
        digest = Digest("", "", source_ids=span.ids, made_by=work.summarizer.name)
        _take_in(work, span, digest, job, versions, redo=redo)
        return
    try:
        digest = digest_of(work.summarizer, span.messages, max_tokens=work.policy.settings.summary_tokens)
    except (ModelError, BackendUnavailableError) as exc:
        fail(work, job, versions, exc)
        return
    _take_in(work, span, digest, job, versions, redo=redo)


def _redo(work: Work, job: Job) -> None:
    """Digest a span anew that was taken in without the model."""
    stored = work.store.fetch(work.user_id, job.source_ids)
    messages = tuple(item.message for item in stored if item is not None and item.message is not None)
    if len(messages) == len(job.source_ids):
        tokens = sum(work.counter.count(message.content) for message in messages)
        _digest(work, Span(job.session_id, messages, tokens, "the model had failed"), job, redo=True)


def _versions(work: Work, ids: Sequence[str]) -> dict[str, int] | None:
    """Return the stored versions of messages, or ``None`` where one has gone."""
    stored = work.store.fetch(work.user_id, ids)
    versions = {id: item.version for id, item in zip(ids, stored, strict=True) if item is not None}
    return versions if len(versions) == len(ids) else None


def _take_in(work: Work, span: Span, digest: Digest, job: Job, versions: dict[str, int], *, redo: bool) -> None:
    """Write what a digest tells, once, if its messages are still as they were."""
    candidates = candidates_of(span, digest, work.policy, user_id=work.user_id, now=work.now)
    told = tuple(replace(message, content=work.seen(message.content)) for message in span.messages)
    taken_back = retractions(
        replace(span, messages=told), candidates, made_by=digest.made_by, user_id=work.user_id, now=work.now
    )
    candidates = [one for one in in_order(span, [*candidates, *taken_back]) if _may_write(work, one)]
    summary = _summary(work, span, digest, alone=not candidates)
    verdicts = None if work.judge is None else judged(work, candidates, work.known(work.ledger()[1], fresh=False))
    if work.judge is not None and verdicts is None:
        work.note("wait", span.ids, job.name, "another worker is at it")
        return
    job = outcome(work, digest, job, covers=True, covers_alone=summary is None)
    share = 0.0 if work.taken(review_id(span.session_id, span.ids), REVIEW) else work.policy.settings.review_share
    revisions: list[Revision] = []
    attempts = 0

    def plan() -> Plan:
        nonlocal attempts
        attempts += 1
        revisions.clear()
        if not work.still({**versions, job.id: job.version}):  # or the lease ran out, and another worker took over
            return NOTHING
        if not redo and _taken_in(work, span):
            return NOTHING
        page, at = work.ledger()
        revisions.extend(revise(candidates, work.known(at, fresh=attempts > 1), now=work.now, judged=verdicts))
        written = [record for revision in revisions for record in revision.records]
        puts, expect = writes([*_next(work, summary), *written])
        review = queued(work.store, work.user_id, span, share) if puts else None
        if review is not None:
            puts, expect = (*puts, review.put(work.user_id, work.now)), {**expect, review.id: review.version}
        if job.state != "done" or job.covers or job.version:
            puts, expect = (*puts, job.put(work.user_id, work.now)), {**expect, job.id: job.version}
        return Plan((*puts, page), {**versions, **expect, page.id: at}, tuple(put.id for put in puts))

    if work.dry_run:
        planned = plan()
        if planned.puts and summary is not None:
            work.unwritten[summary.id] = summary
    else:
        planned = work.long_term.write(work.user_id, plan)
    if not planned.puts:
        work.dropped()
        return
    if not work.dry_run:
        work.kept(planned.expect[LEDGER] + 1)
    _report(work, span, summary, digest, revisions)
    if FALLBACK in digest.flags:
        work.note("fail", span.ids, job.name, job.error or "")


def _taken_in(work: Work, span: Span) -> bool:
    """Return whether a message of the span is covered by now."""
    return any(covers(record) for record in work.store.dependents(work.user_id, span.ids))


def _summary(work: Work, span: Span, digest: Digest, *, alone: bool) -> Record | None:
    """Return the summary that a span gets, if it deserves one and the user has not forgotten it.

    However short the span, of what a model was asked for something is kept: its summary, where that is ``alone``.
    """
    asked = alone and not is_model_free(work) and not {FALLBACK, LOCAL, OVER_BUDGET}.intersection(digest.flags)
    if not digest.summary.strip() or not (asked or work.policy.deserves_summary(span.messages, span.tokens)):
        return None
    summary = summary_of(span, digest, user_id=work.user_id, now=work.now)
    return summary if _may_write(work, summary) else None


def _may_write(work: Work, record: Record) -> bool:
    """Return whether the user has neither forgotten a record nor given its id to something else."""
    return not work.refused(record) and not work.taken(record.id, record.kind)


def _next(work: Work, summary: Record | None) -> list[Record]:
    """Return the version of a summary that comes after the stored one."""
    if summary is None:
        return []
    (stored,) = work.store.fetch(work.user_id, [summary.id])
    return [summary if stored is None else replace(summary, version=stored.version + 1, updated_at=work.now)]


def _report(work: Work, span: Span, summary: Record | None, digest: Digest, revisions: Sequence[Revision]) -> None:
    why = f"{span.why}; by {digest.made_by}" + (", as the model failed" if FALLBACK in digest.flags else "")
    if summary is None:
        work.note("digest", span.ids, "", f"{why}; too short for a summary of its own")
    else:
        work.note("digest", [summary.id], summary.text, why)
    for revision in revisions:
        if revision.records:
            work.note(revision.action, [record.id for record in revision.records], revision.record.text, revision.why)
