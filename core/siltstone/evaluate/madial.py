"""MADial-Bench, Chinese part: dated notes about one person, and dialogues in which some are worth recalling.

He et al., "MADial-Bench: Towards Real-world Evaluation of Memory-Augmented Dialogue Generation", 2024,
github.com/hejunqing/MADial-Bench (MIT). The relation is associative, so word matching alone is weak.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from .cases import Benchmark, Haystack, Question, Unit
from .files import read_json

HOW: Final = (
    "one haystack; a unit is one note, stored with remember(kind='event', occurred_at=its date); "
    "the query is all turns of the dialogue, a line each"
)


def load(path: str | Path) -> Benchmark:
    """Read a MADial JSON file: ``{"memories": [...], "queries": [...]}``.

    Raises ``InvalidInputError`` for a file of another shape.
    """
    with read_json(path, "a MADial file") as data:
        units = tuple(
            Unit(
                id=str(note["id"]),
                text=note["event"],
                time=datetime.strptime(note["time"], "%Y-%m-%d").replace(tzinfo=timezone.utc),
                kind="event",
            )
            for note in data["memories"]
        )
        known = frozenset(unit.id for unit in units)
        questions = (
            Question("\n".join(entry["context"]), known.intersection(map(str, entry["gold"])))
            for entry in data["queries"]
        )
        return Benchmark("madial", (Haystack("madial", units, tuple(q for q in questions if q.gold)),), HOW)
