"""Tiered memory: this library, as an application uses it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Final

from ...memory import TieredMemory
from ...meter import Spent
from ...records import Message
from ...settings import Settings
from .architecture import Architecture, Tools

_WAITING: Final = Settings(embed_wait=3600.0)  # an add waits for its vectors, so that its time has no loose end
_NIGHT: Final = timedelta(days=1)


class Tiered(Architecture):
    """``add`` and ``context``; with ``consolidated``, also ``consolidate``, a day after each conversation."""

    def __init__(self, folder: Path, tools: Tools, *, consolidated: bool) -> None:
        super().__init__(folder, tools)
        self._consolidated = consolidated
        self._clock = _Clock()
        self._store = TieredMemory.open(
            folder, embedder=tools.embedder, token_counter=tools.counter, clock=self._clock, settings=_WAITING
        )

    def add(self, user_id: str, messages: Sequence[Message], *, session_id: str) -> None:
        """Store the turns; consolidate, if that is wanted."""
        memory = self._store.for_user(user_id)
        self._clock.time = max(message.created_at for message in messages if message.created_at is not None)
        memory.add(messages, session_id=session_id)
        self._consolidate(memory)

    def note(self, user_id: str, text: str, *, kind: str, time: datetime, number: int) -> None:
        """Store a note of its kind."""
        self._clock.time = time
        self._store.for_user(user_id).remember(text, kind=kind, occurred_at=time)

    def context(self, user_id: str, question: str, *, max_tokens: int, now: datetime) -> str:
        """Return what ``context`` does."""
        return self._store.for_user(user_id).context(question, max_tokens=max_tokens, now=now).text

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _consolidate(self, memory: TieredMemory) -> None:
        if not self._consolidated:
            return
        before = memory.meter.spent().get("summarize", Spent())
        self._clock.time += _NIGHT
        memory.consolidate()
        memory.flush()
        after = memory.meter.spent().get("summarize", Spent())
        self.tools.effort.model_calls += after.calls - before.calls
        self.tools.effort.model_tokens += after.tokens - before.tokens


class _Clock:
    """Shows the time of what is being told."""

    time = datetime(2000, 1, 1, tzinfo=timezone.utc)

    def now(self) -> datetime:
        return self.time
