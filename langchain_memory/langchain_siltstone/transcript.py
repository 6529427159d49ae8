"""What of an agent's messages its session lacks. Pure.

With a checkpointer messages keep their ids from run to run. Without one, a front end sends the transcript each time and
every message has a new id: it is then known by what it says and where it stands.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage

from siltstone.records import Message
from siltstone.text.exchanges import calls_of
from siltstone.text.guard import without_injected
from siltstone.tiers.restart import is_restart

from .messages import KEY, OWN, given_id, to_message

_UNSAID: Final = ("text", "thinking", "reasoning", "redacted_thinking", "tool_use", "tool_call", "function_call")
"""Blocks that are told by the words and calls of a message, or that a front end may drop."""


@dataclass(frozen=True)
class Turn:
    """``new`` are the messages to store, in order; ``known`` the ids under which the session has others of them."""

    new: tuple[Message, ...] = ()
    known: tuple[str, ...] = ()


def made_since(messages: Sequence[BaseMessage], stored: Sequence[Message]) -> Turn | None:
    """Return what follows the last message that is stored; ``None`` where none of them is, by its id."""
    anchor = _anchor(messages, stored)
    return None if anchor is None else Turn(tuple(map(_keyed, messages[anchor + 1 :])))


def newest(messages: Sequence[BaseMessage]) -> Turn:
    """Return the last user's message and what follows: all that is new for certain where nothing stored can be read."""
    start = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], HumanMessage)), 0)
    return Turn(tuple(map(_keyed, messages[start:])))


def sent_again(messages: Sequence[BaseMessage], stored: Sequence[Message], *, reaches_back: bool) -> Turn:
    """Return what of a transcript that was sent is new, by ids and by what is said.

    A message whose id is stored is new again if it was edited. ``reaches_back`` says that ``stored`` is all of the
    session; where it is only its end, what stands before the first message that is found is older, and stored.
    """
    sent = [_keyed(message) for message in messages]
    said = [message for message in stored if not is_restart(message)]
    by_id = {given_id(message): message for message in said}
    anchor = _anchor(messages, stored)
    behind = 0 if anchor is None else said.index(by_id[messages[anchor].id]) + 1
    head, tail = ([], sent) if anchor is None else (sent[: anchor + 1], sent[anchor + 1 :])
    edited = [m for m in head if (old := by_id.get(given_id(m))) is not None and _key_of(m) != _key_of(old)]
    found = _found(said[behind:], tail)
    first = next((n for n, old in enumerate(found) if old is not None), 0)
    start = 0 if reaches_back or anchor is not None else first
    fresh = [m for n, (m, old) in enumerate(zip(tail, found, strict=True)) if old is None and n >= start]
    unnamed = [m for m in head if given_id(m) not in by_id]
    repeated = [*found, *(by_id.get(given_id(m)) for m in head), *_found(said[:behind], unnamed)]
    return Turn((*edited, *fresh), tuple(dict.fromkeys(m.id for m in repeated if m is not None and m.id)))


def content_key(message: Message) -> str:
    """Return a hash of what a message says: equal for a stored message and its copy in a transcript that is sent again.

    Left out is what a front end may drop or change: thinking, what the provider notes, ids, spaces at the ends.
    """
    metadata = message.metadata or {}
    calls = [(call["name"], call["args"]) for call in calls_of(metadata)]
    words = without_injected(message.content).strip()
    answered = str(metadata.get("tool_call_id") or "")
    parts = [message.role, words, calls, answered, list(_pictures(metadata.get(OWN)))]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _keyed(message: BaseMessage) -> Message:
    """Return the message with a note of what it says: a stored text corrected since is no edit of the agent's."""
    made = to_message(message)
    metadata = made.metadata or {}
    own = metadata.get(OWN) or {}
    return replace(made, metadata={**metadata, OWN: {**own, KEY: content_key(made)}})


def _key_of(message: Message) -> str:
    """Return what the message said when it was sent."""
    own = (message.metadata or {}).get(OWN)
    noted = own.get(KEY) if isinstance(own, Mapping) else None
    return noted if isinstance(noted, str) else content_key(message)


def _anchor(messages: Sequence[BaseMessage], stored: Sequence[Message]) -> int | None:
    """Return the place of the last message whose id is stored."""
    ids = {given_id(message) for message in stored if not is_restart(message)}
    return next((n for n in range(len(messages) - 1, -1, -1) if messages[n].id in ids), None)


def _found(stored: Sequence[Message], sent: Sequence[Message]) -> list[Message | None]:
    """Return for each message that was sent the stored one that it repeats, by what they say.

    As a rule the end of what is stored is the beginning of what is sent. Where it is not, since a front end goes back,
    or leaves something out, messages are found in order; the user's last words only behind an answer that was found,
    or else whoever says "thanks" again would say nothing new.
    """
    if not any(map(_is_tool_talk, sent)):
        stored = [message for message in stored if not _is_tool_talk(message)]
    old, new = [_key_of(m) for m in stored], [_key_of(m) for m in sent]
    overlap = next((n for n in range(min(len(old), len(new)), 0, -1) if old[-n:] == new[:n]), 0)
    if overlap:
        return [*stored[-overlap:], *[None] * (len(sent) - overlap)]
    found: list[Message | None] = [None] * len(sent)
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        found[block.b : block.b + block.size] = stored[block.a : block.a + block.size]
    answered = next((n for n in range(len(sent) - 1, -1, -1) if sent[n].role == "assistant"), None)
    if answered is None or found[answered] is None:
        for n in range(0 if answered is None else answered + 1, len(sent)):
            found[n] = found[n] if sent[n].role == "system" else None
    return found


def _is_tool_talk(message: Message) -> bool:
    return message.role == "tool" or (message.role == "assistant" and not message.content.strip())


def _pictures(own: Any) -> Iterator[Any]:
    content = own.get("content") if isinstance(own, Mapping) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") not in _UNSAID:
            yield {key: value for key, value in block.items() if key not in ("id", "index")}
