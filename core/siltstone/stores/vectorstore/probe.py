"""What an engine can do, tried out at opening with a few vectors of nobody's, which are removed again.

Without filters by user, deletion by name, nearness in order, or a vector back by its name, nothing could be promised:
such an engine is refused, by the name of what it lacks. What else it may lack is done here, or said.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from ...errors import ConfigurationError
from ...protocols import Floats
from .engine import Held, VectorEngine
from .names import fresh, names_of

logger = logging.getLogger("siltstone")

T = TypeVar("T")

_PATIENCE: Final = 5.0
"""Seconds within which an engine has to show what it was sent."""
_LEAST_COSINE: Final = 0.999
_OUTAGES: Final = (ConnectionError, TimeoutError)
_TELLING: Final = ("connect", "unavailable", "timeout", "transport", "network", "unreachable")


@dataclass(frozen=True)
class Abilities:
    """What an engine was found to do beyond what is required: ``lists`` names; shows writes ``at_once``."""

    lists: bool
    at_once: bool


def try_out(engine: VectorEngine, dim: int) -> Abilities:
    """Return what an engine can do with vectors of ``dim`` numbers.

    Raises ``ConfigurationError``, which names it, for what it cannot and must, and as it is whatever tells that it
    cannot be reached.
    """
    mine, other = (f"siltstone-probe-{secrets.token_hex(8)}" for _ in range(2))
    near, far, foreign = (str(name) for name in names_of(fresh(3)))
    vectors = _probes(dim)
    question = vectors[0]
    try:
        _do(
            engine,
            f"keep vectors of {dim} numbers",
            lambda: engine.add(mine, [far, near], ["far", "near"], vectors[[1, 0]]),
        )
        _do(engine, "keep vectors of two users", lambda: engine.add(other, [foreign], ["foreign"], vectors[:1]))
        at_once, found = _until(
            lambda: _do(engine, "search among one user's vectors", lambda: engine.query(mine, question, 10)),
            lambda hits: len(hits) >= 2,
        )
        names = [held.name for held in found]
        if foreign in names:
            raise _lacks(engine, "keep one user's vectors apart from another's: its filter by user passes both")
        if names != [near, far]:
            raise _lacks(engine, "tell nearer vectors from farther ones: use cosine or inner product")
        if [held.id for held in found] != ["near", "far"] or not _same(found[0], vectors[0]):
            raise _lacks(engine, "give back with a hit what was kept with it")
        fetched = _do(engine, "give vectors back by id", lambda: engine.fetch([near]))
        if set(fetched) != {near}:
            raise _lacks(engine, "give vectors back by id")
        listed = _do(engine, "list ids by user", lambda: engine.listed(mine))
        _do(engine, "delete by ids", lambda: engine.delete([near]))
        _, left = _until(lambda: engine.query(mine, question, 10), lambda hits: len(hits) < 2)
        if [held.name for held in left] != [far]:
            raise _lacks(engine, "delete by ids: what was deleted is found, or something else is not")
    finally:
        _tidy(engine, [near, far, foreign])
    return Abilities(listed is not None and set(listed) == {near, far}, at_once)


def is_outage(exc: BaseException) -> bool:
    """Return whether an exception tells that an engine cannot be reached, rather than that it refuses."""
    names = " ".join(kind.__name__ for kind in type(exc).__mro__).lower()
    return isinstance(exc, _OUTAGES) or any(word in names for word in _TELLING)


def _probes(dim: int) -> Floats:
    """Return two vectors of unit length at an angle, ``(2, dim)``."""
    rows = np.zeros((2, dim), np.float32)
    rows[:, 0] = 1.0
    rows[1, -1] += 1.0
    rows[0, -1] += 0.125
    kept: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
    return kept


def _do(engine: VectorEngine, what: str, work: Callable[[], T]) -> T:
    try:
        return work()
    except Exception as exc:
        if is_outage(exc):
            raise
        raise _lacks(engine, f"{what} ({type(exc).__name__}: {exc})") from exc


def _until(look: Callable[[], list[Held]], enough: Callable[[list[Held]], bool]) -> tuple[bool, list[Held]]:
    """Look until there is enough, or patience ends; return whether it was so at once, and what was seen last."""
    end, first = time.monotonic() + _PATIENCE, True
    while not enough(found := look()) and time.monotonic() < end:
        first = False
        time.sleep(0.05)
    return first, found


def _same(held: Held, vector: Floats) -> bool:
    return held.vector.shape == vector.shape and float(held.vector @ vector) >= _LEAST_COSINE


def _lacks(engine: VectorEngine, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"the vector store {engine.name} cannot {what}. Nothing was opened, and nothing of yours was changed; three "
        "vectors of the trial may be left in it. Pass another one, or leave vector_store= out: the store keeps its "
        "vectors itself then"
    )


def _tidy(engine: VectorEngine, names: list[str]) -> None:
    try:
        engine.delete(names)
    except Exception:  # it has just been told what is wrong, or is being told
        logger.debug("probes may be left in the vector store %s", engine.name, exc_info=True)
