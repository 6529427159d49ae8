"""Work that takes a while: a bar where somebody looks, a line now and then where nobody does, and a clean stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from .output import console, note, progress

EVERY: Final = 100
"""Items after which a line is written where there is no terminal."""


@contextmanager
def working(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give the block a function ``(done, total)``; ``total`` is 0 while it is not known.

    It moves a bar on a terminal; elsewhere it writes a line to stderr every ``EVERY`` items, with rate and time left.
    """
    if console(stderr=True).is_terminal:
        with progress(what) as move:
            yield move
        return
    lines = _Lines(what)
    yield lines.move


class _Lines:
    def __init__(self, what: str) -> None:
        self._what, self._started, self._told = what, time.monotonic(), 0

    def move(self, done: int, total: int) -> None:
        if done // EVERY <= self._told // EVERY:
            return
        self._told = done
        rate = done / max(time.monotonic() - self._started, 1e-9)
        of = f" of about {total}" if total > done else ""
        left = f", {_clock((total - done) / rate)} left" if total > done else ""
        note(f"{self._what}: {done}{of}, {rate:.0f}/s{left}")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def stopping_between() -> Iterator[Callable[[], None]]:
    """Give the block a function to call where it may be stopped: it raises ``KeyboardInterrupt`` after a Ctrl-C.

    The first Ctrl-C waits for that moment, so that what is under way is finished; the second one does not.
    """
    asked = False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        note("stopping when what is under way is stored; Ctrl-C again stops at once")

    def check() -> None:
        if asked:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = signal.signal(signal.SIGINT, ask)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
