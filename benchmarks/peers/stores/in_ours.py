from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from work import Turn

from siltstone import Message, TieredMemory

from .contract import Found, Store


class Siltstone(Store):
    """``add`` returns when it is on disk. Each user is a view of one open store."""

    documentation = "README.md"

    def __init__(self, folder: Path, embedder: Any) -> None:
        self._memory = TieredMemory.open(folder / "store", embedder=embedder)
        self._views: dict[str, TieredMemory] = {}

    def _of(self, user: str) -> TieredMemory:
        if user not in self._views:
            self._views[user] = self._memory.for_user(user)
        return self._views[user]

    def add(self, turn: Turn) -> None:
        self._of(turn.user).add([_message(turn)], session_id=turn.session)

    def fill(self, turns: Sequence[Turn]) -> None:
        for (user, session), some in groupby(turns, lambda turn: (turn.user, turn.session)):
            self._of(user).add([_message(turn) for turn in some], session_id=session)

    def search(self, user: str, question: str, k: int) -> Found:
        hits = self._of(user).search(question, top_k=k)
        return [(list(hit.record.source_ids), f"{hit.record.speaker}: {hit.record.text}") for hit in hits]

    def update(self, turn: Turn) -> None:
        self._of(turn.user).update(turn.row, text=turn.text)

    def delete(self, turns: Sequence[Turn]) -> None:
        self._of(turns[0].user).forget(ids=[turn.row for turn in turns])

    def rows(self) -> list[str]:
        return [message.id or "" for message in self._all()]

    def texts(self) -> dict[str, str]:
        return {message.id or "": f"{message.name}: {message.content}" for message in self._all()}

    def _all(self) -> Iterator[Message]:
        from siltstone.upkeep import users

        for user in users(self._memory.location):
            for session in self._of(user).sessions():
                yield from self._of(user).messages(session.session_id)

    def close(self) -> None:
        self._memory.close()


def _message(turn: Turn) -> Message:
    return Message(turn.role, turn.text, name=turn.speaker, created_at=turn.time, id=turn.row)
