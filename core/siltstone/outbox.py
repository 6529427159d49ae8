"""Memory that fails never ends a chat: what could not be stored waits here, and reads fall back.

Adapters write and read through an ``Outbox``. A failure is logged once, until the memory works again. What waits is
stored with the next turn of whichever session, or else before a flush, a forgetting or the close (``keepers``).
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import Any
from weakref import WeakKeyDictionary

from .errors import BackendUnavailableError, ConfigurationError, InvalidInputError, SiltstoneError, for_log
from .forks import ForkSafeLock
from .memory import TieredMemory
from .records import Hit, Message, unique
from .tiers.restart import current, restart
from .twins import Call, Steps, call, run

logger = logging.getLogger("siltstone")

_opened: WeakKeyDictionary[object, Outboxes] = WeakKeyDictionary()
_opening = ForkSafeLock()


def shared_outbox(memory: TieredMemory) -> Outbox:
    """Return the outbox of an open store and user: it outlives adapters and views, which are made anew per request."""
    return _outboxes(memory).shared(memory.user_id)


def own_outbox(memory: TieredMemory, waiting: list[dict[str, Any]]) -> Outbox:
    """Return an outbox of its own, whose ``waiting`` may also be saved with a state; see ``Outbox``."""
    return Outbox(waiting, among=_outboxes(memory), user_id=memory.user_id)


def _outboxes(memory: TieredMemory) -> Outboxes:
    with _opening:
        known = _opened.get(memory.handle)
        if known is None:
            known = _opened[memory.handle] = Outboxes()
            memory.handle.keepers.join(known.store)
        return known


class Outboxes:
    """The outboxes of one open store: one per user that adapters share, and those in which something waits."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._shared: dict[str, Outbox] = {}
        self._waiting: dict[Outbox, None] = {}

    def shared(self, user_id: str) -> Outbox:
        """Return the outbox that the adapters of a user share."""
        with self._lock:
            return self._shared.setdefault(user_id, Outbox(among=self, user_id=user_id))

    def note(self, outbox: Outbox) -> None:
        """Hold an outbox as long as something waits in it, also when its adapter is gone."""
        with self._lock:
            if outbox.waiting():
                self._waiting[outbox] = None
            else:
                self._waiting.pop(outbox, None)

    def waiting(self, user_id: str | None = None) -> list[Outbox]:
        """Return the outboxes in which something waits, of one user or of all."""
        with self._lock:
            return [outbox for outbox in self._waiting if user_id in (None, outbox.user_id)]

    def store(self, memory: TieredMemory, closing: bool) -> None:
        """Try once more to store what waits for the memory's user, at the close for all. What cannot be is logged."""
        asked = None if closing else memory.user_id
        away: dict[str | None, Exception] = {}  # by user, ``None``: of all; who does not answer is asked once
        for outbox in self.waiting(asked):
            user_id = outbox.user_id
            if None not in away and user_id not in away:
                view = memory if user_id == memory.user_id else memory.for_user(user_id)
                failed = run(view, outbox.retry())
                if failed is not None:
                    away[None if isinstance(failed, BackendUnavailableError) else user_id] = failed
        left = self.waiting(asked)
        if left:
            told = _told(left)
            if not closing:
                logger.warning("siltstone still keeps %s, not stored yet", told)
            else:
                saved = ", except where a saved state holds them" if any(outbox.own for outbox in left) else ""
                logger.error("siltstone could not store %s before the memory was closed: lost%s", told, saved)


