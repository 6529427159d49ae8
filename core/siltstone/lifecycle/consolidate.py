"""What is due for a user, in order: compress, then whatever follows from it."""

from __future__ import annotations

import os
import secrets
from datetime import datetime

from ..models.limits import Limiter
from ..protocols import ChatModel, Clock, Store, Summarizer, TokenCounter
from ..records import ConsolidationReport
from ..settings import Settings
from ..tiers.long_term import LongTerm
from ..tiers.policy import Policy
from .digesting import digest_due
from .expire import evict, purge_expired, sweep_jobs
from .jobs import KIND as JOB
from .jobs import LEDGER, REFLECTED, REFLECTION
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
    ) -> None:
        """``model`` is the language model that reflects, and that judges in doubt, if ``settings`` wants that;
        ``limiter`` knows its limits.
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

    def run(self, user_id: str, *, dry_run: bool = False, retry: bool = False) -> ConsolidationReport:
        """Do what is due now; ``retry`` tries again what has failed for good."""
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
        )
        if not work.taken(LEDGER, JOB):  # all that revises what is known turns its page
            reopen_orphans(work)
            digest_due(work, retry=retry)
            merge_alike(work)
        roll_up(work, retry=retry)
        if self._model is not None and not any(work.taken(id, JOB) for id in (LEDGER, REFLECTED, REFLECTION)):
            reflect(work, self._model, retry=retry)
        purge_expired(work)
        evict(work)
        sweep_jobs(work)
        return ConsolidationReport(tuple(work.rows), dry_run)

    @property
    def wait(self) -> float:
        """Seconds until what waits for a language model may go on, as far as that is known; 0 where it may now."""
        until = self._spent()
        return 0.0 if until is None else (until - self._clock.now()).total_seconds()

    def _spent(self) -> datetime | None:
        """Return when the budget of the next day begins, if work waits for that."""
        return self._limiter.spent() if self._policy.settings.over_budget == "wait" else None
