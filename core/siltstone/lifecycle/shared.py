"""A worker's part in consolidating a store that many share: one user at a time, taken from the store's queue."""

from __future__ import annotations

import os
import secrets
from math import inf
from typing import Final

from ..protocols import Claim, SharesWork
from ..settings import Settings
from .consolidate import Consolidator

MARGIN: Final = 1.0
"""Seconds after a session has become silent, so that it has."""


class Share:
    """Takes users who are due, consolidates them, and gives them back."""

    def __init__(self, consolidator: Consolidator, queue: SharesWork, settings: Settings) -> None:
        self._consolidator, self._queue, self._settings = consolidator, queue, settings

    def run_next(self) -> Claim | None:
        """Consolidate whoever has been due longest; return what was claimed, ``None`` where nobody is due.

        What fails is raised; the user is due again after ``Settings.retry_wait``, for whoever is first.
        """
        settings = self._settings
        owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        claim = self._queue.claim(owner, pause=settings.worker_pause, lease=settings.lease)
        if claim is None:
            return None
        again = settings.retry_wait
        try:
            report = self._consolidator.run(claim.user_id)
            again = self._again(claim)
            if report.count("fail") or report.count("wait"):
                again = min(again, max(settings.retry_wait, self._consolidator.wait))
        finally:
            self._queue.release(claim, again if again < inf else None)
        return claim

    def _again(self, claim: Claim) -> float:
        """Return in how many seconds there is more to do, infinity where nothing is in sight.

        Then a session of the user will have been silent for long enough, or a job that another worker has been at, and
        may have been killed at, is free.
        """
        silences = (one + MARGIN - claim.silence for one in (self._settings.span_idle, self._settings.session_idle))
        put_off = self._consolidator.put_off(claim.user_id)
        return min([*(left for left in silences if left > 0), *([] if put_off is None else [put_off])], default=inf)
