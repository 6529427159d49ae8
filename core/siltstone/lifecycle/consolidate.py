"""What is due for a user, in order: compress, then whatever follows from it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from datetime import datetime

from ..meter import Meter
from ..models.limits import Limiter
from ..models.resting import one_run
from ..protocols import ChatModel, Clock, Store, Summarizer, TokenCounter
from ..records import ConsolidationReport
from ..settings import Settings
from ..tiers.long_term import LongTerm
from ..tiers.policy import Policy
from .digesting import digest_due
from .evict import evict
from .expire import purge_expired, sweep_jobs
from .jobs import KIND as JOB
from .jobs import LEDGER, REFLECTED, REFLECTION, jobs
from .merge import merge_alike
from .reflect import reflect
from .reopen import reopen_orphans
from .rollup import roll_up
from .work import Work


class Consolidator:
    """Brings one store's long-term memory up to date, a user at a time. Thread-safe, and safe among processes."""

    def __init__(
        self,
        store: Store,
        long_term: LongTerm,
        summarizer: Summarizer,
        counter: TokenCounter,
        clock: Clock,
        settings: Settings,
        *,
        model: ChatModel | None,
        limiter: Limiter,
        meter: Meter,
        stopping: Callable[[], bool] = lambda: False,
        seen: Callable[[str], str] = lambda text: text,
    ) -> None:
        """``model`` is the language model that reflects, and that judges in doubt, if ``settings`` wants that;
        ``limiter`` knows its limits; ``meter`` counts runs; ``stopping`` ends one between two jobs, with
        ``BackendUnavailableError``; ``seen`` returns what a statement may have of a text, where rules quote it.
        """
        self._store = store
        self._long_term = long_term
        self._summarizer = summarizer
        self._counter = counter
        self._clock = clock
        self._policy = Policy(settings)
        self._model = model if settings.reflect else None
        self._judge = model if settings.judge else None
        self._limiter = limiter
        self._meter = meter
        self._stopping = stopping
        self._seen = seen

    def run(self, user_id: str, *, dry_run: bool = False, retry: bool = False) -> ConsolidationReport:
        """Do what is due now; ``retry`` tries again what has failed for good."""
        with self._meter.call("consolidate") as call, one_run():
            report = self._run(user_id, dry_run=dry_run, retry=retry)
            call.items = len(report.rows)
            return report

    def _run(self, user_id: str, *, dry_run: bool, retry: bool) -> ConsolidationReport:
        work = Work(
            self._store,
            self._long_term,
            self._summarizer,
            self._counter,
            self._policy,
            user_id,
            now=self._clock.now(),
            clock=self._clock,
            owner=f"{os.getpid()}-{secrets.token_hex(4)}",
            dry_run=dry_run,
            judge=self._judge,
            spent=self._spent,
            stopping=self._stopping,
            seen=self._seen,
        )
        may_revise = not work.taken(LEDGER, JOB)  # all that revises what is known turns its page
        if may_revise:
            reopen_orphans(work)
            digest_due(work, retry=retry)
            work.go_on()
            merge_alike(work)
        roll_up(work, retry=retry)
        work.go_on()
        if self._model is not None and not any(work.taken(id, JOB) for id in (LEDGER, REFLECTED, REFLECTION)):
            reflect(work, self._model, retry=retry)
        purge_expired(work)
        evict(work)
        if may_revise and not dry_run and any(row.action in ("expire", "evict") for row in work.rows):
            work.dropped()
            reopen_orphans(work)
        sweep_jobs(work)
        return ConsolidationReport(tuple(work.rows), dry_run)

    @property
    def wait(self) -> float:
        """Seconds until what waits for a language model may go on, as far as that is known; 0 where it may now."""
        until = self._spent()
        return 0.0 if until is None else (until - self._clock.now()).total_seconds()

    def put_off(self, user_id: str) -> float | None:
        """Return in how many seconds a job may be tried that a worker has, dead perhaps, or that has failed, if any."""
        now, lease = self._clock.now(), self._policy.settings.lease
        waits = [job.until for job in jobs(self._store, user_id) if job.until is not None and job.held(now, lease)]
        return (min(waits) - now).total_seconds() if waits else None

    def _spent(self) -> datetime | None:
        """Return when the budget of the next day begins, if work waits for that."""
        return self._limiter.spent() if self._policy.settings.over_budget == "wait" else None
