"""The work: LoCoMo's turns and questions, spread over users, each of whom has names and a stretch of talk of their own.

A user's turns are a stretch of one conversation in its order, with other names in place of the speakers', so that
texts and vectors differ between users who have the same stretch. A question is asked of a user whose stretch holds all
of its evidence.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

PAIRS = [
    "Ada",
    "Bo",
    "Cy",
    "Dee",
    "Eva",
    "Finn",
    "Gus",
    "Hana",
    "Ivo",
    "June",
    "Kai",
    "Lou",
    "Mia",
    "Ned",
    "Ola",
    "Pia",
]
"""Names that take the speakers' place."""


@dataclass(frozen=True)
class Turn:
    """One message. ``row`` is the name by which it is found again; ``time`` is ISO 8601.

    ``line`` is what a store is given that has no place for a speaker's name.
    """

    row: str
    user: str
    session: str
    role: str
    speaker: str
    text: str
    time: str

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True)
class Question:
    user: str
    text: str
    gold: tuple[str, ...]


@dataclass(frozen=True)
class Work:
    """``turns`` in the order of adding, ``later`` ones for a full store, ``questions``, what is changed and deleted.

    ``changed`` are turns with another text; ``deleted`` are rows, none of them changed.
    """

    users: int
    turns: list[Turn]
    later: list[Turn]
    questions: list[Question]
    changed: list[Turn]
    deleted: list[str]

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> Work:
        found = json.loads(path.read_text())
        for name in ("turns", "later", "changed"):
            found[name] = [Turn(**turn) for turn in found[name]]
        found["questions"] = [Question(one["user"], one["text"], tuple(one["gold"])) for one in found["questions"]]
        return cls(**found)


def make(data: Path, turns: int, *, searches: int, later: int, seed: int = 1) -> Work:
    """Return work of ``turns`` turns: 100 users from 10,000 turns on, below it fewer with a hundred turns each."""
    from siltstone.evaluate.locomo import load

    talks = load(data).haystacks
    chance = random.Random(seed)
    users = max(3, min(100, turns // 100))
    each = turns // users
    added: list[Turn] = []
    asked: list[list[Question]] = []
    rest: list[Turn] = []
    for number in range(users):
        talk = talks[number % len(talks)]
        first = number // len(talks) * each % max(1, len(talk.units) - each)
        user, rename = f"user-{number:03}", _renaming([unit.speaker or "" for unit in talk.units], number)
        some = [
            Turn(
                row=f"{user}:{n:05}",
                user=user,
                session=unit.session_id or "session",
                role=unit.role,
                speaker=rename(unit.speaker or ""),
                text=rename(unit.text),
                time=unit.time.isoformat(),
            )
            for n, unit in enumerate(talk.units[first : first + each])
        ]
        added += some
        rest += [
            replace(turn, session="later", row=f"{turn.row}:later", text=f"Again: {turn.text}") for turn in some[:20]
        ]
        where = {unit.id: turn.row for unit, turn in zip(talk.units[first : first + each], some, strict=True)}
        asked.append(
            [
                Question(user, rename(question.text), tuple(sorted(where[id] for id in question.gold)))
                for question in talk.questions
                if question.answer is not None and question.gold <= where.keys()
            ]
        )
    chance.shuffle(rest)
    rows = chance.sample(added, min(len(added) // 10 + 100, len(added) // 2))
    cut = len(rows) * 10 // 11 if turns < 1_000 else len(rows) - 100
    deleted = sorted(turn.row for turn in rows[:cut])
    changed = [replace(turn, text=f"{turn.text} (I was wrong about that.)") for turn in rows[cut:]]
    return Work(users, added, rest[:later], list(_in_turn(asked, searches, chance)), changed, deleted)


def _renaming(speakers: list[str], number: int):  # type: ignore[no-untyped-def]
    names = dict.fromkeys(speakers)
    new = {old: PAIRS[(2 * number + n + number // 8) % len(PAIRS)] for n, old in enumerate(names)}
    pattern = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names))
    return lambda text: pattern.sub(lambda match: new[match[0]], text)


def _in_turn(asked: list[list[Question]], count: int, chance: random.Random) -> Iterator[Question]:
    """Yield ``count`` questions, the users in turn; one who has no more begins anew."""
    askers = [questions for questions in asked if questions]
    for questions in askers:
        chance.shuffle(questions)
    for n in range(count):
        questions = askers[n % len(askers)]
        yield questions[n // len(askers) % len(questions)]