class Outbox:
    """Messages that wait to be stored, oldest first. Thread-safe; it never raises what the memory raises.

    ``waiting`` is the list it works on, one JSON-safe mapping per message. Give messages an id where a first attempt
    may have arrived although it failed: it makes the retry store nothing twice. ``among`` are the other outboxes of the
    open store, ``user_id`` is whose memory it is.
    """

    def __init__(
        self, waiting: list[dict[str, Any]] | None = None, *, among: Outboxes | None = None, user_id: str = "default"
    ) -> None:
        self.user_id, self.own = user_id, waiting is not None
        self._waiting = [] if waiting is None else waiting
        self._among = among
        self._lock = ForkSafeLock()
        self._failing = False
        self._refused: dict[str, dict[str | None, list[Message]]] = {}  # by session, and the id of what they follow
        if waiting:
            self._note()

    def __deepcopy__(self, memo: dict[int, Any]) -> Outbox:
        return self  # a copy of an adapter works on the same memory: what waits is stored once

    def waiting(self) -> dict[str, int]:
        """Return how many messages wait to be stored, by session."""
        with self._lock:
            return dict(Counter(item["session_id"] for item in self._waiting))

    def held(self, session_id: str, stored: Iterable[Message] = ()) -> list[Message]:
        """Return the messages of a session that wait to be stored, without those among ``stored``."""
        known = {message.id for message in stored}
        return [_thawed(item) for item in self._items(session_id) if item["id"] not in known]

    def save(self, session_id: str, messages: Sequence[Message] = ()) -> Steps[list[str]]:
        """Store what waits for the session and then ``messages``; return the stored ids of ``messages``.

        What the memory cannot take now is kept, and no id is returned. What it refuses as invalid is logged and
        dropped, since it would be refused again. Once it takes something, what waits for the user's other sessions is
        stored too.
        """
        earlier = self._items(session_id)
        if not earlier and not messages:
            return []
        ids, failed = yield from self._store(session_id, earlier, messages)
        if failed is None:
            for outbox in [self] if self._among is None else self._among.waiting(self.user_id):
                if (yield from outbox.retry()) is not None:
                    break
            self._works()
        return [id for id in ids[len(earlier) :] if id is not None]

    def retry(self) -> Steps[Exception | None]:
        """Store what waits, session by session; return what a memory fails with that does not answer at all."""
        for session_id in self.waiting():
            earlier = self._items(session_id)
            if earlier:  # else another thread has stored it meanwhile
                _, failed = yield from self._store(session_id, earlier, ())
                if isinstance(failed, OSError):  # locked, unreachable, refused: so would be what else waits
                    return failed
        self._works()
        return None

    def say(self, session_id: str, messages: Sequence[Message]) -> Steps[None]:
        """Store what is said now, and see to it that the session's transcript shows it.

        What was forgotten before is refused by the store. Said again, ``shown`` puts it into the transcript all the
        same, as long as this outbox lives; no word of it is stored. A message that was stored before and that a
        restart has taken out of the transcript comes back into it.
        """
        ids = yield from self.save(session_id, messages)
        newest = yield from self.read(call("messages", session_id, limit=len(ids)), [])
        if len(ids) < len(messages) or [message.id for message in newest] == ids:
            return  # some wait in the outbox, or all are there
        stored = yield from self.read(call("messages", session_id), [])
        self._show(session_id, stored, ids, messages)
        shown = [message.id for message in current(self.shown(session_id, stored)) if message.id]
        if not set(ids) <= set(shown):
            earlier = [id for id in shown if id not in ids]
            yield from self.save(session_id, [restart([*earlier, *unique(ids)])])

    def shown(self, session_id: str, stored: Sequence[Message]) -> list[Message]:
        """Return the stored messages of a session, and what was refused where it was said among them."""
        with self._lock:
            after = self._refused.get(session_id)
            if not after:
                return list(stored)
            known = {message.id for message in stored}
            found = [message for message in after.get(None, ()) if message.id not in known]
            for message in stored:
                found += [message, *(one for one in after.get(message.id, ()) if one.id not in known)]
        return found

    def read(self, request: Call, default: Any) -> Steps[Any]:
        """Return the answer of the memory, or ``default`` where it fails."""
        try:
            answer = yield request
        except Exception as exc:  # whatever it is, the chat goes on without it
            self._failed(f"answer ({request.verb})", exc)
            return default
        return answer

    def _show(
        self, session_id: str, stored: Sequence[Message], ids: Sequence[str], messages: Sequence[Message]
    ) -> None:
        """Keep what is not among the stored messages for ``shown``, behind the one that it follows."""
        now = datetime.now(timezone.utc)
        order = [message.id for message in stored]
        first = next((order.index(id) for id in ids if id in order), len(order))
        behind = order[first - 1] if first else None
        with self._lock:
            after = self._refused.setdefault(session_id, {})
            kept = {message.id for refused in after.values() for message in refused}
            for id, message in zip(ids, messages, strict=True):
                if id in order:
                    behind = id
                elif id not in kept:
                    said = replace(message, id=id, session_id=session_id, created_at=message.created_at or now)
                    after.setdefault(behind, []).append(said)

    def _store(
        self, session_id: str, earlier: Sequence[dict[str, Any]], messages: Sequence[Message]
    ) -> Steps[tuple[list[str | None], Exception | None]]:
        """Store what waits and then ``messages``; return the ids, ``None`` for what was refused, and what failed.

        What waits leaves the list when it is stored: whoever stores the same meanwhile keeps the order, and their ids
        make it no second time.
        """
        batch = [*map(_thawed, earlier), *messages]
        ids: list[str | None] = []
        try:
            try:
                ids += yield _add(session_id, batch)
            except InvalidInputError:
                for message in batch:
                    ids.append((yield from self._single(session_id, message)))
        except Exception as exc:  # whatever it is, the turn is kept and the chat goes on
            self._failed("store a turn; it is kept and stored again later", exc)
            return ids, exc
        else:
            return ids, None
        finally:  # also when it was cancelled on the way
            self._settle(session_id, earlier[: len(ids)], batch[max(len(earlier), len(ids)) :])

    def _single(self, session_id: str, message: Message) -> Steps[str | None]:
        try:
            (id,) = yield _add(session_id, [message])
        except InvalidInputError as exc:
            logger.error("siltstone cannot store a %s message, which is lost to memory: %s", message.role, exc)
            return None
        return str(id)

    def _items(self, session_id: str) -> list[dict[str, Any]]:
        with self._lock:
            return [item for item in self._waiting if item["session_id"] == session_id]

    def _settle(self, session_id: str, stored: Sequence[dict[str, Any]], kept: Sequence[Message]) -> None:
        """Take out of the list what is stored, and put at its end what is not."""
        now = datetime.now(timezone.utc)
        gone = set(map(id, stored))
        with self._lock:
            waiting = [item for item in self._waiting if id(item) not in gone]
            self._waiting[:] = [*waiting, *(_frozen(message, session_id, now) for message in kept)]
        if stored or kept:
            self._note()

    def _note(self) -> None:
        if self._among is not None:
            self._among.note(self)

    def _failed(self, what: str, exc: Exception) -> None:
        if not self._failing:
            self._failing = True
            logger.warning("siltstone could not %s: %s", what, for_log(exc))

    def _works(self) -> None:
        if self._failing and not self.waiting():
            self._failing = False
            logger.info("siltstone works again; what was kept is stored")


