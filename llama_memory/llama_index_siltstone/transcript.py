"""What is new in a transcript that an application sends again and again. Pure.

Messages are compared by what they say (``content_key``), never by position: a front end may send the last few turns,
leave out calls to tools, or take an answer back.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from siltstone.records import Message
from siltstone.tiers.restart import current, is_restart

from .messages import content_key


@dataclass(frozen=True)
class Plan:
    """What makes a session say what a transcript says.

    ``additions`` are its messages that are not stored yet, with ids. ``keep`` lists the ids of all of it, in order,
    ``None`` for each addition, where that is not just what the session says with the additions at its end.
    """

    additions: tuple[Message, ...] = ()
    keep: tuple[str | None, ...] | None = None


def plan_set(stored: Sequence[Message], wanted: Sequence[Message]) -> Plan:
    """Decide what a session whose messages are ``stored`` lacks to say what ``wanted`` says."""
    now = current(stored)
    after = (stored[-1].id if stored else None) or ""
    if _continues(wanted, now):
        return Plan(_following(after, wanted[len(now) :]))
    spoken = [message for message in now if not _is_tool_talk(message)]
    if not any(map(_is_tool_talk, wanted)) and _continues(wanted, spoken):
        return Plan(_following(after, wanted[len(spoken) :]))
    free: dict[str, list[str]] = defaultdict(list)
    shown = {message.id for message in now}
    for message in [*now, *(m for m in stored if m.id not in shown and not is_restart(m))]:
        if message.id is not None:
            free[content_key(message)].append(message.id)
    found = [free[key].pop(0) if free[key] else None for key in _keys(wanted)]
    return Plan(_following(after, [m for m, id in zip(wanted, found, strict=True) if id is None]), tuple(found))


def unseen(stored: Sequence[Message], recent: Sequence[Message]) -> tuple[Message, ...]:
    """Return what of the newest messages of a conversation is not stored yet.

    ``recent`` lies within ``stored``, or overlaps its end; where neither holds, since something in between was
    forgotten, each message is new that is said more often than it is stored.
    """
    old, new = _keys(stored), _keys(recent)
    if any(old[n : n + len(new)] == new for n in range(len(old) - len(new), -1, -1)):
        return ()
    overlap = next((n for n in range(min(len(old), len(new)), 0, -1) if old[-n:] == new[:n]), 0)
    fresh = range(overlap, len(new)) if overlap else _said_more_often(new, old)
    return _following((stored[-1].id if stored else None) or "", [recent[n] for n in fresh])


def without_echo(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages without the question that LlamaIndex's ``Memory`` says again behind them.

    ``Memory.get(input=…)`` shows its blocks the input as one more user turn. Agents ask so for the turn that is there
    already, unanswered; between the two there may be calls to tools.
    """
    if not messages or messages[-1].role != "user":
        return messages
    spoken = [message for message in messages[:-1] if not _is_tool_talk(message)]
    return messages[:-1] if spoken and content_key(spoken[-1]) == content_key(messages[-1]) else messages


def _following(after: str, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return new messages with ids that come from the message that each follows and what it says, all of one length.

    Two who find the same to be new at once, in threads or processes, store it once, also where one of them finds a part
    of it stored already.
    """
    following = []
    for message, key in zip(messages, _keys(messages), strict=True):
        after = hashlib.sha256(f"{after}>{key}".encode()).hexdigest()[:20]
        following.append(dataclasses.replace(message, id=after))
    return tuple(following)


def _said_more_often(new: Sequence[str], old: Sequence[str]) -> list[int]:
    """Return the positions of what is said in ``new`` more often than in ``old``, the later times."""
    known = Counter(old)
    fresh = []
    for n, key in enumerate(new):
        known[key] -= 1
        if known[key] < 0:
            fresh.append(n)
    return fresh


def _keys(messages: Sequence[Message]) -> list[str]:
    return [content_key(message) for message in messages]


def _continues(longer: Sequence[Message], known: Sequence[Message]) -> bool:
    return _keys(longer[: len(known)]) == _keys(known)


def _is_tool_talk(message: Message) -> bool:
    return message.role == "tool" or (message.role == "assistant" and not message.content.strip())
