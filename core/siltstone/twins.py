"""One body for a function and its async twin.

What takes several calls to a memory is written once, as a generator that yields each ``Call`` and is sent its
result; ``run`` makes the calls, ``arun`` awaits the memory's own async twins of them. ``twin`` makes a twin of a verb.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar


class Threaded(Protocol):
    """What has threads of its own, for its async twins."""

    @property
    def _executor(self) -> Executor: ...


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Threaded)


@dataclass(frozen=True)
class Call:
    """A verb or property of a memory, by name, and its arguments."""

    verb: str
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


Steps: TypeAlias = Generator[Call, Any, R]
"""A body: it yields calls and returns ``R``. What a call raises is raised at its ``yield``."""


def call(verb: str, *args: Any, **options: Any) -> Call:
    """Return ``memory.verb(*args, **options)`` as a value."""
    return Call(verb, args, options)


def run(memory: Any, steps: Steps[R]) -> R:
    """Carry out the steps on ``memory``; return what they return."""
    try:
        request = next(steps)
        while True:
            try:
                answer = getattr(memory, request.verb)
                answer = answer(*request.args, **request.options) if callable(answer) else answer
            except BaseException as exc:
                request = steps.throw(exc)
            else:
                request = steps.send(answer)
    except StopIteration as stop:
        result: R = stop.value
        return result


async def arun(memory: Any, steps: Steps[R]) -> R:
    """Carry out the steps on the async twins of ``memory``'s verbs; return what they return."""
    try:
        request = next(steps)
        while True:
            try:
                answer = getattr(memory, "a" + request.verb, None) or getattr(memory, request.verb)
                answer = answer(*request.args, **request.options) if callable(answer) else answer
                answer = await answer if inspect.isawaitable(answer) else answer
            except BaseException as exc:  # a cancelled task too: the body puts in order what it holds
                request = steps.throw(exc)
            else:
                request = steps.send(answer)
    except StopIteration as stop:
        result: R = stop.value
        return result


def twin(verb: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], Coroutine[Any, Any, R]]:
    """Return the async twin of a verb: the same call on the memory's own threads."""

    @functools.wraps(verb)
    async def made(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        own = getattr(self, verb.__name__)  # a subclass's own, where it has one
        call = functools.partial(copy_context().run, own, *args, **kwargs)  # traced as its caller
        result: R = await asyncio.get_running_loop().run_in_executor(self._executor, call)
        return result

    owner, _, name = verb.__qualname__.rpartition(".")
    made.__name__, made.__qualname__ = f"a{name}", f"{owner}.a{name}"
    made.__doc__ = f"Do what ``{name}`` does, without blocking the event loop."
    return made
