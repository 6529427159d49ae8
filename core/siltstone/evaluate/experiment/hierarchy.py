"""Hierarchical summaries: of conversations, of some of these, and so on, of which those near the question are injected.

All levels are searched at once, as in the "collapsed tree" of RAPTOR (Sarthi et al., ICLR 2024, arXiv:2401.18059); here
neighbours in time go together, as a memory that grows cannot cluster what is still to come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ...protocols import Floats
from ...records import Message
from .architecture import Architecture, Tools
from .lines import Entry, Line, lines_of, packed, spoken, written
from .shelf import Shelf, to_matrix, to_text

FAN: Final = 4
"""As many summaries of a level become one of the next, of the length of one of them."""
SMALLEST: Final = 20
"""Tokens that a summary may have however short the conversation is."""


@dataclass(frozen=True)
class Node:
    """A summary: its level, the first and last conversation that it covers, its lines, days above them, tokens."""

    level: int
    first: int
    last: int
    lines: tuple[Line, ...]
    tokens: int
    vector: str

    @property
    def text(self) -> str:
        """The lines as they are read."""
        return _text(self.lines)

    @property
    def days(self) -> str:
        """The heading: a day, or the first and the last."""
        first, last = self.lines[0].day, self.lines[-1].day
        return first if first == last else f"{first}–{last}"


class HierarchicalSummary(Architecture):
    """A conversation is compressed to one ``ratio``-th; every ``FAN`` summaries of a level make one of the next."""

    def __init__(self, folder: Path, tools: Tools, *, ratio: int) -> None:
        super().__init__(folder, tools)
        self._ratio = ratio
        self._shelf = Shelf(folder)
        self._nodes: dict[str, list[Node]] = {}
        self._rows: dict[str, Floats] = {}

    def add(self, user_id: str, messages: Sequence[Message], *, session_id: str) -> None:
        """Add a summary of the conversation, and those that are complete by it."""
        nodes = self._of(user_id)
        lines = lines_of(messages)
        tokens = self.tools.counter.count(written(lines))
        number = 1 + max((node.last for node in nodes), default=-1)
        made = [*self._node(0, number, number, lines, tokens // self._ratio)]
        fresh = [*made]
        while made and (group := self._complete([*nodes, *fresh])):
            size = sum(node.tokens for node in group) // FAN
            under = [line for node in group for line in node.lines]
            made = [*self._node(group[0].level + 1, group[0].first, group[-1].last, under, size)]
            fresh += made
        self._shelf.append(user_id, map(_plain, fresh))
        nodes += fresh
        self._rows.pop(user_id, None)

    def context(self, user_id: str, question: str, *, max_tokens: int, now: datetime) -> str:
        """Return the nearest summaries that fit, none beside one that it is part of."""
        nodes = self._of(user_id)
        if not nodes:
            return ""
        if user_id not in self._rows:
            self._rows[user_id] = to_matrix(node.vector for node in nodes)
        nearness = self._rows[user_id] @ self.tools.embedder.embed_query(question)
        chosen: list[Node] = []
        for place in (-nearness).argsort(kind="stable").tolist():
            node = nodes[place]
            if all(node.last < other.first or other.last < node.first for other in chosen):
                chosen.append(node)
        entries = [Entry(node.first, node.days, node.text, node.tokens) for node in chosen]
        return packed(entries, max_tokens, self.tools.counter)

    def close(self) -> None:
        """Do nothing: all is on disk."""

    def _of(self, user_id: str) -> list[Node]:
        if user_id not in self._nodes:
            self._nodes[user_id] = [_read(value) for value in self._shelf.values(user_id)]
        return self._nodes[user_id]

    def _node(self, level: int, first: int, last: int, lines: Sequence[Line], size: int) -> Iterator[Node]:
        """Yield the summary of lines, unless nothing in them is worth keeping."""
        kept = tuple(self.tools.compressor.compress(lines, max(size, SMALLEST), text=_text))
        if kept:
            text = _text(kept)
            vector = to_text(self.tools.embedder.embed_documents([text])[0])
            yield Node(level, first, last, kept, self.tools.counter.count(text), vector)

    def _complete(self, nodes: Sequence[Node]) -> list[Node]:
        """Return ``FAN`` neighbours of a level that have no summary yet; none where there are fewer."""
        for level in range(1 + max(node.level for node in nodes)):
            done = max((node.last for node in nodes if node.level == level + 1), default=-1)
            open_ = [node for node in nodes if node.level == level and node.first > done]
            if len(open_) >= FAN:
                return open_[:FAN]
        return []


def _text(lines: Sequence[Line]) -> str:
    """Return lines without the days: those stand above the summary as a whole."""
    return "\n".join(map(spoken, lines))


def _plain(node: Node) -> list[Any]:
    return [node.level, node.first, node.last, [astuple(line) for line in node.lines], node.tokens, node.vector]


def _read(value: list[Any]) -> Node:
    level, first, last, lines, tokens, vector = value
    return Node(level, first, last, tuple(Line(*line) for line in lines), tokens, vector)
