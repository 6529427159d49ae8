"""What the stages of a memory's work cost this process: calls, failures, items, tokens and seconds.

Each opened store has one ``Meter``, and so have all users' views of it: ``memory.meter``. Metrics read ``spent()``;
traces watch each call as it begins and ends. No names of users, no texts.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Concatenate, Final, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, get_args

from .forks import ForkSafeLock

Stage: TypeAlias = Literal["add", "search", "context", "embed", "summarize", "ask", "consolidate"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
"""What is measured, and what its items and tokens are. Stages nest, so that their times do not add up.

===============  ============================  =======  ==============================================
stage            a call                        items    tokens
===============  ============================  =======  ==============================================
``add``          ``add`` or ``remember``       stored   none: see ``embed``
``search``       ``search``, also a context's  hits     none
``context``      ``context``                   hits     of the context, by the memory's token counter
``embed``        a batch, or a question        texts    of the texts
``summarize``    a span or some summaries      read     of what is read
``ask``          a request to a language       1        of request and answer
                 model, a summarizer's too
``consolidate``  all that is due of a user     rows     none
===============  ============================  =======  ==============================================

The first call of ``embed`` loads the model. Where no counter is named, tokens are estimated, on the high side: counting
exactly would load a tokenizer.
"""


@dataclass
class Call:
    """One call of a stage. Who makes it notes ``items`` and ``tokens``; ``seconds`` and ``error`` are there at its end.

    ``error`` is the class of what was raised: its words may be of a user's texts.
    """

    stage: Stage
    items: int = 0
    tokens: int = 0
    seconds: float = 0.0
    error: type[BaseException] | None = None


@dataclass(frozen=True)
class Spent:
    """What all calls of a stage have cost: ``failures`` are the calls that raised; ``seconds`` are of the clock."""

    calls: int = 0
    failures: int = 0
    items: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def and_(self, call: Call) -> Spent:
        """Return the sum with one more call."""
        return Spent(
            self.calls + 1,
            self.failures + (call.error is not None),
            self.items + call.items,
            self.tokens + call.tokens,
            self.seconds + call.seconds,
        )


Watcher: TypeAlias = Callable[[Call], AbstractContextManager[object]]
"""Gives a block for each call: entered before it begins, left when ``seconds`` and ``error`` are known, in its thread.

It must not raise: what it raises, the call raises.
"""


class Meter:
    """Counts calls, by stage. Thread-safe; a forked child goes on from the figures of its parent."""

    def __init__(self) -> None:
        self._spent: dict[Stage, Spent] = {}
        self._watchers: tuple[Watcher, ...] = ()
        self._lock = ForkSafeLock()

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Have each call from now on watched; return what ends that."""
        with self._lock:
            self._watchers = (*self._watchers, watcher)
        return lambda: self._unwatch(watcher)

    def spent(self) -> Mapping[str, Spent]:
        """Return what each stage has cost since the store was opened; stages without a call are left out."""
        with self._lock:
            return {stage: self._spent[stage] for stage in STAGES if stage in self._spent}

    @contextmanager
    def call(self, stage: Stage) -> Iterator[Call]:
        """Measure the block as one call of a stage."""
        call = Call(stage)
        with ExitStack() as watched:
            for watcher in self._watchers:
                watched.enter_context(watcher(call))
            begun = time.perf_counter()
            try:
                yield call
            except BaseException as exc:
                call.error = type(exc)
                raise
            finally:
                call.seconds = time.perf_counter() - begun
                with self._lock:
                    self._spent[stage] = self._spent.get(stage, Spent()).and_(call)

    def _unwatch(self, watcher: Watcher) -> None:
        with self._lock:
            self._watchers = tuple(one for one in self._watchers if one is not watcher)


class Metered(Protocol):
    """What has a meter."""

    @property
    def meter(self) -> Meter:
        """What its work has cost."""


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Metered)


def measured(
    stage: Stage, items: Callable[[Any], int], tokens: Callable[[Any], int] = lambda _: 0
) -> Callable[[Callable[Concatenate[T, P], R]], Callable[Concatenate[T, P], R]]:
    """Have the meter count a verb's calls: how many items came of each, of how many tokens."""

    def decorated(verb: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
        @functools.wraps(verb)
        def call(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
            with self.meter.call(stage) as one:
                made = verb(self, *args, **kwargs)
                one.items, one.tokens = items(made), tokens(made)
                return made

        return call

    return decorated
