"""What a benchmark is made of: haystacks of units, and questions whose gold units are known.

Gold ids live beside the texts and are never given to a memory: some data sets leak the answer in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from ..errors import InvalidInputError


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One thing that a memory is given: a turn of a session, or a note where ``kind`` is set.

    ``id``          the unit's name in the gold lists; turns that are judged as one share it
    ``text``        what was said or noted
    ``time``        when, aware
    ``session_id``  the conversation of a turn; ``role`` and ``speaker`` say who spoke
    ``kind``        a note's kind, e.g. ``event``; ``None`` for turns
    """

    id: str
    text: str
    time: datetime
    session_id: str | None = None
    role: str = "user"
    speaker: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class Question:
    """A question, the ids of the units that answer it, the category under which it is counted, a reference answer."""

    text: str
    gold: frozenset[str]
    category: str = ""
    answer: str | None = None


@dataclass(frozen=True)
class Haystack:
    """One user's memory and the questions asked of it.

    ``distractors`` are stored beside the units, and answer nothing.
    """

    name: str
    units: tuple[Unit, ...]
    questions: tuple[Question, ...]
    distractors: tuple[Unit, ...] = ()

    @property
    def asked_at(self) -> datetime:
        """The time of the newest unit: questions are asked right after it."""
        return max(unit.time for unit in self.units)

    @property
    def stored(self) -> tuple[Unit, ...]:
        """All that the memory is given."""
        return self.units + self.distractors

    def sessions(self) -> Iterator[tuple[str, list[Unit]]]:
        """Yield the turns by session, in order of first appearance."""
        found: dict[str, list[Unit]] = {}
        for unit in self.stored:
            if unit.kind is None:
                found.setdefault(unit.session_id or self.name, []).append(unit)
        yield from found.items()

    def notes(self) -> Iterator[Unit]:
        """Yield the units that are not turns."""
        return (unit for unit in self.stored if unit.kind is not None)


@dataclass(frozen=True)
class Benchmark:
    """A named set of haystacks. ``how`` says in one sentence what a unit is and how it was stored.

    Raises ``InvalidInputError`` where there is nothing to ask.
    """

    name: str
    haystacks: tuple[Haystack, ...]
    how: str

    def __post_init__(self) -> None:
        if not any(haystack.questions for haystack in self.haystacks):
            raise InvalidInputError(f"there is no question with gold in this {self.name} data: nothing was measured")

    def part(self, split: str) -> Benchmark:
        """Return the haystacks at even (``a``) or odd (``b``) places, or all of them (``all``).

        Choose weights on one half and report the other.
        """
        step = {"all": slice(None), "a": slice(0, None, 2), "b": slice(1, None, 2)}[split]
        return Benchmark(self.name, self.haystacks[step], self.how)

    def distracted(self, number: int) -> Benchmark:
        """Return the benchmark with ``number`` units of the other haystacks beside those of each.

        They keep their order and sessions, and end when the haystack does. Raises ``InvalidInputError`` where the
        others have fewer.
        """
        if number < 1:
            return self
        haystacks = tuple(
            replace(haystack, distractors=tuple(self._others(haystack)[:number])) for haystack in self.haystacks
        )
        if (fewest := min(len(haystack.distractors) for haystack in haystacks)) < number:
            raise InvalidInputError(
                f"the other haystacks of this {self.name} data have {fewest} units to distract with, not {number}"
            )
        return replace(self, haystacks=haystacks, how=f"{self.how}; {number} units of other haystacks beside them")

    def _others(self, haystack: Haystack) -> list[Unit]:
        return [
            replace(
                unit,
                id=f"{other.name}/{unit.id}",
                session_id=f"{other.name}/{unit.session_id or other.name}" if unit.kind is None else None,
                time=unit.time + (haystack.asked_at - other.asked_at),
            )
            for other in self.haystacks
            if other is not haystack
            for unit in other.units
        ]
