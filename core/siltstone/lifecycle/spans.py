"""Which stretches of a session no digest covers yet. Pure.

A span is known by its session and its first and last message, so that two workers who digest the same one collide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final

from ..protocols import TokenCounter
from ..records import Message
from ..tiers.policy import Policy

_OVER: Final = 2
"""A span waits for the end of an exchange until it is so many times as long as it should be."""


@dataclass(frozen=True)
class Span:
    """Messages of a session that belong together, how many tokens they have, and why they are to be digested."""

    session_id: str
    messages: tuple[Message, ...]
    tokens: int
    why: str

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the messages."""
        return tuple(message.id for message in self.messages if message.id is not None)

    @property
    def last_said(self) -> datetime:
        """When its last message was said."""
        return said_at(self.messages[-1])

    def key(self, prefix: str) -> str:
        """Return the id of what is made of the span: the same in every process."""
        return hashed(prefix, self.session_id, self.ids[0], self.ids[-1])


def hashed(*parts: str) -> str:
    """Return an id that follows from the parts: 80 bits, as hexadecimal."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def said_at(message: Message) -> datetime:
    """Return when a stored message was said."""
    assert message.created_at is not None
    return message.created_at


def due_spans(
    session_id: str,
    messages: Sequence[Message],
    covered: Collection[str],
    policy: Policy,
    now: datetime,
    counter: TokenCounter,
) -> Iterator[Span]:
    """Yield the spans of a session that are due, in order; ``covered`` are ids of messages that a digest covers."""
    run: list[Message] = []
    for message in messages:
        if message.id not in covered:
            run.append(message)
        elif run:
            yield from _cut(session_id, run, policy, now, counter, whole="its digest has gone")
            run = []
    if run:
        yield from _cut(session_id, run, policy, now, counter, whole=None)


def _cut(
    session_id: str, run: Sequence[Message], policy: Policy, now: datetime, counter: TokenCounter, *, whole: str | None
) -> Iterator[Span]:
    """Cut a run of messages into spans, before a user speaks where possible; ``whole`` says why none may stay open."""
    begun: list[Message] = []
    turns = tokens = 0
    settings = policy.settings
    for message in run:
        full = turns >= settings.span_turns or tokens >= settings.span_tokens
        opens = message.role == "user" and begun[-1:] and (begun[-1].role != "user" or begun[-1].name != message.name)
        if full and (opens or turns >= _OVER * settings.span_turns or tokens >= _OVER * settings.span_tokens):
            yield Span(session_id, tuple(begun), tokens, f"{turns} turns, {tokens} tokens")
            begun, turns, tokens = [], 0, 0
        begun.append(message)
        turns += message.role in ("user", "assistant")
        tokens += counter.count(message.content)
    why = whole or policy.due(turns, tokens, said_at(begun[-1]), now)
    if why is not None:
        yield Span(session_id, tuple(begun), tokens, why)
