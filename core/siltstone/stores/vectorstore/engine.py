"""What is asked of an engine that keeps vectors, and how it is asked: within a deadline, its failures translated."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from ...errors import BackendUnavailableError, SiltstoneError
from ...protocols import Floats

T = TypeVar("T")

DEADLINE: Final = 10.0
"""Seconds that the engine has for one request."""
MUTED: Final = 5.0
"""Seconds for which writes and questions do not wait for an engine that has just failed."""


class VectorStoreUnavailableError(BackendUnavailableError):
    """The engine that keeps the vectors cannot be reached, or failed."""


@dataclass(frozen=True)
class Held:
    """A vector as the engine has it: its name, the id of its record, the vector, when it was sent (Unix seconds)."""

    name: str
    id: str
    vector: Floats
    sent: int


class VectorEngine(Protocol):
    """Keeps vectors by name for many users. Whatever it raises is taken for an engine that does not answer."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def serial(self) -> bool:
        """Whether it serves one caller at a time only."""

    def add(self, user: str, names: Sequence[str], ids: Sequence[str], vectors: Floats) -> None:
        """Keep vectors, ``(n, dim)``."""

    def query(self, user: str, vector: Floats, count: int) -> list[Held]:
        """Return the ``count`` vectors of a user nearest to a vector of unit length, the nearest first."""

    def fetch(self, names: Sequence[str]) -> dict[str, Floats]:
        """Return vectors by name, as far as they are there."""

    def listed(self, user: str) -> Mapping[str, int] | None:
        """Return names of a user's vectors and when each was sent; ``None`` where the engine cannot list them."""

    def delete(self, names: Sequence[str]) -> None:
        """Remove vectors; those that are not there are passed over."""


class Line:
    """The line to an engine. Each request has a thread of its own: one that hangs holds up nobody for longer."""

    def __init__(self, engine: VectorEngine, *, deadline: float = DEADLINE) -> None:
        self.engine = engine
        self._deadline = deadline
        self._turn: Any = threading.Lock() if engine.serial else nullcontext()
        self._muted_until = 0.0
        self.last_error: VectorStoreUnavailableError | None = None

    def ask(
        self, what: str, work: Callable[[VectorEngine], T], *, patient: bool = True, deadline: float | None = None
    ) -> T:
        """Return what the engine answers. With ``patient=False`` one that has just failed is not asked at all.

        Raises ``VectorStoreUnavailableError`` when it fails, or does not answer in time.
        """
        if not patient and self.last_error is not None and time.monotonic() < self._muted_until:
            raise self.last_error
        answer: list[T] = []
        failure: list[BaseException] = []

        def run() -> None:
            try:
                with self._turn:
                    answer.append(work(self.engine))
            except BaseException as exc:  # raised where it is waited for
                failure.append(exc)

        thread = threading.Thread(target=run, name="siltstone-vector-store", daemon=True)
        thread.start()
        allowed = deadline or self._deadline
        thread.join(allowed)
        if answer:
            self.last_error = None
            return answer[0]
        cause = failure[0] if failure else TimeoutError(f"no answer within {allowed:g} s")
        if isinstance(cause, SiltstoneError) and not isinstance(cause, BackendUnavailableError):
            raise cause
        self._muted_until = time.monotonic() + MUTED
        self.last_error = VectorStoreUnavailableError(
            f"the vector store {self.engine.name} failed to {what} ({type(cause).__name__}: {cause}); texts are safe "
            "and found by their words, and what is due there is done once it answers"
        )
        raise self.last_error from cause
