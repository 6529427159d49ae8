"""How much may be asked of language models, in a minute and in a day: decided from values and a time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from ..errors import InvalidInputError

_MINUTE: Final = 60.0
_SKEW: Final = timedelta(hours=1)


@dataclass(frozen=True)
class Limits:
    """Requests and tokens per minute, and per day in UTC; ``None``: as many as one likes.

    Raises ``InvalidInputError`` for a limit that is no positive number.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    requests_per_day: int | None = None
    tokens_per_day: int | None = None

    def __post_init__(self) -> None:
        for name, limit in asdict(self).items():
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
                raise InvalidInputError(f"{name} is a positive number, or None for no limit, not {limit!r}")

    def __bool__(self) -> bool:
        return any(limit is not None for limit in asdict(self).values())


@dataclass(frozen=True)
class Bucket:
    """A token bucket that a single call empties, and that has the next one wait until what it took is filled up again.

    ``free_at`` is when nothing is owed any more, ``at`` when it was last used, in seconds since 1970. So in any minute
    no more is taken than fills the bucket in one, and what one call takes at once beyond it.
    """

    free_at: float = 0.0
    at: float = 0.0

    def wait(self, now: float) -> float:
        """Return in how many seconds the next call may go."""
        return max(0.0, self._shifted(now) - now)

    def take(self, amount: float, per_minute: int | None, now: float, goes: float) -> Bucket:
        """Return the bucket after a call that is admitted ``now``, ``goes`` then, and takes ``amount``."""
        if per_minute is None:
            return self
        return Bucket(max(self._shifted(now), goes) + amount * _MINUTE / per_minute, now)

    def _shifted(self, now: float) -> float:
        """Return when nothing is owed, by a clock that may have been set back since."""
        return self.free_at - max(0.0, self.at - now)


@dataclass(frozen=True)
class Usage:
    """What was asked of language models: on ``day`` (``2026-05-08``, UTC) in all, and lately.

    ``limits`` are those of whoever asked last, for a reader who has none of their own.
    """

    day: str = ""
    requests: int = 0
    tokens: int = 0
    pace: Bucket = Bucket()
    token_pace: Bucket = Bucket()
    limits: Limits = field(default_factory=Limits)

    def today(self, now: datetime) -> Usage:
        """Return the usage with the counts of the day of ``now``; another process's clock may be a little ahead."""
        days = _day(now), _day(now + _SKEW)
        return self if self.day in days else replace(self, day=days[0], requests=0, tokens=0)

    def spent(self, limits: Limits, now: datetime) -> datetime | None:
        """Return when the day is over, if its budget is used up."""
        counts = self.today(now)
        pairs = (counts.requests, limits.requests_per_day), (counts.tokens, limits.tokens_per_day)
        if not any(budget is not None and used >= budget for used, budget in pairs):
            return None
        return datetime.fromisoformat(counts.day).replace(tzinfo=timezone.utc) + timedelta(days=1)

    def admitted(self, limits: Limits, tokens: int, now: datetime) -> tuple[Usage, float]:
        """Return the usage with one more call, of so many tokens so far, and the seconds after which it may go."""
        counts, at = self.today(now), now.timestamp()
        wait = max(self.pace.wait(at), self.token_pace.wait(at))
        used = replace(
            counts,
            requests=counts.requests + 1,
            tokens=counts.tokens + tokens,
            pace=self.pace.take(1, limits.requests_per_minute, at, at + wait),
            token_pace=self.token_pace.take(tokens, limits.tokens_per_minute, at, at + wait),
            limits=limits,
        )
        return used, wait

    def answered(self, limits: Limits, tokens: int, now: datetime) -> Usage:
        """Return the usage with the tokens of an answer."""
        counts, at = self.today(now), now.timestamp()
        pace = self.token_pace.take(tokens, limits.tokens_per_minute, at, at)
        return replace(counts, tokens=counts.tokens + tokens, token_pace=pace)

    def counts(self, now: datetime) -> dict[str, int]:
        """Return what was used on the day of ``now``, and the budget of that day, by name; nothing if it was never."""
        if not self.day:
            return {}
        today = self.today(now)
        budget = {"requests_per_day": self.limits.requests_per_day, "tokens_per_day": self.limits.tokens_per_day}
        known = {name: limit for name, limit in budget.items() if limit is not None}
        return {"requests": today.requests, "tokens": today.tokens, **known}

    def page(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def read_usage(page: Mapping[str, Any]) -> Usage:
    """Return the usage that a page holds; one that holds none is an empty one."""
    try:
        paces = {name: Bucket(**page[name]) for name in ("pace", "token_pace")}
        return Usage(**{**page, **paces, "limits": Limits(**page["limits"])})
    except (KeyError, TypeError, ValueError):
        return Usage()


def _day(now: datetime) -> str:
    return now.astimezone(timezone.utc).date().isoformat()
