"""What goes into a prompt: four sections within a hard budget of tokens. Pure, over values.

The budget is split by a rule that hands unused room on: ``profile``, ``summary`` and ``recent`` first take up to
their share each, ``recalled`` takes all that is left, and what it leaves goes back to ``recent``, ``summary`` and
``profile`` in turn. Each entry is counted once, whole ones are chosen in order of merit, and the joined text is
counted at the end: that count is what the budget binds.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from ..errors import InvalidInputError
from ..protocols import TokenCounter
from ..records import TURN_PREFIX, Context, Hit, Message, Record, Section
from ..settings import Settings
from ..text.guard import fence, neutral
from ..text.keys import date_words, text_hash
from ..text.language import is_chinese
from ..text.sentences import CHARACTERS_PER_TOKEN, cut
from .headings import CHINESE, ENGLISH, Headings

SECTIONS: Final = ("profile", "summary", "recalled", "recent")
_LEAST: Final = 4  # tokens: with less room than this, no further entry is looked at


def build_context(
    *,
    profile: Sequence[Record] = (),
    summaries: Sequence[Record] = (),
    hits: Sequence[Hit] = (),
    recent: Sequence[Message] = (),
    counter: TokenCounter,
    max_tokens: int,
    settings: Settings | None = None,
    headings: Headings | None = None,
) -> Context:
    """Return the context of at most ``max_tokens`` tokens that holds the best of what is given.

    ``profile``, ``summaries``   records in order of merit, the best first
    ``hits``       results of a search, the best first; in the text they stand in order of time
    ``recent``     turns of the running session, oldest first; the newest exchanges that fit are kept
    ``headings``   the words around the entries; ``None`` takes English or Chinese, as the conversation is

    Raises ``InvalidInputError`` for a budget under one token. O(entries), each counted once.
    """
    if max_tokens < 1:
        raise InvalidInputError(f"max_tokens must be at least 1, not {max_tokens}")
    words = headings or (CHINESE if _in_chinese(recent, hits, profile) else ENGLISH)
    packing = _Packing(counter, max_tokens, words, settings or Settings())
    context = packing.pack(profile, summaries, hits, recent)
    again = partial(
        build_context,
        profile=tuple(profile),
        summaries=tuple(summaries),
        hits=tuple(hits),
        recent=tuple(recent),
        counter=counter,
        settings=settings,
        headings=words,
    )
    return dataclasses.replace(context, _refit=partial(_refit, again, counter, max_tokens))


@dataclass(eq=False)
class _Entry:
    """Something to include whole or not at all: ``lines`` under a ``date``, sorted by ``place`` in its section."""

    lines: str
    place: tuple[float, int] = (0.0, 0)
    date: str = ""
    hit: Hit | None = None
    messages: tuple[Message, ...] = ()
    hashes: frozenset[int] = frozenset()
    ids: frozenset[str] = frozenset()
    tokens: int = -1  # counted when first looked at

    @property
    def weight(self) -> int:
        """How many omissions it counts for."""
        return max(len(self.messages), 1)


@dataclass
class _Packing:
    """A budget being filled; ``chosen`` holds the entries of each section in order of merit."""

    counter: TokenCounter
    max_tokens: int
    words: Headings
    settings: Settings
    chosen: dict[str, list[_Entry]] = field(default_factory=lambda: {name: [] for name in SECTIONS})
    omitted: Counter[str] = field(default_factory=Counter)

    def pack(
        self, profile: Sequence[Record], summaries: Sequence[Record], hits: Sequence[Hit], recent: Sequence[Message]
    ) -> Context:
        """Fill the sections by their shares, hand on what is left, and settle on a text that fits."""
        count, settings = self.counter.count, self.settings
        self.base = count("")  # some counters charge every call for marks of beginning and end
        self.newline = max(count("a\nb") - count("a") - count("b") + self.base, 0)
        self.room = self.max_tokens - count(fence(self.words.preamble)) - 2 * self.newline
        queues = {
            "profile": [self._listed(record) for record in profile],
            "summary": [self._listed(record) for record in summaries],
            "recent": self._exchanges(recent),
        }
        shares = {
            "profile": settings.profile_share, "summary": settings.summary_share, "recent": settings.recent_share
        }  # fmt: skip
        for name, share in shares.items():
            self._fill(name, queues[name], int(self.max_tokens * share))
        queues["recalled"] = self._unseen([self._recalled(hit) for hit in hits])
        for name in ("recalled", "recent", "summary", "profile"):
            self._fill(name, queues[name], self.max_tokens)
        if not any(self.chosen.values()):
            self._cut_one(queues)
        for queue in queues.values():
            self.omitted["budget"] += sum(entry.weight for entry in queue)
        return self._settle()

    # --- entries

    def _listed(self, record: Record) -> _Entry:
        when = f"{self._day(record)}: " if record.kind == "summary" and record.session_id else ""
        return _Entry(f"- {when}{self._text(record)}", ids=frozenset([record.id]), hashes=_hashes([record.text]))

    def _recalled(self, hit: Hit) -> _Entry:
        record = hit.record
        head = f"{self._speaker(record.role, record.speaker)}: " if record.kind == "turn" else "- "
        return _Entry(
            head + self._text(record),
            place=(record.time.timestamp(), hit.row),
            date=f"[{self._day(record)}]",
            hit=hit,
            ids=frozenset([record.id]),
            hashes=_hashes([record.text]),
        )

    def _exchanges(self, messages: Sequence[Message]) -> list[_Entry]:
        """Return the exchanges, each from a user's turn to the next, newest first; what opens without one is left."""
        groups: list[list[Message]] = []
        for message in messages:
            if message.role == "user":
                groups.append([message])
            elif groups and message.role != "system":
                groups[-1].append(message)
        return [self._exchange(group, n) for n, group in reversed(list(enumerate(groups)))]

    def _exchange(self, group: list[Message], n: int) -> _Entry:
        said = [message for message in group if message.content.strip()]
        return _Entry(
            "\n".join(f"{self._speaker(m.role, m.name)}: {neutral(m.content)}" for m in said),
            place=(0.0, n),
            messages=tuple(group),
            ids=frozenset(TURN_PREFIX + m.id for m in group if m.id is not None),
            hashes=_hashes([m.content for m in said]),
        )

    def _text(self, record: Record) -> str:
        until = record.valid_until
        past = self.words.until.format(date_words(until, chinese=self.words.chinese)) if until else ""
        return neutral(record.text.strip()) + past

    def _day(self, record: Record) -> str:
        return date_words(record.time, chinese=self.words.chinese)

    def _speaker(self, role: str | None, name: str | None) -> str:
        return neutral(name or {"user": self.words.user, "assistant": self.words.assistant}.get(role or "", role or ""))

    # --- choosing

    def _fill(self, name: str, queue: list[_Entry], limit: int) -> None:
        """Move entries that fit from the queue to the section, in order, within ``limit`` for all of the section."""
        limit -= sum(self._price(name, entry) for entry in self.chosen[name])
        waiting = queue.copy()
        queue.clear()
        for n, entry in enumerate(waiting):
            room = min(self.room, limit)
            price = self._price(name, entry) if len(entry.lines) <= room * CHARACTERS_PER_TOKEN else room + 1
            if price > room:
                queue.append(entry)
                if name == "recent" or room < _LEAST:  # a conversation has no gaps
                    queue.extend(waiting[n + 1 :])
                    break
                continue
            self.chosen[name].append(entry)
            self.room -= price
            limit -= price
            if name == "recent":
                self._forget_repeats(entry)

    def _price(self, name: str, entry: _Entry) -> int:
        """Return what the entry adds to the text, with the headings that it is the first to need."""
        if entry.tokens < 0:
            entry.tokens = self._cost(entry.lines) if entry.lines else 0
        others = self.chosen[name]
        extra = 0 if others and others[0] is not entry else self._cost(getattr(self.words, name)) + self.newline
        first = next((other for other in others if other.date == entry.date), entry)
        if entry.date and first is entry:
            extra += self._cost(entry.date)
        return entry.tokens + extra

    def _cost(self, line: str) -> int:
        return self.counter.count(line) - self.base + self.newline

    def _unseen(self, entries: list[_Entry]) -> list[_Entry]:
        """Leave out what is in the text already: the same record, or the same words."""
        ids: set[str] = set()
        hashes: set[int] = set()
        for entry in (entry for chosen in self.chosen.values() for entry in chosen):
            ids |= entry.ids
            hashes |= entry.hashes
        fresh = []
        for entry in entries:
            if entry.ids & ids or entry.hashes & hashes:
                self.omitted["duplicate"] += 1
            else:
                fresh.append(entry)
                ids |= entry.ids
                hashes |= entry.hashes
        return fresh

    def _forget_repeats(self, exchange: _Entry) -> None:
        """Take out recalled entries that an exchange of the running conversation holds too."""
        for entry in self.chosen["recalled"].copy():
            if entry.ids & exchange.ids or entry.hashes & exchange.hashes:
                self.chosen["recalled"].remove(entry)
                self.room += entry.tokens
                self.omitted["duplicate"] += 1

    def _cut_one(self, queues: dict[str, list[_Entry]]) -> None:
        """Where nothing fits whole, take the best beginning of the best entry."""
        for name in ("recalled", "profile", "summary", "recent"):
            if queues[name]:
                entry = queues[name][0]
                entry.tokens = 0
                lines = cut(entry.lines, self.room - self._price(name, entry) - self.newline, self.counter)
                if lines:
                    del queues[name][0]
                    message = [dataclasses.replace(m, content=lines) for m in entry.messages[:1]]
                    entry = dataclasses.replace(entry, lines=lines, tokens=-1, messages=tuple(message))
                    self.chosen[name].append(entry)
                    self.omitted["cut"] += 1
                return

    # --- the text

    def _settle(self) -> Context:
        """Render, count, and drop the least entries while the text as a whole is over the budget."""
        while True:
            sections = {name: self._section(name) for name in SECTIONS}
            text = self._fenced(sections.values())
            tokens = self.counter.count(text)
            if tokens <= self.max_tokens or not any(self.chosen.values()):
                break
            self._drop(tokens - self.max_tokens)
        return Context(
            text=text,
            tokens=tokens,
            sections=tuple(
                Section(name, sections[name], self.counter.count(sections[name]), len(chosen))
                for name, chosen in self.chosen.items()
                if chosen
            ),
            hits=tuple(entry.hit for entry in self.chosen["recalled"] if entry.hit),
            omitted={reason: n for reason, n in self.omitted.items() if n},
            recent=tuple(m for entry in reversed(self.chosen["recent"]) for m in entry.messages),
            max_tokens=self.max_tokens,
            _memories=self._fenced([sections[name] for name in SECTIONS if name != "recent"]),
        )

    def _drop(self, tokens: int) -> None:
        for name in ("recalled", "summary", "profile", "recent"):
            while tokens > 0 and self.chosen[name]:
                entry = self.chosen[name].pop()
                tokens -= max(entry.tokens, 1)
                self.omitted["budget"] += entry.weight

    def _section(self, name: str) -> str:
        if not self.chosen[name]:
            return ""
        ordered = self.chosen[name] if name in ("profile", "summary") else sorted(self.chosen[name], key=_place)
        lines, date = [getattr(self.words, name)], ""
        for entry in ordered:
            if entry.date != date:
                date = entry.date
                lines.append(date)
            if entry.lines:
                lines.append(entry.lines)
        return "\n".join(lines)

    def _fenced(self, sections: Iterable[str]) -> str:
        body = "\n\n".join(section for section in sections if section)
        return fence(f"{self.words.preamble}\n{body}") if body else ""


def _place(entry: _Entry) -> tuple[float, int]:
    return entry.place


def _hashes(texts: Sequence[str]) -> frozenset[int]:
    return frozenset(text_hash(text) for text in texts)


def _in_chinese(recent: Sequence[Message], hits: Sequence[Hit], profile: Sequence[Record]) -> bool:
    said = [message.content for message in recent if message.role in ("user", "assistant")][-20:]
    recalled = [hit.record.text for hit in hits[:20]]
    return is_chinese("\n".join(text[:200] for text in said or recalled or [record.text for record in profile[:20]]))


def _refit(
    again: Callable[..., Context],
    counter: TokenCounter,
    max_tokens: int,
    context: Context,
    texts: Callable[[Context], Sequence[str]],
) -> Context:
    """Return the largest context whose prompt or messages fit the budget; without memories where nothing else does."""
    while (over := sum(counter.count(text) for text in texts(context)) - max_tokens) > 0:
        if context.max_tokens - over < 1 or not context.text:
            return Context("", 0, max_tokens=max_tokens)
        context = again(max_tokens=min(context.max_tokens, context.tokens) - over)
    return context
