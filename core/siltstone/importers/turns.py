"""Conversations as lists of turns, as ShareGPT and OpenAI's chat format have them.

They have no times, and messages no ids: these are known by their place (``session#3``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidInputError
from ..records import Message
from .json_peek import first
from .parts import JsonReader
from .reader import Found, Items, Part, PassedOver, Said, Unreadable
from .source import Source
from .values import EMPTY, a_dict, a_list, an_id, joined, role_of, said, time_of, tool_calls


class ShareGPT(JsonReader):
    """The reader of ``{"id", "conversations": [{"from", "value"}]}``."""

    format = "sharegpt"

    def recognises(self, source: Source) -> bool:
        """Return whether the first conversation's first turn has a ``from``."""
        opening = first(a_dict(first(source.sample)).get("conversations"))
        return "from" in a_dict(opening)

    def items(self, part: Part) -> Items:
        """Yield the messages of a conversation."""
        conversation = a_dict(part.value)
        turns = conversation.get("conversations")
        if not isinstance(turns, list):
            raise InvalidInputError("it is no conversation of ShareGPT: it has no conversations")
        session_id = _session(conversation, part)
        time = time_of(conversation.get("create_time") or conversation.get("created_at"))
        for number, value in enumerate(turns, 1):
            one = a_dict(value)
            yield turn(
                f"{part.where}, message {number}",
                one.get("from"),
                Message(
                    "user",
                    joined(one.get("value")),
                    created_at=time,
                    id=f"{session_id}#{number}",
                    metadata=said(title=conversation.get("title")),
                    session_id=session_id,
                ),
            )


class OpenAIMessages(JsonReader):
    """The reader of ``{"messages": [{"role", "content"}]}``, one or a list or a line each; or of one bare list."""

    format = "openai"

    def recognises(self, source: Source) -> bool:
        """Return whether the first message has a ``role`` and a ``content``."""
        value = a_dict(first(source.sample))
        message = a_dict(first(value.get("messages"))) if "messages" in value else value
        return isinstance(message.get("role"), str) and ("content" in message or len(message) == 1)

    def items(self, part: Part) -> Items:
        """Yield the messages of a conversation, or the one message of a bare list."""
        value = a_dict(part.value)
        if isinstance(messages := value.get("messages"), list):
            session_id = _session(value, part)
            for number, message in enumerate(messages, 1):
                yield _openai(f"{part.where}, message {number}", message, session_id, number)
        elif "role" in value:
            yield _openai(part.where, value, part.about["session_id"], part.about["number"])
        else:
            raise InvalidInputError("it is no conversation in OpenAI's format: it has no messages")


def _openai(where: str, value: Any, session_id: str, number: int) -> Found:
    message = a_dict(value)
    content = message.get("content")
    metadata = said(
        tool_calls=tool_calls(message.get("tool_calls")),
        function_call=message.get("function_call"),
        tool_call_id=message.get("tool_call_id"),
        openai=said(content=[part for part in a_list(content) if a_dict(part).get("type") not in _TEXTS]),
    )
    return turn(
        where,
        message.get("role"),
        Message(
            "user",
            joined(content, types=_TEXTS),
            name=an_id(message.get("name")),
            created_at=time_of(message.get("created_at") or message.get("timestamp")),
            id=an_id(message.get("id")) or f"{session_id}#{number}",
            metadata=metadata,
            session_id=session_id,
        ),
    )


_TEXTS = ("text", "input_text", "output_text", "refusal")


def turn(where: str, role: Any, message: Message) -> Found:
    """Return what a turn is: a message of the role that a program's own word means, or why it is none.

    ``message`` has any role, and as metadata nothing but its title where it holds no more than its words.
    """
    if not message.content.strip() and not (message.metadata or {}).keys() - {"title"}:
        return Found(where, PassedOver(EMPTY))
    try:
        return Found(where, Said(Message(**{**vars(message), "role": role_of(role)})))
    except InvalidInputError as exc:
        return Found(where, Unreadable(str(exc)))


def _session(conversation: Mapping[str, Any], part: Part) -> str:
    named = an_id(conversation.get("id"), conversation.get("conversation_id"), conversation.get("custom_id"))
    return named or f"{part.about['session_id']}#{part.about['number']}"
