"""Memory that fails never ends a chat: what could not be stored waits here, and reads fall back.

Adapters write and read through an ``Outbox``. A failure is logged once, until the memory works again.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import Any

from .errors import InvalidInputError
from .forks import ForkSafeLock
from .records import Message, unique
from .tiers.restart import current, restart
from .twins import Call, Steps, call

logger = logging.getLogger("siltstone")


class Outbox:
    """Messages that wait to be stored, oldest first. Thread-safe; it never raises what the memory raises.

    ``waiting`` is the list it works on, one JSON-safe mapping per message. Give messages an id where a first attempt
    may have arrived although it failed: it makes the retry store nothing twice.
    """

    def __init__(self, waiting: list[dict[str, Any]] | None = None) -> None:
        self._waiting = [] if waiting is None else waiting
        self._lock = ForkSafeLock()
        self._failing = False
        self._refused: dict[str, dict[str | None, list[Message]]] = {}  # by session, and the id of what they follow

    def held(self, session_id: str) -> list[Message]:
        """Return the messages of a session that wait to be stored."""
        with self._lock:
            held = [item for item in self._waiting if item["session_id"] == session_id]
        return [_thawed(item) for item in held]

    def save(self, session_id: str, messages: Sequence[Message] = ()) -> Steps[list[str]]:
        """Store what waits for the session and then ``messages``; return the stored ids of ``messages``.

        What the memory cannot take now is kept, and no id is returned. What it refuses as invalid is logged and
        dropped, since it would be refused again.
        """
        earlier = self._take(session_id)
        batch = [*earlier, *messages]
        ids: list[str | None] = []  # of what was stored so far, one per message; None for one that was refused
        if not batch:
            return []
        try:
            try:
                ids += yield _add(session_id, batch)
            except InvalidInputError:
                for message in batch:
                    ids.append((yield from self._single(session_id, message)))
        except Exception as exc:  # whatever it is, the turn is kept and the chat goes on
            self._keep(session_id, batch[len(ids) :])
            self._failed("store a turn; it is kept and stored again later", exc)
        except BaseException:  # cancelled on the way
            self._keep(session_id, batch[len(ids) :])
            raise
        else:
            self._works()
        return [id for id in ids[len(earlier) :] if id is not None]

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

    def _single(self, session_id: str, message: Message) -> Steps[str | None]:
        try:
            (id,) = yield _add(session_id, [message])
        except InvalidInputError as exc:
            logger.error("siltstone cannot store a %s message, which is lost to memory: %s", message.role, exc)
            return None
        return str(id)

    def _take(self, session_id: str) -> list[Message]:
        with self._lock:
            taken = [item for item in self._waiting if item["session_id"] == session_id]
            self._waiting[:] = [item for item in self._waiting if item["session_id"] != session_id]
        return [_thawed(item) for item in taken]

    def _keep(self, session_id: str, batch: Sequence[Message]) -> None:
        now = datetime.now(timezone.utc)
        with self._lock:
            self._waiting[:0] = [_frozen(message, session_id, now) for message in batch]

    def _failed(self, what: str, exc: Exception) -> None:
        if not self._failing:
            self._failing = True
            logger.warning("siltstone could not %s: %s: %s", what, type(exc).__name__, exc)

    def _works(self) -> None:
        if self._failing:
            self._failing = False
            logger.info("siltstone works again; what was kept is stored")


def _add(session_id: str, batch: Sequence[Message]) -> Call:
    return call("add", list(batch), session_id=session_id, on_conflict="update")


def _frozen(message: Message, session_id: str, now: datetime) -> dict[str, Any]:
    item = {key: value for key, value in asdict(message).items() if value is not None}
    created_at = (message.created_at or now).isoformat()
    return {"id": secrets.token_hex(10), **item, "created_at": created_at, "session_id": session_id}


def _thawed(item: dict[str, Any]) -> Message:
    return Message(**{**item, "created_at": datetime.fromisoformat(item["created_at"])})
