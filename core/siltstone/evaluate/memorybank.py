"""MemoryBank, Chinese part: days of talk with an assistant, and questions about single exchanges.

Zhong et al., "MemoryBank: Enhancing Large Language Models with Long-Term Memory", AAAI 2024,
github.com/zhongwanjun/MemoryBank-SiliconFriend (MIT). Gold comes from a file ``gold_cn.jsonl`` beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from .cases import Benchmark, Haystack, Question, Unit
from .files import read_json, read_lines

TYPES: Final = {"u": "user said", "a": "assistant said", "d": "of a day"}
FALSE_PREMISE: Final = "f"

HOW: Final = (
    "one haystack per user; a unit is one exchange, stored as applications do: a user and an assistant message "
    "in the session of its day; an exchange ranks where the first of its two messages does"
)


def load(folder: str | Path) -> Benchmark:
    """Read ``memory_bank_cn.json`` and ``gold_cn.jsonl`` in a folder.

    Questions with a false premise and those without gold are left out. Raises ``InvalidInputError`` for files of
    another shape.
    """
    folder = Path(folder)
    with read_lines(folder / "gold_cn.jsonl", "MemoryBank's gold") as lines:
        gold = [json.loads(line) for line in lines if line.strip()]
    with read_json(folder / "memory_bank_cn.json", "MemoryBank's conversations") as users:
        return Benchmark("memorybank", tuple(_haystack(name, users[name]["history"], gold) for name in users), HOW)


def _haystack(name: str, days: Mapping[str, Any], gold: list[dict[str, Any]]) -> Haystack:
    questions = (
        Question(entry["question"], frozenset(entry["gold"]), TYPES[entry["type"]])
        for entry in gold
        if entry["user"] == name and entry["type"] != FALSE_PREMISE and entry["gold"]
    )
    return Haystack(name, tuple(_exchanges(days)), tuple(questions))


def _exchanges(days: Mapping[str, Any]) -> Iterator[Unit]:
    for number, (day, exchanges) in enumerate(days.items(), 1):
        time = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=timezone.utc)
        for place, exchange in enumerate(exchanges, 1):
            for role, text in (("user", exchange["query"]), ("assistant", exchange["response"])):
                yield Unit(id=f"{number}.{place}", text=text, time=time, session_id=day, role=role)
