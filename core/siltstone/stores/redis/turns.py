"""``RedisShortTerm``: recent turns in Redis, with its own time to live and a number of turns, atomic by script."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, Final, TypeVar

import orjson

from ...errors import ConfigurationError
from ...protocols import Clock, Turn, TurnsCopy
from ...records import Message, micros
from ...settings import KEY_PREFIX
from ..files.codec import dump, time_of
from . import keys, scripts
from .server import ForeignKeyError, RedisServer

logger = logging.getLogger("siltstone")

R = TypeVar("R")

_LEAST: Final = 3_600_000
"""Milliseconds for which a fence stands: longer than anybody takes to read a session and put its copy in place."""
_LONGEST: Final = timedelta(days=365 * 10)


class RedisShortTerm:
    """Recent turns in Redis, shared by all processes of a deployment. See ``protocols.SharedShortTermStore``.

    ``url``     ``redis://HOST:PORT/0``, ``rediss://`` for TLS, ``unix:///SOCKET``; of a cluster any of its nodes
    ``ttl``     how long a turn is kept after it was stored
    ``turns``   how many turns of a session are kept
    ``prefix``  what the names of all keys begin with: one for each deployment that shares the server
    ``clock``   where the present comes from; ``None``: the machine

    Raises ``ConfigurationError`` for values that cannot work. It connects when it is used; every verb raises
    ``BackendUnavailableError`` where the server does not do its part. Thread-safe.
    """

    def __init__(
        self,
        url: str,
        *,
        ttl: timedelta = timedelta(hours=24),
        turns: int = 200,
        prefix: str = "siltstone",
        clock: Clock | None = None,
    ) -> None:
        if not KEY_PREFIX[1](prefix):
            raise ConfigurationError(f"prefix is {KEY_PREFIX[0]}, not {prefix!r}; nothing was opened")
        if not timedelta(0) < ttl <= _LONGEST:
            raise ConfigurationError(f"ttl is more than 0 and at most ten years, not {ttl!r}; nothing was opened")
        if turns < 1:
            raise ConfigurationError(f"turns is a whole number of 1 or more, not {turns!r}; nothing was opened")
        self._server = RedisServer(url, prefix)
        self._prefix, self._ttl, self._turns, self._clock = prefix, ttl, turns, clock

    @property
    def location(self) -> str:
        """The address, without what is secret in it."""
        return self._server.location

    @property
    def ttl(self) -> timedelta:
        """How long a turn is kept after it was stored."""
        return self._ttl

    @property
    def turns(self) -> int:
        """How many turns of a session are kept."""
        return self._turns

    # --- what every short-term store does

    def append(self, user_id: str, session_id: str, messages: Sequence[Message]) -> None:
        """Keep the messages, each in the place of an earlier one of its id, dropping the oldest over the limit."""
        if messages:
            now, session = self._now(), keys.encoded(session_id)
            turns = [Turn(message, now + self._ttl) for message in messages]
            limits = (*_life(turns, now), self._turns)
            self._run(scripts.APPEND, user_id, [session], f"s:{session}", micros(now), *limits, *map(_packed, turns))

    def recent(self, user_id: str, session_id: str, limit: int | None = None) -> list[Message]:
        """Return the newest messages of the session that have not expired, oldest first."""
        name, now = keys.of_session(self._prefix, user_id, keys.encoded(session_id)), micros(self._now())
        held = self._mend(user_id, lambda: self._server.call(lambda client: client.lrange(name, 0, -1)))
        live = [message for until, message in filter(None, map(_unpacked, held or ())) if until >= now]
        return live if limit is None else live[max(len(live) - limit, 0) :]

    def drop(self, user_id: str, *, session_id: str | None = None, ids: Sequence[str] | None = None) -> None:
        """Remove a session's turns, single messages, or everything of the user."""
        if session_id is None and ids is None:
            self._drop_user(user_id)
            return
        for session in self._sessions(user_id) if session_id is None else [keys.encoded(session_id)]:
            if ids is None:
                self._run(scripts.DROP_SESSION, user_id, [session], _fence(), _LEAST, f"s:{session}")
            else:
                self._run(scripts.DROP_TURNS, user_id, [session], _fence(), _LEAST, *map(keys.encoded, ids))

    # --- what is a copy of the store's

    def copied(self, user_id: str, session_id: str, limit: int, *, now: datetime) -> TurnsCopy:
        """Return the copy of a session's newest turns that have not expired, and the revision that it is of."""
        session = keys.encoded(session_id)
        found = self._run(scripts.COPIED, user_id, [session], f"s:{session}", micros(now), limit)
        as_of, fence, *held = found or (b"", b"")
        turns = [_unpacked(turn) for turn in reversed(held)]
        if not as_of or None in turns:
            return TurnsCopy(fence.decode())
        return TurnsCopy(fence.decode(), as_of.decode(), tuple(message for _, message in filter(None, turns)))

    def copy(
        self, user_id: str, session_id: str, turns: Sequence[Turn], *, as_of: str, fence: str, now: datetime
    ) -> None:
        """Put a copy in place, unless something of the user was dropped since ``fence`` was read."""
        kept, session = list(turns)[-self._turns :], keys.encoded(session_id)
        if kept:
            told = (f"s:{session}", as_of, fence, micros(now), *_life(kept, now), _LEAST)
            self._run(scripts.COPY, user_id, [session], *told, *map(_packed, kept))

    def follow(
        self,
        user_id: str,
        before: str,
        after: str,
        *,
        session_id: str | None = None,
        added: Sequence[Turn] = (),
        now: datetime,
    ) -> None:
        """Let copies of ``before`` be ones of ``after``, which has the ``added`` turns of one session beside."""
        sessions = [] if session_id is None or not added else [keys.encoded(session_id)]
        told = (before, after, "".join(f"s:{session}" for session in sessions), micros(now))
        life = _life(added, now) if added else (0, 0)
        self._run(scripts.FOLLOW, user_id, sessions, *told, *life, _LEAST, self._turns, *map(_packed, added))

    def clear(self) -> None:
        """Remove all that the deployment has in Redis, of all users."""
        self._server.clear()

    def check(self) -> None:
        """Ask whether the server is there; warn where it keeps on disk what is forgotten. Raises what verbs raise."""
        self._server.call(lambda client: client.ping())
        if kept := self._server.persistence():
            logger.warning(
                "Redis at %s writes recent turns to its disk (%s), where what is forgotten stays until it writes its "
                "files anew; run it with --save '' --appendonly no: what it loses is in the store",
                self.location,
                kept,
            )

    def close(self) -> None:
        """Give the connections back."""
        self._server.close()

    def __repr__(self) -> str:
        return f"RedisShortTerm({self.location!r}, prefix={self._prefix!r})"

    # --- how

    def _now(self) -> datetime:
        return datetime.now(timezone.utc) if self._clock is None else self._clock.now()

    def _run(self, script: str, user_id: str, sessions: Sequence[str], *arguments: object) -> Any:
        """Return what a script does with the keys of a user and of sessions; ``None`` where they were none of ours."""
        user = keys.of_user(self._prefix, user_id)
        names = [user, *(keys.of_session(self._prefix, user_id, session) for session in sessions)]
        return self._mend(user_id, lambda: self._server.run(script, names, *arguments))

    def _mend(self, user_id: str, work: Callable[[], R]) -> R | None:
        """Return what ``work`` returns; ``None`` where a key of the user held what is none of ours: all of them go."""
        try:
            return work()
        except ForeignKeyError as exc:
            user = keys.of_user(self._prefix, user_id)
            logger.warning("Redis at %s: %s; %s was not all ours, and is removed", self.location, exc, user)
            self._server.unlink_all(user)
            return None

    def _sessions(self, user_id: str) -> list[str]:
        """Return the sessions that a user has turns of, encoded."""
        user = keys.of_user(self._prefix, user_id)
        names = self._mend(user_id, lambda: self._server.call(lambda client: client.hkeys(user)))
        return [name[2:].decode() for name in names or () if name.startswith(b"s:")]

    def _drop_user(self, user_id: str) -> None:
        """Remove everything of a user. What the server has thrown out its list of is looked for among all keys."""
        while True:
            sessions = self._sessions(user_id)
            marks = (f"s:{session}" for session in sessions)
            if self._run(scripts.DROP, user_id, sessions, _fence(), _LEAST, *marks):
                break
        if self._server.evicts():
            self._server.unlink_all(keys.of_user(self._prefix, user_id))


