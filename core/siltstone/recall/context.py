"""What goes into a prompt: four sections within a hard budget of tokens. Pure, over values.

The budget is split by a rule that hands unused room on: ``profile``, ``summary`` and ``recent`` first take up to
their share each, ``recalled`` takes all that is left, and what it leaves goes back to ``recent``, ``summary`` and
``profile`` in turn. Each entry is counted once, whole ones are chosen in order of merit, and the joined text is
counted at the end: that count is what the budget binds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

from ..errors import InvalidInputError
from ..protocols import TokenCounter
from ..records import TURN_PREFIX, WRONG, Context, Hit, Message, Record, Section, message_id
from ..settings import Headings, Settings
from ..text.exchanges import cost_of_calls
from ..text.guard import neutral
from ..text.language import is_chinese
from ..text.sentences import cut
from .entries import exchanges, listed, recalled
from .headings import CHINESE, ENGLISH
from .packing import SECTIONS, Packing

SCORE_GAP: Final = 8.0
"""A hit this far below the best one is noise: e**-8 of its odds, as ranking weights are those of a softmax.

On five LoCoMo conversations (948 questions, 2026-11-29) it leaves 15% of 2,000 tokens unused and costs .0006 of
evidence recall; 7 would leave 25% for .007.
"""


def build_context(
    *,
    profile: Sequence[Record] = (),
    summaries: Sequence[Record] = (),
    hits: Sequence[Hit] = (),
    recent: Sequence[Message] = (),
    earlier: int = 0,
    exclude_ids: Collection[str] = (),
    counter: TokenCounter,
    max_tokens: int,
    settings: Settings | None = None,
    headings: Headings | None = None,
) -> Context:
    """Return the context of at most ``max_tokens`` tokens that holds the best of what is given.

    ``profile``, ``summaries``   records in order of merit, the best first
    ``hits``       results of a search, the best first; in the text they stand in order of time
    ``recent``     turns of the running session, oldest first; the newest exchanges that fit are kept
    ``earlier``    how many messages the running session holds before those: they are counted as omitted
    ``exclude_ids``   records and messages that are left out, a turn by its message's id too; so is what a person has
                   marked as ``wrong``, and counted as omitted
    ``headings``   the words around the entries; ``None`` takes those of the settings, or else English or Chinese, as
                   the conversation is

    Raises ``InvalidInputError`` for a budget under one token. O(entries), each counted once.
    """
    if max_tokens < 1:
        raise InvalidInputError(f"max_tokens must be at least 1, not {max_tokens}")
    settings = settings or Settings()
    profile = [record for record in profile if not _excluded(exclude_ids, record.id)]
    summaries = [record for record in summaries if not _excluded(exclude_ids, record.id)]
    hits = [hit for hit in hits if not _excluded(exclude_ids, hit.record.id)]
    recent = [
        message for message in recent if message.id is None or not _excluded(exclude_ids, TURN_PREFIX + message.id)
    ]
    words = headings or settings.headings or (CHINESE if _in_chinese(recent, hits, profile) else ENGLISH)
    packing = Packing(counter, max_tokens, words)
    worthy = [hit for hit in hits if hit.score >= hits[0].score - SCORE_GAP]
    packing.omitted["score"] = len(hits) - len(worthy)
    offered = (*profile, *summaries, *(hit.record for hit in worthy))
    packing.omitted["wrong"] = len({record.id for record in offered if WRONG in record.flags})

    packing.offer("profile", [listed(record, words) for record in profile if WRONG not in record.flags])
    packing.offer("summary", [listed(record, words) for record in summaries if WRONG not in record.flags])
    packing.offer("recent", exchanges(recent, words))
    packing.fill("profile", settings.profile_share)
    packing.fill("summary", settings.summary_share)
    packing.fill("recent", settings.recent_share)
    packing.offer("recalled", [recalled(hit, words) for hit in worthy if WRONG not in hit.record.flags])
    packing.fill("recalled")
    packing.fill("recent")
    packing.drop_repeats()
    packing.fill("summary")
    packing.fill("profile")
    tokens = packing.settle()
    if not any(packing.chosen.values()):
        tokens = _cut_one(packing)

    packing.omitted["budget"] = sum(entry.weight for waiting in packing.waiting.values() for entry in waiting) + earlier
    again = partial(
        build_context,
        profile=tuple(profile),
        summaries=tuple(summaries),
        hits=tuple(hits),
        recent=tuple(recent),
        earlier=earlier,
        counter=counter,
        settings=settings,
        headings=words,
    )
    return _context(packing, tokens, partial(_refit, again, counter, max_tokens))


def _excluded(ids: Collection[str], id: str) -> bool:
    """Return whether an id is among the excluded ones; a turn may be named by its message's."""
    return id in ids or message_id(id) in ids


