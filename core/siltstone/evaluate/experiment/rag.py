"""Vector RAG: conversations in chunks, of which those nearest to the question are injected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from ...protocols import Floats, TokenCounter
from ...records import Message
from ...text.sentences import sentences
from .architecture import Architecture, Tools
from .lines import Entry, lines_of, packed, spoken
from .shelf import Shelf, to_matrix, to_text


class VectorRAG(Architecture):
    """Turns of one conversation are put together up to ``size`` tokens; 0 is a turn each.

    A longer turn is cut at ends of sentences. The days stand above chunks, and are not embedded: that costs recall.
    """

    def __init__(self, folder: Path, tools: Tools, *, size: int) -> None:
        super().__init__(folder, tools)
        self._size = size
        self._shelf = Shelf(folder)
        self._rows: dict[str, Floats] = {}

    def add(self, user_id: str, messages: Sequence[Message], *, session_id: str) -> None:
        """Cut, embed and append."""
        chunks = list(self._chunks(messages))
        if not chunks:
            return
        rows = self.tools.embedder.embed_documents([text for _, text in chunks])
        count = self.tools.counter.count
        kept = [[day, text, count(text), to_text(row)] for (day, text), row in zip(chunks, rows, strict=True)]
        self._shelf.append(user_id, kept)
        self._rows.pop(user_id, None)

    def context(self, user_id: str, question: str, *, max_tokens: int, now: datetime) -> str:
        """Return the nearest chunks that fit, in order of time."""
        kept = self._shelf.values(user_id)
        if not kept:
            return ""
        if user_id not in self._rows:
            self._rows[user_id] = to_matrix(vector for *_, vector in kept)
        nearness = self._rows[user_id] @ self.tools.embedder.embed_query(question)
        nearest = (-nearness).argsort(kind="stable").tolist()
        return packed([Entry(place, *kept[place][:3]) for place in nearest], max_tokens, self.tools.counter)

    def close(self) -> None:
        """Do nothing: all is on disk."""

    def _chunks(self, messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
        """Yield days and texts."""
        counter = self.tools.counter
        held: list[str] = []
        size, day = 0, ""
        for line in lines_of(messages):
            for text in [spoken(line)] if self._size == 0 else _cut(spoken(line), self._size, counter):
                tokens = counter.count(text) + 1
                if held and (line.day != day or size + tokens > self._size):
                    yield day, "\n".join(held)
                    held, size = [], 0
                day = line.day
                held.append(text)
                size += tokens
        if held:
            yield day, "\n".join(held)


def _cut(text: str, size: int, counter: TokenCounter) -> Iterator[str]:
    """Yield pieces of at most ``size`` tokens, or one sentence."""
    if counter.count(text) <= size:
        yield text
        return
    held: list[str] = []
    for sentence in sentences(text):
        if held and counter.count(" ".join([*held, sentence])) > size:
            yield " ".join(held)
            held = []
        held.append(sentence)
    if held:
        yield " ".join(held)
