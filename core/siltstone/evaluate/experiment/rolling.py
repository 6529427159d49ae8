"""Rolling summary: one text per user, made anew of itself and of what was said since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from datetime import datetime
from pathlib import Path

from ...records import Message
from .architecture import Architecture, Tools
from .lines import Line, lines_of, written
from .shelf import Shelf


class RollingSummary(Architecture):
    """Keeps ``size`` tokens. As long as what was said fits it stays word for word; then it is compressed."""

    def __init__(self, folder: Path, tools: Tools, *, size: int) -> None:
        super().__init__(folder, tools)
        self._size = size
        self._shelf = Shelf(folder)
        self._cut: dict[tuple[str, int], str] = {}  # what is injected does not depend on the question

    def add(self, user_id: str, messages: Sequence[Message], *, session_id: str) -> None:
        """Make the summary anew."""
        lines = [*self._lines(user_id), *lines_of(messages)]
        if self.tools.counter.count(written(lines)) > self._size:
            lines = self.tools.compressor.compress(lines, self._size, text=written)
        self._shelf.replace(user_id, map(astuple, lines))
        self._cut.clear()

    def context(self, user_id: str, question: str, *, max_tokens: int, now: datetime) -> str:
        """Return the summary, without its oldest lines where it is longer than the budget."""
        if (user_id, max_tokens) not in self._cut:
            self._cut[user_id, max_tokens] = self._newest(self._lines(user_id), max_tokens)
        return self._cut[user_id, max_tokens]

    def close(self) -> None:
        """Do nothing: all is on disk."""

    def _newest(self, lines: list[Line], max_tokens: int) -> str:
        count = self.tools.counter.count
        if count(written(lines)) <= max_tokens:
            return written(lines)
        low, high = 0, len(lines)  # of the newest lines, as many as fit
        while low < high:
            middle = (low + high + 1) // 2
            fits = count(written(lines[-middle:])) <= max_tokens
            low, high = (middle, high) if fits else (low, middle - 1)
        return written(lines[-low:]) if low else ""

    def _lines(self, user_id: str) -> list[Line]:
        return [Line(*values) for values in self._shelf.values(user_id)]
