"""Filling a budget of tokens with whole entries, section by section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..errors import InvalidInputError
from ..protocols import TokenCounter
from ..settings import Headings
from ..text.exchanges import cost_of_calls
from ..text.guard import fence
from ..text.sentences import CHARACTERS_PER_TOKEN
from .entries import Entry

SECTIONS: Final = ("profile", "summary", "recalled", "recent")
_LEAST: Final = 4  # tokens: with less room than this, no further entry is looked at


def check_budget(tokens: Any, name: str = "max_tokens") -> None:
    """Raise ``InvalidInputError`` for what is no budget; ``name`` is what the caller calls it."""
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise InvalidInputError(f"{name} must be a positive number of tokens, not {tokens!r}")


def check_sections(sections: Any) -> tuple[str, ...]:
    """Return the names of sections; raises ``InvalidInputError`` for others, and for a text instead of a list."""
    if isinstance(sections, str) or not isinstance(sections, Iterable):
        raise InvalidInputError(f"sections is a list of {', '.join(SECTIONS)}, e.g. ['recalled'], not {sections!r}")
    names = tuple(sections)
    for name in names:
        if name not in SECTIONS:
            raise InvalidInputError(f"section {name!r} is not one of {', '.join(SECTIONS)}")
    return names


class Packing:
    """A budget being filled.

    ``chosen``   the entries of each section, in order of merit
    ``waiting``  those that had no room so far
    ``omitted``  how many were left out, by reason
    ``room``     tokens left, by the sum of the entries' counts; ``settle`` counts the text as a whole

    Each entry and heading is counted once.
    """

    def __init__(self, counter: TokenCounter, max_tokens: int, words: Headings) -> None:
        self.counter = counter
        self.max_tokens = max_tokens
        self.words = words
        self.chosen: dict[str, list[Entry]] = {name: [] for name in SECTIONS}
        self.waiting: dict[str, list[Entry]] = {name: [] for name in SECTIONS}
        self.omitted: Counter[str] = Counter()
        self._costs: dict[str, int] = {}
        count = counter.count
        self._per_call = count("")  # some counters charge every call for marks of beginning and end
        self._newline = max(count("a\nb") - count("a") - count("b") + self._per_call, 0)
        self.room = max_tokens - count(fence(words.preamble)) - 2 * self._newline

    def offer(self, name: str, entries: Iterable[Entry]) -> None:
        """Add entries that the section may take, the best first; what is chosen already is left out."""
        held = [entry for chosen in self.chosen.values() for entry in chosen]
        ids = {id for entry in held for id in entry.ids}
        marks = {mark for entry in held for mark in entry.marks}
        for entry in entries:
            if entry.repeats(ids, marks):
                self.omitted["duplicate"] += entry.weight
                continue
            self.waiting[name].append(entry)
            if name != "recent":  # a conversation may say the same twice
                ids |= entry.ids
                marks |= entry.marks

    def fill(self, name: str, share: float = 1.0) -> None:
        """Choose waiting entries of a section in order, as long as it stays within its share of the budget."""
        limit = int(self.max_tokens * share) - sum(self._price(name, entry) for entry in self.chosen[name])
        waiting, self.waiting[name] = self.waiting[name], []
        for n, entry in enumerate(waiting):
            room = min(self.room, limit)
            too_long = len(entry.lines) > max(room, 0) * CHARACTERS_PER_TOKEN  # not worth counting
            price = room + 1 if too_long else self._price(name, entry)
            if price <= room:
                self.chosen[name].append(entry)
                self.room -= price
                limit -= price
            else:
                self.waiting[name].append(entry)
                if name == "recent" or room < _LEAST:  # a conversation has no gaps
                    self.waiting[name] += waiting[n + 1 :]
                    break

    def drop_repeats(self) -> None:
        """Take out recalled entries that the running conversation holds too."""
        ids = {id for entry in self.chosen["recent"] for id in entry.ids}
        marks = {mark for entry in self.chosen["recent"] for mark in entry.marks}
        for entry in [entry for entry in self.chosen["recalled"] if entry.repeats(ids, marks)]:
            self.chosen["recalled"].remove(entry)
            self.room += self._cost(entry.lines)
            self.omitted["duplicate"] += entry.weight

    def settle(self) -> int:
        """Drop the least entries while the text as a whole is over the budget; return what it counts."""
        while (over := (tokens := self.counter.count(self.text())) - self.max_tokens) > 0 and any(self.chosen.values()):
            for name in ("recalled", "summary", "profile", "recent"):
                while over > 0 and self.chosen[name]:
                    entry = self.chosen[name].pop()
                    self.waiting[name].append(entry)
                    over -= max(self._cost(entry.lines), 1)
        return tokens

    def text(self, names: Sequence[str] = SECTIONS) -> str:
        """Return the sections in their fence; empty where they are."""
        body = "\n\n".join(section for name in names if (section := self.section(name)))
        return fence(f"{self.words.preamble}\n{body}") if body else ""

    def section(self, name: str) -> str:
        """Return the heading and the entries of a section in the order of reading; empty without entries."""
        if not self.chosen[name]:
            return ""
        entries = self.chosen[name]
        if name in ("recalled", "recent"):
            entries = sorted(entries, key=lambda entry: entry.place)
        lines, date = [self._heading(name)], ""
        for entry in entries:
            if entry.date != date:
                lines.append(entry.date)
                date = entry.date
            if entry.lines:
                lines.append(entry.lines)
        return "\n".join(lines)

    def cost(self, name: str) -> int:
        """Return what a section costs in tokens: its heading, its dates and its entries, each counted alone."""
        entries = self.chosen[name]
        lines = {self._heading(name), *(entry.date for entry in entries)} if entries else ()
        return sum(self._cost(line) for line in lines) + sum(self._cost(entry.lines) for entry in entries)

    def _price(self, name: str, entry: Entry) -> int:
        """Return what the entry adds: its text, the headings that it is the first to need, its calls to tools."""
        others = self.chosen[name]
        price = self._cost(entry.lines) + sum(cost_of_calls(message, self.counter) for message in entry.messages)
        if not others or others[0] is entry:
            price += self._cost(self._heading(name)) + self._newline
        if entry.date and next((other for other in others if other.date == entry.date), entry) is entry:
            price += self._cost(entry.date)
        return price

    def _cost(self, line: str) -> int:
        if line not in self._costs:
            self._costs[line] = self.counter.count(line) - self._per_call + self._newline if line else 0
        return self._costs[line]

    def _heading(self, name: str) -> str:
        heading: str = getattr(self.words, name)
        return heading