class Lookup:
    """Searches for a chat, which goes on without what a failing memory does not find: logged once until one works."""

    def __init__(self) -> None:
        self._failing = False

    def search(self, query: str, **options: Any) -> Steps[list[Hit]]:
        """Return what ``TieredMemory.search`` finds, nothing where the memory fails. Wrong arguments raise."""
        try:
            hits: list[Hit] = yield call("search", query, **options)
        except (InvalidInputError, ConfigurationError):
            raise
        except (SiltstoneError, OSError) as exc:
            if not self._failing:
                self._failing = True
                logger.warning("siltstone could not answer (search): %s", for_log(exc))
            return []
        self._failing = False
        return hits


def _told(outboxes: Iterable[Outbox]) -> str:
    """Say how many messages of which sessions wait."""
    counts: Counter[tuple[str, str]] = Counter()
    for outbox in outboxes:
        counts.update({(outbox.user_id, session_id): count for session_id, count in outbox.waiting().items()})
    named = ", ".join(f"{count} of session {session!r} of {user!r}" for (user, session), count in counts.items())
    return f"{counts.total()} message{'s' * (counts.total() > 1)} ({named})"


def _add(session_id: str, batch: Sequence[Message]) -> Call:
    return call("add", list(batch), session_id=session_id, on_conflict="update")


def _frozen(message: Message, session_id: str, now: datetime) -> dict[str, Any]:
    item = {key: value for key, value in asdict(message).items() if value is not None}
    created_at = (message.created_at or now).isoformat()
    return {"id": secrets.token_hex(10), **item, "created_at": created_at, "session_id": session_id}


def _thawed(item: dict[str, Any]) -> Message:
    return Message(**{**item, "created_at": datetime.fromisoformat(item["created_at"])})
