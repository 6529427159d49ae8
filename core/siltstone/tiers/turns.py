"""Where a session's recent turns are read from: the store itself, or a short-term tier of the caller's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from ..protocols import Commit, ShortTermStore, Store
from ..records import Message, expired, message_id
from .long_term import Plan


class Turns:
    """The way to recent turns of a store that has no tier of its own for them; others build on it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def trouble(self) -> tuple[str, ...]:
        """What is wrong with it now, as ``stats().health`` says it."""
        return ()

    def page(self, user_id: str, session_id: str, limit: int, now: datetime) -> list[Message]:
        """Return the newest messages of a session, oldest first; fewer than ``limit``: there are no more."""
        return self._store.messages(user_id, session_id, limit=limit)

    def live(self, user_id: str, messages: Sequence[Message], now: datetime) -> list[Message]:
        """Return those of a page as the store has them, but for what is forgotten, or has expired."""
        return [
            item.message
            for item in self._store.fetch(user_id, [message.id or "" for message in messages])
            if item is not None and item.message is not None and (item.record is None or not expired(item.record, now))
        ]

    def written(self, user_id: str, plan: Plan, commit: Commit) -> None:
        """Take notice of what was committed, by whatever verb. Never raises."""

    def stored(self, user_id: str, ids: Sequence[str]) -> None:
        """Take notice of messages that a caller has stored or changed, by their ids."""

    def replaced(self, user_id: str, session_id: str) -> None:
        """Take notice of a session that now holds other messages, all of which ``stored`` will name."""

    @contextmanager
    def forgetting(self, user_id: str, ids: Sequence[str] | None) -> Iterator[None]:
        """Have the items gone from here, too, while the block takes them from the store; ``None``: all of a user."""
        yield

    def settle(self) -> None:
        """Finish what could not be finished before, as far as that is possible now. Never raises."""

    def close(self) -> None:
        """Give back what is held."""


class KeptTurns(Turns):
    """A short-term store of the caller's, which is told what is stored here."""

    def __init__(self, store: Store, tier: ShortTermStore) -> None:
        super().__init__(store)
        self._tier = tier

    def page(self, user_id: str, session_id: str, limit: int, now: datetime) -> list[Message]:
        """Return the newest messages that were kept there, oldest first."""
        return self._tier.recent(user_id, session_id, limit)

    def stored(self, user_id: str, ids: Sequence[str]) -> None:
        """Keep the messages there, too."""
        for stored in self._store.fetch(user_id, ids):
            if stored is not None and stored.message is not None and stored.message.session_id is not None:
                self._tier.append(user_id, stored.message.session_id, [stored.message])

    def replaced(self, user_id: str, session_id: str) -> None:
        """Drop what was kept of the session."""
        self._tier.drop(user_id, session_id=session_id)

    @contextmanager
    def forgetting(self, user_id: str, ids: Sequence[str] | None) -> Iterator[None]:
        """Drop the items first, so that no failure leaves a copy there."""
        self._tier.drop(user_id, ids=None if ids is None else [message_id(id) for id in ids])
        yield
