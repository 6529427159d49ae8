"""One attempt of a model at a job: nobody else tries meanwhile, and a failure is kept for a later one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from ..compress.digest import DigestError
from ..errors import BackendUnavailableError, ConflictError, ModelError
from ..models.limits import PostponedError, spent_until
from ..protocols import ModelFreeSummarizer
from ..records import Digest
from ..tiers.long_term import Plan
from .candidates import FALLBACK
from .jobs import Failure, Job, read
from .work import NOTHING, Work


def is_model_free(work: Work) -> bool:
    """Return whether the summarizer asks no model, so that nothing is to be leased."""
    return isinstance(work.summarizer, ModelFreeSummarizer) and work.summarizer.model_free


def job_for(work: Work, what: str, id: str, source_ids: Sequence[str], *, new: int = 1) -> Job:
    """Return the job of something else than a span: the one that is stored, or a new one.

    A dead one begins anew once ``new`` of its sources are others: what failed was another question.
    """
    (stored,) = work.store.fetch(work.user_id, [id])
    if stored is None or stored.record is None:
        return Job(id, "", tuple(source_ids), what=what)
    job = read(stored.record)
    if job.state == "dead" and len(set(source_ids) - set(job.source_ids)) >= new:
        job = replace(job, state="waiting", attempts=0, until=None)
    return replace(job, source_ids=tuple(source_ids), what=what)


def may_try(work: Work, job: Job, *, retry: bool) -> bool:
    """Return whether a job is to be tried now; with ``retry`` it is unless another worker has it."""
    return not work.held(job) or (retry and job.state != "leased")


def lease(work: Work, job: Job) -> Job | None:
    """Take a job for this worker; ``None`` where another one has it, or the day's budget of models is used up."""
    if (until := work.spent()) is not None:
        work.note("wait", job.source_ids, job.name, spent_until(until))
        return None
    return take(work, job)


def take(work: Work, job: Job) -> Job | None:
    """Take a job for this worker, also beyond the budget, as part of what was begun; ``None`` where another has it."""
    taken = job.leased(work.owner, work.clock.now() + timedelta(seconds=work.policy.settings.lease))
    try:
        work.store.commit(work.user_id, [taken.put(work.user_id, work.now)], expect={job.id: job.version})
    except ConflictError:
        work.note("wait", job.source_ids, job.name, "another worker is at it")
        return None
    return replace(taken, version=taken.version + 1)


def fail(work: Work, job: Job, expect: Mapping[str, int], exc: ModelError | BackendUnavailableError) -> None:
    """Note that a model has failed: the job stays due, after a pause, unless its sources are not as ``expect`` says.

    One that was only put off waits until then, and has not failed.
    """
    work.note("wait" if isinstance(exc, PostponedError) else "fail", job.source_ids, job.name, str(exc))
    if work.dry_run:
        return
    if isinstance(exc, PostponedError):
        after = job.postponed(str(exc), exc.until)
    else:
        raw = exc.raw if isinstance(exc, DigestError) else ""
        wait = exc.retry_after if isinstance(exc, BackendUnavailableError) else 0.0
        after = failed(work, job, Failure(str(exc), raw, wait), covers=job.covers)

    def plan() -> Plan:
        expected = {**expect, job.id: job.version}
        return Plan((after.put(work.user_id, work.now),), expected, (job.id,)) if work.still(expected) else NOTHING

    work.long_term.write(work.user_id, plan)


def failed(work: Work, job: Job, failure: Failure, *, covers: bool) -> Job:
    """Return the job after one more failure."""
    settings = work.policy.settings
    wait = timedelta(seconds=settings.retry_wait)
    return job.failed(failure, now=work.clock.now(), wait=wait, retries=settings.retries, covers=covers)


def outcome(work: Work, digest: Digest, job: Job, *, covers: bool, covers_alone: bool) -> Job:
    """Return what becomes of a job: done, or waiting where the extractive summarizer stood in for the model.

    ``covers`` is what the job itself says of its sources when it waits, ``covers_alone`` when it is done.
    """
    if FALLBACK not in digest.flags:
        return job.finished(covers=covers_alone)
    failure = Failure(digest.error or "the model failed", digest.raw, digest.retry_after)
    return failed(work, job, failure, covers=covers)
