"""Messages of a chat in groups that stay together: a call to tools with its results. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from ..protocols import TokenCounter
from ..records import Message

CALLS: Final = ("tool_calls", "function_call")
"""Metadata keys under which a message's calls to tools are kept; they cost tokens too."""


def groups(messages: Sequence[Message], *, pending: bool = True) -> list[list[Message]]:
    """Return the messages as groups, in order: a call with one result for each of its tools, or a single message.

    A result belongs to the call right before it that it names (``tool_call_id``), or, where either has no id, to
    the next open one. Results without a call, and calls without all of their results, are left out; the last call
    of all stays if it waits for every result and ``pending`` is true.
    """
    found: list[list[Message]] = []
    waiting: list[list[str | None]] = []  # by group: the ids that have no result yet
    for message in messages:
        if message.role != "tool":
            found.append([message])
            waiting.append(_call_ids(message))
        elif found and _answer(waiting[-1], (message.metadata or {}).get("tool_call_id")):
            found[-1].append(message)
    last = len(found) - 1
    return [group for n, group in enumerate(found) if not waiting[n] or (pending and n == last and len(group) == 1)]


def calls_tools(message: Message) -> bool:
    """Return whether the message asks for tools to be run."""
    return bool(_calls(message)) and message.role == "assistant"


def cost_of_calls(message: Message, counter: TokenCounter) -> int:
    """Return what a message's calls to tools cost in a prompt, in tokens."""
    calls = _calls(message)
    return counter.count(orjson.dumps(calls).decode()) if calls else 0


def _calls(message: Message) -> dict[str, Any]:
    metadata = message.metadata or {}
    return {key: metadata[key] for key in CALLS if metadata.get(key)}


def _call_ids(message: Message) -> list[str | None]:
    if not calls_tools(message):
        return []
    calls = _calls(message).get("tool_calls")
    if not isinstance(calls, list | tuple):
        return [None]
    return [call.get("id") if isinstance(call, dict) else None for call in calls]


def _answer(waiting: list[str | None], id: object) -> bool:
    """Take the call that a result answers off the waiting ones; return whether there is one."""
    if id in waiting:
        taken = waiting.index(id)
    elif waiting and (not id or None in waiting):
        taken = waiting.index(None) if id else 0
    else:
        return False
    del waiting[taken]
    return True
