"""LoCoMo: long two-person conversations with the ids of the turns that answer each question.

Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024,
github.com/snap-research/locomo (CC BY-NC 4.0). The file is the user's; none of it is shipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from .cases import Benchmark, Haystack, Question, Unit
from .files import read_json

CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL: Final = CATEGORIES[5]

_TURN_ID = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_DATE = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"

HOW: Final = (
    "one haystack per conversation; a unit is one turn with its picture's caption, stored as a message with its "
    "speaker's name and its session's date (UTC); one add per session; asked at the last session's date"
)


def load(path: str | Path) -> Benchmark:
    """Read a LoCoMo JSON file.

    Questions keep the evidence ids that exist; those without any are dropped. Raises ``InvalidInputError`` for
    a file of another shape.
    """
    with read_json(path, "a LoCoMo file") as conversations:
        return Benchmark("locomo", tuple(_haystack(item) for item in conversations), HOW)


def gold_ids(evidence: Iterable[str]) -> list[str]:
    """Return the turn ids in an evidence list, e.g. ``["D8:6; D30:05"]`` → ``["D8:6", "D30:5"]``."""
    return [f"D{int(session)}:{int(turn)}" for item in evidence for session, turn in _TURN_ID.findall(item)]


def session_time(text: str) -> datetime:
    """Return a session's date, e.g. ``"1:56 pm on 8 May, 2023"``, as UTC."""
    return datetime.strptime(text.strip(), _DATE).replace(tzinfo=timezone.utc)


def _haystack(item: Mapping[str, Any]) -> Haystack:
    units = tuple(_turns(item["conversation"]))
    known = frozenset(unit.id for unit in units)
    questions = (
        Question(
            str(entry["question"]),
            known.intersection(gold_ids(entry["evidence"])),
            category := CATEGORIES[entry["category"]],
            None if category == ADVERSARIAL or entry.get("answer") is None else str(entry["answer"]),
        )
        for entry in item["qa"]
    )
    return Haystack(str(item["sample_id"]), units, tuple(question for question in questions if question.gold))


def _turns(conversation: Mapping[str, Any]) -> Iterator[Unit]:
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        session = f"session_{number}"
        time = session_time(conversation[f"{session}_date_time"])
        for turn in conversation[session]:
            speaker = str(turn["speaker"])
            yield Unit(
                id=gold_ids([turn["dia_id"]])[0],
                text=_spoken(turn),
                time=time,
                session_id=session,
                role="user" if speaker == conversation["speaker_a"] else "assistant",
                speaker=speaker,
            )


def _spoken(turn: Mapping[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shares {caption}]".strip() if caption else str(turn["text"])
