"""Keeping to the limits of language models: where calls wait for their turn, and are refused when the day is used up.

What is decided stands in ``usage``; the numbers lie in the store, so that all of its processes keep the limits
together, and a restart forgets nothing. That costs two small writes for each call of a model.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any, Final

from ..errors import BackendUnavailableError, InvalidInputError
from ..forks import ForkSafeLock
from ..protocols import ChatModel, Clock, KeepsUsage, TokenCounter
from ..records import Message
from .usage import Limits, Usage, read_usage

LONGEST_WAIT: Final = 60.0
"""Seconds that a call waits for its turn at most; where it would be more, its work is put off."""


class PostponedError(BackendUnavailableError):
    """Nothing is wrong: a model is not to be asked before ``until``. What was due stays due, and has not failed."""

    def __init__(self, message: str, until: datetime) -> None:
        super().__init__(message)
        self.until = until


class Page:
    """What models were used for, in memory: for stores that do not keep it, or that may not. Thread-safe."""

    def __init__(self, page: Mapping[str, Any] | None = None) -> None:
        self._page: Mapping[str, Any] = page or {}
        self._lock = ForkSafeLock()

    def usage(self) -> Mapping[str, Any]:
        """Return the page."""
        return self._page

    def turn_usage(self, turn: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        """Replace the page by what ``turn`` makes of it."""
        with self._lock:
            self._page = turn(self._page)


class Limiter:
    """Has calls of language models wait for their turn. Thread-safe.

    ``limits``       how much in a minute, and in a day
    ``concurrency``  how many calls of this process at once; ``None``: any number
    ``book``         where the usage is kept
    ``counter``      counts the tokens of requests and answers
    ``pause``        waits so many seconds; returns whether that was cut short, as everything is being closed

    Raises ``InvalidInputError`` for a concurrency that is no positive number.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        concurrency: int | None,
        book: KeepsUsage,
        counter: TokenCounter,
        clock: Clock,
        pause: Callable[[float], bool],
    ) -> None:
        if concurrency is not None and (isinstance(concurrency, bool) or concurrency < 1):
            raise InvalidInputError(f"concurrency is a positive number, or None for any, not {concurrency!r}")
        self._limits = limits
        self._concurrency = concurrency
        self._book = book
        self._counter = counter
        self._clock = clock
        self._pause = pause
        self._slots: dict[int, threading.Semaphore] = {}

    @property
    def limits_anything(self) -> bool:
        """Whether there is any limit to keep."""
        return bool(self._limits) or self._concurrency is not None

    @property
    def book(self) -> KeepsUsage:
        """Where the usage is kept."""
        return self._book

    def spent(self) -> datetime | None:
        """Return when the day is over, if its budget is used up. Writes nothing."""
        if not self._limits:
            return None
        return read_usage(self._book.usage()).spent(self._limits, self._clock.now())

    def check(self) -> None:
        """Raise ``PostponedError`` where the budget of the day is used up."""
        until = self.spent()
        if until is not None:
            raise PostponedError(spent_until(until), until)

    def call(self, ask: Callable[[], str], texts: Sequence[str]) -> str:
        """Return the answer to a request of these texts, when its turn has come.

        Raises ``PostponedError`` where that is more than ``LONGEST_WAIT`` away, or everything is being closed.
        """
        with self._slot():
            if self._limits:
                self._wait(sum(map(self._counter.count, texts)))
            answer = ask()
            if self._limits:
                tokens = self._counter.count(answer)
                self._turn(lambda usage: usage.answered(self._limits, tokens, self._clock.now()))
        return answer

    def _wait(self, tokens: int) -> None:
        wait = 0.0

        def admit(usage: Usage) -> Usage:
            nonlocal wait
            used, wait = usage.admitted(self._limits, tokens, self._clock.now())
            return used if wait <= LONGEST_WAIT else usage

        self._turn(admit)
        if wait > LONGEST_WAIT or (wait and self._pause(wait)):
            until = self._clock.now() + timedelta(seconds=wait)
            raise PostponedError(f"the limit per minute is used up for {wait:.0f} s; nothing was lost", until)

    def _turn(self, turn: Callable[[Usage], Usage]) -> None:
        self._book.turn_usage(lambda page: turn(read_usage(page)).page())

    def _slot(self) -> AbstractContextManager[object]:
        """Return what a call holds while it is under way; a forked child has none of its parent's calls."""
        if self._concurrency is None:
            return nullcontext()
        return self._slots.setdefault(os.getpid(), threading.Semaphore(self._concurrency))


class LimitedChatModel:
    """A language model whose calls keep to the limits, and with ``budget`` fail once the day is used up."""

    def __init__(self, inner: ChatModel, limiter: Limiter, *, budget: bool = True) -> None:
        self._inner = inner
        self._limiter = limiter
        self._budget = budget

    @property
    def name(self) -> str:
        """Identity of the model."""
        return self._inner.name

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the answer's text. Raises ``PostponedError`` where the model is not to be asked now."""
        if self._budget:
            self._limiter.check()
        return self._limiter.call(
            lambda: self._inner.complete(messages, schema=schema, max_tokens=max_tokens),
            [message.content for message in messages],
        )

    def __repr__(self) -> str:
        return f"LimitedChatModel({self._inner!r})"


def spent_until(until: datetime) -> str:
    """Return the sentence that says that the budget of a day is used up."""
    return f"the day's budget of language models is used up; the next begins at {until:%Y-%m-%d %H:%M} UTC"
