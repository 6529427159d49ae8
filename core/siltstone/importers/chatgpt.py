"""Reads ChatGPT's ``conversations.json``: each conversation is a tree, and its live thread a session.

The live thread leads from ``current_node`` up to the root; answers that were regenerated and questions that were worded
anew hang off it, and are passed over. Messages and conversations keep their ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..errors import InvalidInputError
from ..records import Message
from .json_peek import first
from .parts import JsonReader
from .reader import Found, Items, Part, PassedOver
from .source import Source
from .turns import turn
from .values import THOUGHTS, a_dict, a_list, an_id, said, time_of

_OFF: Final = "off the live thread: an answer that was given anew, or a question that was worded anew"
_UNSAID: Final = ("thoughts", "reasoning_recap")
_PLAIN: Final = ("text", "multimodal_text")
_KNOWN: Final = (*_UNSAID, "code", "execution_output", "system_error", "tether_browsing_display", "tether_quote")
_TOLD: Final = ("language", "url", "title", "domain", "name")
_IN_TEXT: Final = ("text", "result", "user_profile", "user_instructions", "model_set_context")


class ChatGPT(JsonReader):
    """The reader of ChatGPT's exports."""

    format = "chatgpt"

    def recognises(self, source: Source) -> bool:
        """Return whether the first conversation has a ``mapping``."""
        return isinstance(a_dict(first(source.sample)).get("mapping"), Mapping)

    def items(self, part: Part) -> Items:
        """Yield the messages of a conversation: the live thread, in order."""
        conversation = a_dict(part.value)
        mapping = conversation.get("mapping")
        if not isinstance(mapping, Mapping):
            raise InvalidInputError("it is no conversation of ChatGPT: it has no mapping")
        session_id = an_id(conversation.get("conversation_id"), conversation.get("id")) or _named(part)
        title = conversation.get("title")
        nodes = {str(id): node for id, node in mapping.items() if isinstance(node, Mapping)}
        thread = live_thread(nodes, conversation.get("current_node"))
        time = time_of(conversation.get("create_time"))
        live = set(thread)
        for id in [*thread, *(id for id in nodes if id not in live)]:
            message = nodes[id].get("message")
            where = f"{part.where}, message {id}"
            if not isinstance(message, Mapping):
                continue  # the root, and what has no message of its own
            if id not in live:
                yield Found(where, PassedOver(_OFF))
                continue
            time = time_of(message.get("create_time")) or time
            content = a_dict(message.get("content"))
            text, rest = _content(content)
            if content.get("content_type") in _UNSAID:
                yield Found(where, PassedOver(THOUGHTS))
                continue
            author = a_dict(message.get("author"))
            known = Message(
                "user",
                text,
                name=an_id(author.get("name")),
                created_at=time,
                id=an_id(message.get("id")) or id,
                metadata=said(title=title, chatgpt=rest),
                session_id=session_id,
            )
            yield turn(where, author.get("role"), known)


def live_thread(nodes: Mapping[str, Mapping[str, Any]], current: Any) -> list[str]:
    """Return the ids of the nodes from the root to ``current``; by time where the nodes are not linked.

    Where ``current`` is not there, it is the newest node that no other one follows.
    """
    parents = {id: str(node.get("parent")) for id, node in nodes.items() if str(node.get("parent")) in nodes}
    for id, node in nodes.items():
        for child in a_list(node.get("children")):
            if str(child) in nodes:
                parents.setdefault(str(child), id)
    if not parents:
        return sorted(nodes, key=lambda id: _seconds(nodes[id]))
    if str(current) not in nodes:
        followed = set(parents.values())
        current = max((id for id in nodes if id not in followed), key=lambda id: _seconds(nodes[id]), default="")
    thread: dict[str, None] = {}
    here: str | None = str(current)
    while here is not None and here in nodes and here not in thread:
        thread[here] = None
        here = parents.get(here)
    return list(thread)[::-1]


def _seconds(node: Mapping[str, Any]) -> float:
    time = time_of(a_dict(node.get("message")).get("create_time"))
    return time.timestamp() if time is not None else 0.0


def _content(content: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the words of a content, and what of it are none."""
    texts: list[str] = []
    others: list[Any] = []
    for part in a_list(content.get("parts")):
        words = part if isinstance(part, str) else a_dict(part).get("text")
        if isinstance(words, str):
            texts.append(words)
        elif part:
            others.append(part)
    texts += [words for key in _IN_TEXT if isinstance(words := content.get(key), str)]
    text = "\n".join(text for text in texts if text.strip())
    kind = content.get("content_type", "text")
    rest: dict[str, Any] = {"parts": others} if others else {}
    if kind in _PLAIN:
        return text, rest
    if text:
        return text, {"content_type": kind, **{key: content[key] for key in _TOLD if content.get(key)}, **rest}
    return "", {} if kind in _KNOWN else dict(content)  # of a kind that is not known: as it came


def _named(part: Part) -> str:
    return f"{part.about['session_id']}#{part.about['number']}"
