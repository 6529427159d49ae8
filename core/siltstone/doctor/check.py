"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["ok", "hint", "wrong"]


@dataclass(frozen=True)
class Check:
    """``name``: what was looked at; ``state``: whether it is ``wrong``, or a ``hint`` is due; ``what``: what was seen.

    ``fix`` is the command, or what else is to be done, where something is; empty where there is nothing to do.
    """

    name: str
    state: State
    what: str
    fix: str = ""


def ok(name: str, what: str) -> Check:
    """Return a check that found nothing."""
    return Check(name, "ok", what)


def hint(name: str, what: str, fix: str) -> Check:
    """Return a check of what works, and might surprise."""
    return Check(name, "hint", what, fix)


def wrong(name: str, what: str, fix: str) -> Check:
    """Return a check of what does not work."""
    return Check(name, "wrong", what, fix)
