"""Work of a model that the store must remember: that it is under way, has failed, or left nothing to keep.

What is merely due has no job: that follows from what covers it. A job is a record of the hidden kind ``job`` that rests
on the messages of its span, or on the records that a summary or a reflection is to be made of, so that forgetting one
of them takes it along, a model's raw answer included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any, Final, Literal, TypeAlias

from ..protocols import Put, Store, Where
from ..records import JOB_PREFIX, Record, to_datetime

State: TypeAlias = Literal["leased", "waiting", "dead", "done"]
KIND: Final = "job"
LEDGER: Final = f"{JOB_PREFIX}ledger"
"""A record whose next version goes with every commit that revises what is known: of two, one is planned anew."""
REFLECTION: Final = f"{JOB_PREFIX}reflection"
"""The job of reflecting."""
REFLECTED: Final = f"{JOB_PREFIX}reflected"
"""A record that says up to which version of the ledger a language model has reflected."""
TOPIC_MARK: Final = f"{JOB_PREFIX}topic:"
"""Ids of records that say which spans belong to a topic, also when its summary has gone with one of them."""
LONGEST_WAIT: Final = timedelta(days=1)
_APART: Final = timedelta(minutes=1)
"""So far apart the clocks of two workers may be."""


@dataclass(frozen=True)
class Failure:
    """How a model failed, what it had answered, and for how many seconds its server asked to be left alone."""

    error: str
    raw: str = ""
    retry_after: float = 0.0


@dataclass(frozen=True)
class Job:
    """Work on one span, or on what ``what`` says: ``week 2024-W19``.

    ``state``     ``leased`` by ``owner`` until ``until``; ``waiting`` for another attempt, not before ``until``;
                  ``dead`` after too many; ``done``
    ``covers``    whether the span's items have been taken in, so that it is not due again
    ``attempts``  how often it has failed; ``error`` how it failed last, ``raw`` what the model had answered
    ``version``   the version that is stored; 0 for none
    """

    id: str
    session_id: str
    source_ids: tuple[str, ...]
    state: State = "done"
    covers: bool = False
    attempts: int = 0
    until: datetime | None = None
    owner: str | None = None
    error: str | None = None
    raw: str = ""
    version: int = 0
    what: str = ""

    @property
    def name(self) -> str:
        """What it is work on, in words."""
        number = len(self.source_ids)
        return self.what or f"session {self.session_id!r}, {number} message{'s' if number != 1 else ''}"

    @property
    def told(self) -> str:
        """How far it has come, in one line."""
        until = "" if self.until is None else f" until {self.until.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"
        if self.state == "leased":
            return f"{self.name}: another worker has it{until}"
        tried = f"{self.attempts} attempt{'s' if self.attempts != 1 else ''}"
        waits = ", waits" if self.state == "waiting" else ""
        return f"{self.name}, {tried}{waits}{until if waits else ''}: {self.error}"

    def held(self, now: datetime, lease: float) -> bool:
        """Return whether nobody may work on it now; ``lease`` is how many seconds a worker takes a job for.

        What lies further ahead than anybody takes a job for, or puts it off, was written by a clock that was ahead.
        """
        longest = {"leased": timedelta(seconds=lease), "waiting": LONGEST_WAIT}.get(self.state)
        if longest is None or self.until is None:
            return self.state == "dead"
        return now < self.until <= now + longest + _APART

    def leased(self, owner: str, until: datetime) -> Job:
        """Return the job as taken by a worker."""
        return replace(self, state="leased", owner=owner, until=until)

    def finished(self, *, covers: bool) -> Job:
        """Return the job as done."""
        return replace(self, state="done", covers=covers, owner=None, until=None, error=None, raw="")

    def postponed(self, error: str, until: datetime) -> Job:
        """Return the job as waiting without having failed."""
        return replace(self, state="waiting", owner=None, until=until, error=error)

    def failed(self, failure: Failure, *, now: datetime, wait: timedelta, retries: int, covers: bool) -> Job:
        """Return the job after one more failure: waiting twice as long as before, or as the server asked; or dead."""
        attempts = self.attempts + 1
        pause = min(max(wait * 2 ** min(attempts - 1, 30), timedelta(seconds=failure.retry_after)), LONGEST_WAIT)
        dead = attempts > retries
        return replace(
            self,
            state="dead" if dead else "waiting",
            covers=covers,
            attempts=attempts,
            owner=None,
            until=None if dead else now + pause,
            error=failure.error,
            raw=failure.raw,
        )

    def put(self, user_id: str, now: datetime) -> Put:
        """Return what stores the next version of the job."""
        noted: dict[str, Any] = {"state": self.state, "covers": self.covers, "attempts": self.attempts}
        noted |= {name: value for name in ("owner", "error", "what") if (value := getattr(self, name))}
        if self.until is not None:
            noted["until"] = self.until.isoformat()
        record = Record(
            id=self.id, text=self.raw, kind=KIND, user_id=user_id, session_id=self.session_id,
            source_ids=self.source_ids, created_at=now, stored_at=now, version=self.version + 1, metadata=noted,
        )  # fmt: skip
        return Put(record)


def read(record: Record) -> Job:
    """Return the job that a record holds."""
    noted = record.metadata
    until = noted.get("until")
    return Job(
        id=record.id,
        session_id=record.session_id or "",
        source_ids=record.source_ids,
        state=noted["state"],
        covers=noted["covers"],
        attempts=noted["attempts"],
        until=None if until is None else to_datetime(until),
        owner=noted.get("owner"),
        error=noted.get("error"),
        raw=record.text,
        version=record.version,
        what=noted.get("what", ""),
    )


def jobs(store: Store, user_id: str) -> Iterator[Job]:
    """Yield the user's jobs, in order of writing."""
    for record in store.scan(user_id, Where(kinds=(KIND,))):
        if "state" in record.metadata:
            yield read(record)


def ledger(store: Store, user_id: str, now: datetime) -> tuple[Put, int]:
    """Return what turns the ledger's page, and the version that is to be expected of it."""
    (stored,) = store.fetch(user_id, [LEDGER])
    version = 0 if stored is None else stored.version
    record = Record(
        id=LEDGER, text="", kind=KIND, user_id=user_id, created_at=now, stored_at=now, version=version + 1
    )  # fmt: skip
    return Put(record), version
