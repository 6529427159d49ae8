"""Messages of a chat in groups that stay together: a call to tools with its results. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def calls_of(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a message's calls to tools as ``id``, ``name`` and ``args``, whichever application wrote them.

    Beside that form it knows OpenAI's and LlamaIndex's older ones. What is no call is left out; one without a name is
    called ``unknown``, so that its result does not stand alone.
    """
    listed = metadata.get("tool_calls")
    calls = list(listed) if isinstance(listed, list | tuple) else []
    return [_call(call) for call in calls or [metadata.get("function_call")] if isinstance(call, Mapping)]


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    told = {**call, **function} if isinstance(function, Mapping) else call
    id, name = _first(told, "id", "tool_id"), _first(told, "name", "tool_name")
    return {
        "id": None if id is None else str(id),
        "name": name if isinstance(name, str) else "unknown",
        "args": _arguments(_first(told, "args", "arguments", "tool_kwargs", "input")),
    }


def _first(values: Mapping[str, Any], *keys: str) -> Any:
    return next((values[key] for key in keys if values.get(key) is not None), None)


def _arguments(args: Any) -> dict[str, Any]:
    if isinstance(args, str):
        try:
            args = orjson.loads(args)
        except orjson.JSONDecodeError:
            return {"input": args}
    if isinstance(args, Mapping):
        return dict(args)
    return {} if args is None else {"input": args}


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
