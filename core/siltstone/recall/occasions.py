"""When the events were that a question hangs its times on: they are looked for in the memory that is asked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..records import Hit, Record
from ..text.anchors import Anchor
from ..text.dates import periods
from ..text.periods import Period, day

TELLING: Final = 3
"""So many memories of an event are read for its day."""
_LOOKED_FOR: Final = 2
_LONGEST: Final = 31  # days: a longer period is not when an event was


def times_of(hanging: Sequence[Anchor], ask: Callable[[str], Sequence[Hit]]) -> Iterator[Period]:
    """Yield the times that hang on events; ``ask`` searches for one. An event that nobody told of gives none.

    A memory that names the day ("the wedding is on 8 June") tells it better than one that was only said on a day.
    """
    for anchor in hanging[:_LOOKED_FOR]:
        told = [hit.record for hit in ask(anchor.event)]
        if told:
            happened = next((named for record in told if (named := _named_day(record))), day(told[0].time))
            yield anchor.period(happened)


def _named_day(record: Record) -> Period | None:
    """Return when something happened by its own words: the nearest time that they may mean, past or to come."""
    if record.occurred_at is not None:
        return day(record.occurred_at)
    named = [period for period in periods(record.text, record.created_at) if period.days <= _LONGEST]
    return min(named, key=lambda period: abs(period.start - record.created_at), default=None)