def _cut_one(packing: Packing) -> int:
    """Where nothing fits whole, take the beginning of the best entry that fits; return what the text counts."""
    count = packing.counter.count
    name = next((name for name in ("recalled", "profile", "summary", "recent") if packing.waiting[name]), None)
    if name is None:
        return count("")
    entry = packing.waiting[name].pop(0)
    whole = entry
    if name == "recent":  # the question alone, without what was made of it
        entry = exchanges(entry.messages[:1], packing.words)[0]
    speaker = len(entry.lines) - len(neutral(entry.messages[0].content)) if entry.messages else 0
    room = packing.max_tokens
    while room > 0 and (lines := cut(entry.lines, room, packing.counter)):
        messages = tuple(dataclasses.replace(message, content=lines[speaker:]) for message in entry.messages[:1])
        packing.chosen[name] = [dataclasses.replace(entry, lines=lines, messages=messages)]
        tokens = count(packing.text())
        if tokens <= packing.max_tokens:
            packing.omitted["cut"] = 1
            return tokens
        room = min(room, count(lines)) - (tokens - packing.max_tokens)
    packing.chosen[name] = []
    packing.waiting[name].insert(0, whole)
    return count("")


Refit = Callable[[Context, Callable[[Context], Sequence[str | Message]]], Context]


def _context(packing: Packing, tokens: int, refit: Refit) -> Context:
    return Context(
        text=packing.text(),
        tokens=tokens,
        sections=tuple(
            Section(name, section, packing.cost(name), len(packing.chosen[name]))
            for name in SECTIONS
            if (section := packing.section(name))
        ),
        hits=tuple(entry.hit for entry in packing.chosen["recalled"] if entry.hit),
        omitted={reason: number for reason, number in packing.omitted.items() if number},
        recent=tuple(message for entry in reversed(packing.chosen["recent"]) for message in entry.messages),
        max_tokens=packing.max_tokens,
        _memories=packing.text([name for name in SECTIONS if name != "recent"]),
        _refit=refit,
    )


def _refit(
    again: Callable[..., Context],
    counter: TokenCounter,
    max_tokens: int,
    context: Context,
    parts: Callable[[Context], Sequence[str | Message]],
) -> Context:
    """Return the largest context whose prompt or messages fit the budget; without memories where nothing else does."""

    def calls(messages: Sequence[str | Message]) -> int:
        return sum(cost_of_calls(message, counter) for message in messages if isinstance(message, Message))

    def cost(parts: Sequence[str | Message]) -> int:
        return calls(parts) + sum(counter.count(part if isinstance(part, str) else part.content) for part in parts)

    while (over := cost(parts(context)) - max_tokens) > 0:
        room = min(context.max_tokens, context.tokens + calls(context.recent)) - over
        if room < 1 or not context.text:
            return Context("", 0, max_tokens=max_tokens)
        context = again(max_tokens=room)
    return context


def _in_chinese(recent: Sequence[Message], hits: Sequence[Hit], profile: Sequence[Record]) -> bool:
    said = [message.content for message in recent if message.role in ("user", "assistant")][-20:]
    recorded = [record.text for record in (*(hit.record for hit in hits[:20]), *profile[:20])]
    return is_chinese("\n".join(text[:200] for text in said or recorded))
