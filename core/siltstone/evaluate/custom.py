"""A user's own benchmark: one JSON Lines file of messages, notes and questions with gold ids.

Each line is one of::

    {"id": "m1", "role": "user", "content": "I moved to Lisbon.", "session_id": "monday",
     "created_at": "2024-05-06T09:00:00Z", "name": "Alice"}
    {"id": "n1", "text": "Alice plays the cello.", "kind": "fact", "created_at": "2024-05-06T09:00:00Z"}
    {"question": "Where does Alice live?", "gold": ["m1"], "category": "places", "answer": "Lisbon"}

``name``, ``kind`` (``fact``), ``category``, ``answer`` and ``session_id`` may be left out. A line may carry
``"user"``: every user is a haystack of their own, and gold ids are those of the question's user. Messages that share
an id are judged as one unit. Times are ISO 8601 with a zone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..errors import InvalidInputError
from ..records import to_datetime
from ..settings import Settings
from ..tiers.incoming import check_kind, check_text, read_messages
from .cases import Benchmark, Haystack, Question, Unit
from .files import read_lines

_LONGEST: Final = Settings.max_message_chars
HOW: Final = "one haystack per user; a unit is a message or a note; one add per session"


def load(path: str | Path) -> Benchmark:
    """Read a benchmark in the format above.

    Raises ``InvalidInputError`` that names the line for anything else, for what a memory would not take, and for gold
    ids that no line has.
    """
    units: dict[str, list[Unit]] = {}
    questions: dict[str, list[Question]] = {}
    with read_lines(path, "a benchmark file") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                if not isinstance(entry, dict):
                    raise ValueError("is no JSON object")
                user = str(entry.get("user", "default"))
                if "question" in entry:
                    questions.setdefault(user, []).append(_question(entry))
                else:
                    units.setdefault(user, []).append(_unit(entry))
            except (ValueError, KeyError, TypeError) as exc:
                raise InvalidInputError(f"{path}, line {number}: {_reason(exc)}") from exc
    if not questions:
        raise InvalidInputError(f'{path} asks nothing: a line like {{"question": "...", "gold": ["id"]}} is needed')
    return Benchmark(
        "custom", tuple(_haystack(user, units.get(user, []), asked) for user, asked in questions.items()), HOW
    )


def _question(entry: Mapping[str, Any]) -> Question:
    gold = entry["gold"]
    if not isinstance(gold, list) or not gold:
        raise ValueError("'gold' must be a list of one or more ids")
    answer = entry.get("answer")
    return Question(
        check_text(entry["question"], "'question'", _LONGEST),
        frozenset(map(str, gold)),
        str(entry.get("category", "")),
        None if answer is None else str(answer),
    )


def _unit(entry: Mapping[str, Any]) -> Unit:
    id, time = str(entry["id"]), to_datetime(entry["created_at"], "created_at")
    if "content" not in entry:
        kind = check_kind(entry.get("kind", "fact"))
        return Unit(id=id, text=check_text(entry["text"], "'text'", _LONGEST), time=time, kind=kind)
    told = {"role": entry["role"], "content": entry["content"], "name": entry.get("name")}
    session_id = entry.get("session_id")
    place = "session" if session_id is None else session_id  # any that will do: only what the line says is checked
    read_messages([told], session_id=place, created_at=time, max_chars=_LONGEST)
    return Unit(id=id, text=told["content"], time=time, session_id=session_id, role=told["role"], speaker=told["name"])


def _haystack(user: str, units: list[Unit], questions: list[Question]) -> Haystack:
    known = {unit.id for unit in units}
    for question in questions:
        if missing := sorted(question.gold - known):
            raise InvalidInputError(
                f"no line of user {user!r} has the id {missing[0]!r} that {question.text!r} asks for"
            )
    return Haystack(user, tuple(units), tuple(questions))


def _reason(exc: Exception) -> str:
    if isinstance(exc, json.JSONDecodeError):
        return f"is no JSON from character {exc.colno} on: {exc.msg}"
    return f"{exc.args[0]!r} is missing" if isinstance(exc, KeyError) else str(exc)
