"""Recent turns in a short-term store that other processes share, kept a true copy of the long-term store.

Whatever is read there counts only as long as the long-term store is at the revision that it is a copy of; else the
turns are read from the long-term store, and copied anew. So a write needs no short-term store, and one that was away,
fell back, lost or evicted things serves nothing that has been forgotten, changed or added to since. What a ``forget``
owes it is noted in the long-term store first, and struck out when it is done: at once, or by a thread that tries again
until the short-term store is back.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Final, TypeVar
from urllib.parse import quote, unquote

from ..errors import BackendUnavailableError, SiltstoneError
from ..forks import ForkSafeEvent, ForkSafeLock
from ..protocols import EVERYBODY, Clock, Commit, KeepsOwed, SharedShortTermStore, Store, Stored, Turn
from ..records import Message
from ..settings import ShortTermDown
from .long_term import Plan
from .turns import Turns

logger = logging.getLogger("siltstone")

R = TypeVar("R")
_REST: Final = 0.5
"""Seconds for which reads leave a short-term store alone that did not answer."""
_LONGEST_REST: Final = 30.0
"""Seconds, at most, between two attempts to remove what is owed."""
_ATTEMPTS: Final = 3
"""How often a session is read again because the store has moved on meanwhile."""
_MOMENT: Final = timedelta(microseconds=1)


class SharedTurns(Turns):
    """The way to recent turns over a shared short-term store. Thread-safe.

    ``down`` says what becomes of a read while that is away: ``refuse`` raises ``BackendUnavailableError``, ``degrade``
    reads the long-term store, by the same time to live and number of turns, and says so once in the log. Writes go on
    either way.
    """

    def __init__(
        self, store: Store, tier: SharedShortTermStore, *, clock: Clock, down: ShortTermDown, read_only: bool
    ) -> None:
        super().__init__(store)
        self._tier, self._clock = tier, clock
        self._down, self._read_only = down, read_only
        self._guard = ForkSafeLock()
        self._failure: str | None = None
        self._rests_until = 0.0
        self._owes = True
        self._unnoted: dict[str, str] = {}
        self._closing = ForkSafeEvent()
        self._settling: threading.Thread | None = None

    def open(self) -> None:
        """Ask whether it is there, and finish what earlier processes left. Raises where ``down`` refuses to go on."""
        try:
            self._ask(self._tier.check, at_once=True)
        except BackendUnavailableError as exc:
            if self._down == "refuse":
                raise BackendUnavailableError(f"{exc}; nothing was opened. {self._advice}") from exc
        self.settle()

    @property
    def trouble(self) -> tuple[str, ...]:
        """What is wrong with it now."""
        failure = self._failure
        return () if failure is None else (f"short-term tier: {failure}; {self._meanwhile}",)

    # --- reading

    def live(self, user_id: str, messages: Sequence[Message], now: datetime) -> list[Message]:
        """Return all of a page: what has gone or expired was left out of it."""
        return list(messages)

    def page(self, user_id: str, session_id: str, limit: int, now: datetime) -> list[Message]:
        """Return the newest messages of a session that have not expired, oldest first."""
        try:
            if self._owes:
                self._settle()
            copy = self._ask(lambda: self._tier.copied(user_id, session_id, limit, now=now))
            if copy.as_of is not None and copy.as_of == self._store.revision(user_id):
                return list(copy.messages)
            turns, revision = self._read(user_id, session_id)
            live = [turn for turn in turns if turn.until >= now]
            if live and revision is not None and not self._read_only:
                as_of = revision
                self._ask(lambda: self._tier.copy(user_id, session_id, live, as_of=as_of, fence=copy.fence, now=now))
        except BackendUnavailableError as exc:
            if self._down == "refuse":
                raise BackendUnavailableError(
                    f"{exc}: recent turns were not read, and everything is safe in the store. {self._advice}"
                ) from exc
            live = [turn for turn in self._read(user_id, session_id)[0] if turn.until >= now]
        return [turn.message for turn in live[max(len(live) - limit, 0) :]]

    def _read(self, user_id: str, session_id: str) -> tuple[list[Turn], str | None]:
        """Return a session's turns out of the store, and the revision at which it has these, if that held still."""
        for _ in range(_ATTEMPTS):
            before = self._store.revision(user_id)
            messages = self._store.messages(user_id, session_id, limit=self._tier.turns)
            stored = self._store.fetch(user_id, [message.id or "" for message in messages])
            turns = turns_of([item for item in stored if item is not None], self._tier.ttl)
            if self._store.revision(user_id) == before:
                return turns, before
        return turns, None

    # --- writing

    def written(self, user_id: str, plan: Plan, commit: Commit) -> None:
        """Let the copies follow the commit, or go where old words may be in them."""
        put = {put.id: put for put in plan.puts if put.message is not None and put.id not in commit.skipped}
        new = [
            Stored(1, one.record, one.message)
            for id, one in put.items()
            if not plan.expect.get(id) and (one.record is None or one.record.version == 1)
        ]
        sessions = {one.message.session_id for one in new if one.message is not None}
        try:
            if plan.remove or len(new) < len(put):
                self._ask(lambda: self._tier.drop(user_id))
            elif commit.before is None or commit.before == commit.revision or len(sessions) > 1:
                return  # the copies are of another revision now, and made anew when they are asked for
            elif new and new[0].record is None:  # its time depends on what was stored before it
                self._ask(lambda: self._tier.drop(user_id, session_id=sessions.pop()))
            else:
                before, now = commit.before, self._clock.now()
                self._ask(
                    lambda: self._tier.follow(
                        user_id,
                        before,
                        commit.revision,
                        session_id=next(iter(sessions), None),
                        added=turns_of(new, self._tier.ttl),
                        now=now,
                    )
                )
        except BackendUnavailableError:
            pass  # it was said, and what is there is of another revision

    # --- forgetting

    @contextmanager
    def forgetting(self, user_id: str, ids: Sequence[str] | None) -> Iterator[None]:
        """Remove all copies of the user when the block is done; whatever is needed is copied anew.

        Raises ``BackendUnavailableError`` where that could not be done at once: the items are forgotten, nothing of
        them is served, and it is noted that their copies are to be removed.
        """
        self._note({secrets.token_hex(8): quote(user_id, safe="", errors="surrogatepass")})
        yield
        try:
            self._settle(at_once=True)
        except BackendUnavailableError as exc:
            noted = "it is noted in the store" if isinstance(self._store, KeepsOwed) else "this process remembers"
            raise BackendUnavailableError(
                f"{exc}. What was to be forgotten is forgotten in the store, and is served no more; copies of recent "
                f"turns may lie in the short-term tier until they expire, in {self._tier.ttl}, or it is back: {noted}, "
                "and whoever has this memory open removes them then. To be told that they are gone, forget again then"
            ) from exc

    def settle(self) -> None:
        """Remove the copies that are still owed, if the short-term store is there."""
        if self._read_only or not self._owes:
            return
        try:
            self._settle()
        except BackendUnavailableError as exc:
            logger.warning("copies of forgotten turns are still to be removed: %s", exc)

    def close(self) -> None:
        """Try once more to remove what is owed, then give the connections back."""
        self._closing.set()
        self.settle()
        if (settling := self._settling) is not None:
            settling.join()
        self._tier.close()

    def _settle(self, *, at_once: bool = False) -> None:
        """Remove every copy that is noted as owed, and strike it out; what cannot be removed now is, later."""
        if self._read_only:
            return
        self._owes = False  # first: what is noted from here on is owed, whether this finds it or not
        try:
            page = self._owed()
            users = {unquote(user, errors="surrogatepass") for user in page.values() if user != EVERYBODY}
            if EVERYBODY in page.values():
                self._ask(self._tier.clear, at_once=at_once)
                users = set()
            for user in sorted(users):
                self._ask(lambda user=user: self._tier.drop(user), at_once=at_once)  # type: ignore[misc]
            if page:
                self._strike(page)
        except BaseException:
            self._settle_later()
            raise

    def _settle_later(self) -> None:
        """Have a thread go on trying, unless one does."""
        with self._guard:
            self._owes = True
            if not (self._closing.is_set() or (self._settling is not None and self._settling.is_alive())):
                settling = threading.Thread(target=self._keep_settling, name="siltstone-owed", daemon=True)
                settling.start()
                self._settling = settling  # not before: a child forked here could not join it

    def _keep_settling(self) -> None:
        pause = _REST
        while not self._closing.wait(pause):
            pause = min(2 * pause, _LONGEST_REST)
            if self._owes:
                with suppress(SiltstoneError):  # it was said, and is tried again
                    self._settle(at_once=True)
            with self._guard:  # or who fails meanwhile would leave it to a thread that ends
                if not self._owes:
                    self._settling = None
                    return

    def _owed(self) -> dict[str, str]:
        with self._guard:
            unnoted = dict(self._unnoted)
        return {**(self._store.owed() if isinstance(self._store, KeepsOwed) else {}), **unnoted}

    def _note(self, owed: dict[str, str]) -> None:
        if isinstance(self._store, KeepsOwed):
            self._store.turn_owed(lambda page: {**page, **owed})
        else:
            with self._guard:
                self._unnoted.update(owed)
        self._owes = True

    def _strike(self, done: dict[str, str]) -> None:
        with self._guard:
            for token in done:
                self._unnoted.pop(token, None)
        if isinstance(self._store, KeepsOwed):
            self._store.turn_owed(lambda page: {token: user for token, user in page.items() if token not in done})

    # --- a server that is away

    def _ask(self, work: Callable[[], R], *, at_once: bool = False) -> R:
        """Return what ``work`` returns; while the server rests after a failure, fail as it did."""
        failure = self._failure
        if failure is not None and not at_once and time.monotonic() < self._rests_until:
            raise BackendUnavailableError(failure)
        try:
            answer = work()
        except BackendUnavailableError as exc:
            with self._guard:
                first, self._failure = self._failure is None, str(exc)
                self._rests_until = time.monotonic() + _REST
            if first:
                logger.warning("short-term tier: %s; %s", exc, self._meanwhile)
            raise
        if failure is not None:
            with self._guard:
                first, self._failure = self._failure is not None, None
            if first:
                logger.warning("short-term tier: %s answers again", self._tier.location)
        return answer

    @property
    def _meanwhile(self) -> str:
        if self._down == "refuse":
            return "recent turns are refused until it is back"
        return "recent turns are read from the store until it is back"

    @property
    def _advice(self) -> str:
        return "See to the server, or choose short_term_down='degrade' to read them from the store meanwhile"


def turns_of(stored: Sequence[Stored], ttl: timedelta) -> list[Turn]:
    """Return messages, in order, as turns: each is a recent one for ``ttl`` after it was stored, or until it expires.

    A message without a record does not say when it was stored: not before it was said, or the one before it stored.
    """
    turns: list[Turn] = []
    since: datetime | None = None
    for item in stored:
        message, record = item.message, item.record
        if message is None:
            continue
        if record is not None:
            since = record.stored_at
        elif message.created_at is not None:
            since = message.created_at if since is None else max(since, message.created_at)
        if since is None:
            continue
        until = since + ttl
        if record is not None and record.expires_at is not None and not record.pinned:
            until = min(until, record.expires_at - _MOMENT)
        turns.append(Turn(message, until))
    return turns