def _life(turns: Sequence[Turn], now: datetime) -> tuple[int, int]:
    """Return until when there is something of the turns, in microseconds, and how long that is, in milliseconds."""
    until = max(micros(turn.until) for turn in turns)
    return until, max((until - micros(now)) // 1000, 0) + 1


def _fence() -> str:
    return secrets.token_hex(8)


def _packed(turn: Turn) -> bytes:
    """Return a turn as it is stored; see ``scripts``."""
    message = turn.message
    at = 0 if message.created_at is None else micros(message.created_at)
    document = {
        "r": message.role, "c": message.content, "n": message.name, "i": message.id, "m": message.metadata,
        "s": message.session_id, "t": None if message.created_at is None else at,
    }  # fmt: skip
    return f"{micros(turn.until)}|{at}|{keys.encoded(message.id or '')}|".encode() + dump(document)


def _unpacked(value: bytes) -> tuple[int, Message] | None:
    """Return until when a turn is a recent one, and its message; ``None`` for what is no turn."""
    try:
        until, _, _, document = value.split(b"|", 3)
        held = orjson.loads(document)
        return int(until), Message(
            held["r"],
            held["c"],
            name=held["n"],
            created_at=None if held["t"] is None else time_of(held["t"]),
            id=held["i"],
            metadata=held["m"],
            session_id=held["s"],
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
