"""Working memory: the part of a running session that goes into a prompt.

Pure. A window is always a valid chat sequence: it starts with a system or user message, every tool result stands
right after the call it answers, and no call stands without its results, unless it is the last and none has come yet.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from ..protocols import TokenCounter
from ..records import Message
from ..text.exchanges import CALLS, calls_tools, cost_of_calls, groups
from ..text.sentences import cut

__all__ = ["CALLS", "OVERHEAD", "calls_tools", "cost", "enough", "fit"]

OVERHEAD: Final = 4
"""Tokens that a chat format spends on one message beside its text (role and separators)."""


def fit(messages: Sequence[Message], max_tokens: int, counter: TokenCounter) -> list[Message]:
    """Return the newest whole exchanges within ``max_tokens``, after the session's system message if it fits.

    When not even the newest exchange fits, its oldest inner rounds are left out; when its first message alone
    is too long, that message is cut at a sentence end and marked ``cut`` in its metadata. O(messages read).
    """
    head, exchanges = _exchanges(messages)
    window: list[Message] = []
    room = max_tokens
    if head is not None and (price := cost(head, counter)) <= max_tokens // 2:
        window.append(head)
        room -= price
    chosen: list[list[Message]] = []
    for exchange in reversed(exchanges):
        price = sum(cost(message, counter) for message in exchange)
        if price > room:
            if not chosen:
                chosen.append(_squeeze(exchange, room, counter))
            break
        chosen.append(exchange)
        room -= price
    for exchange in reversed(chosen):
        window.extend(exchange)
    return window


def cost(message: Message, counter: TokenCounter) -> int:
    """Return what a message costs in a prompt, its name and its calls to tools included, in tokens."""
    tokens = counter.count(message.content) + OVERHEAD
    if message.name:
        tokens += counter.count(message.name)
    return tokens + cost_of_calls(message, counter)


def enough(messages: Sequence[Message], max_tokens: int, counter: TokenCounter) -> bool:
    """Return whether ``fit`` would make nothing of what was said before these messages, but for the very first."""
    room = max_tokens
    for exchange in reversed(_exchanges(messages)[1]):
        if exchange[0].role != "user":
            return False
        for message in exchange:
            room -= cost(message, counter)
            if room < 0:
                return True
    return False


def _exchanges(messages: Sequence[Message]) -> tuple[Message | None, list[list[Message]]]:
    """Split into the leading system message and exchanges, each from a user message to the next one."""
    head: Message | None = None
    exchanges: list[list[Message]] = []
    for n, group in enumerate(groups(messages)):
        first = group[0]
        if n == 0 and first.role == "system":
            head = first
        elif first.role == "user":
            exchanges.append(group)
        elif exchanges:
            exchanges[-1].extend(group)
        elif first.role == "system":
            exchanges.append(group)
        # what stands before the first user message cannot open a valid sequence
    return head, exchanges


def _squeeze(exchange: list[Message], room: int, counter: TokenCounter) -> list[Message]:
    """Keep the first message of an exchange and its newest rounds within ``room``."""
    first, rest = exchange[0], groups(exchange[1:])
    price = cost(first, counter)
    if price > room:
        beside = price - counter.count(first.content)
        text = cut(first.content, room - beside, counter) if room > beside else ""
        if not text:
            return []
        return [dataclasses.replace(first, content=text, metadata={**(first.metadata or {}), "cut": True})]
    kept: list[Message] = []
    room -= price
    for group in reversed(rest):
        price = sum(cost(message, counter) for message in group)
        if price > room:
            break
        kept[:0] = group
        room -= price
    return [first, *kept]
