"""One body for a function and its async twin.

What takes several calls to a memory is written once, as a generator that yields each ``Call`` and is sent its
result; ``run`` makes the calls, ``arun`` awaits the memory's own async twins of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

R = TypeVar("R")


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
