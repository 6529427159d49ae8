"""Reads Claude's ``conversations.json``: a list of conversations, bare or in ``{"conversations": …}``.

A conversation is a session, and messages keep their ids. Words are those of the text blocks; calls to tools and
attached files stay in ``metadata["claude"]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidInputError
from ..records import Message
from .json_peek import first
from .json_stream import Path
from .parts import JsonReader
from .reader import Items, Part
from .source import Source
from .turns import turn
from .values import a_dict, a_list, an_id, joined, said, time_of


class Claude(JsonReader):
    """The reader of Claude's exports."""

    format = "claude"

    def recognises(self, source: Source) -> bool:
        """Return whether the first conversation has ``chat_messages``."""
        sample = source.sample
        inside = a_list(a_dict(sample).get("conversations")) or sample
        return "chat_messages" in a_dict(first(inside))

    def opens(self, path: Path, bracket: bytes, about: Mapping[str, Any]) -> bool:
        """Open the list of conversations."""
        return (not path and (bracket == b"[" or about["wrapped"])) or path == ("conversations",)

    def look(self, path: Path, value: Any, about: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Pass over what stands beside the list."""
        return about if about["wrapped"] and path[:1] != ("conversations",) else None

    def begin(self, source: Source) -> Mapping[str, Any]:
        """Return what the parts of a source must know of it."""
        return {"session_id": source.stem, "wrapped": "conversations" in a_dict(source.sample)}

    def items(self, part: Part) -> Items:
        """Yield the messages of a conversation."""
        conversation = a_dict(part.value)
        messages = conversation.get("chat_messages")
        if not isinstance(messages, list):
            raise InvalidInputError("it is no conversation of Claude: it has no chat_messages")
        session_id = an_id(conversation.get("uuid"), conversation.get("id"))
        session_id = session_id or f"{part.about['session_id']}#{part.about['number']}"
        time = time_of(conversation.get("created_at"))
        for number, value in enumerate(messages, 1):
            where = f"{part.where}, message {number}"
            message = a_dict(value)
            content = message.get("content")
            text = joined(content) or joined(message.get("text"))
            rest = said(
                content=[block for block in a_list(content) if a_dict(block).get("type") not in _WORDS],
                attachments=message.get("attachments"),
                files=message.get("files") or message.get("files_v2"),
            )
            time = time_of(message.get("created_at")) or time
            known = Message(
                "user",
                text,
                created_at=time,
                id=an_id(message.get("uuid"), message.get("id")) or f"{session_id}#{number}",
                metadata=said(title=conversation.get("name"), claude=rest),
                session_id=session_id,
            )
            yield turn(where, message.get("sender"), known)


_WORDS = ("text", "thinking", "redacted_thinking", "token_budget")
"""Types of blocks that are words, or that nobody was told."""
