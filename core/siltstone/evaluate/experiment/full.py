"""Full concatenation: all that was said, cut at the window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ...records import Message
from .architecture import Architecture, Tools
from .lines import Entry, lines_of, packed, spoken
from .shelf import Shelf


class FullConcatenation(Architecture):
    """Injects the newest turns that fit, in order, whatever is asked."""

    def __init__(self, folder: Path, tools: Tools) -> None:
        super().__init__(folder, tools)
        self._shelf = Shelf(folder)

    def add(self, user_id: str, messages: Sequence[Message], *, session_id: str) -> None:
        """Append the turns."""
        count = self.tools.counter.count
        self._shelf.append(user_id, ([line.day, said := spoken(line), count(said)] for line in lines_of(messages)))

    def context(self, user_id: str, question: str, *, max_tokens: int, now: datetime) -> str:
        """Return the newest turns."""
        turns = self._shelf.values(user_id)
        entries = [Entry(place, *turn) for place, turn in enumerate(turns)]
        return packed(entries[::-1], max_tokens, self.tools.counter, gaps=False)

    def close(self) -> None:
        """Do nothing: all is on disk."""
