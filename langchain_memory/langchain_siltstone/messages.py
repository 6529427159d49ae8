"""LangChain messages as siltstone messages and back, without loss.

What both frameworks know has one place: the text in ``content``, calls to tools in ``metadata["tool_calls"]``
(``id``, ``name``, ``args``) and the call that a result answers in ``metadata["tool_call_id"]``. Everything else that
differs from a plain message's defaults stays as it came in ``metadata["langchain"]``.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

from langchain_core.messages import (
    BaseMessage,
    BaseMessageChunk,
    RemoveMessage,
    message_chunk_to_message,
    messages_from_dict,
)
from pydantic_core import to_jsonable_python

from siltstone.errors import InvalidInputError
from siltstone.records import ROLES, Message, is_reserved
from siltstone.text.wellformed import well_formed

OWN: Final = "langchain"
"""Metadata key of what only LangChain knows of a message."""

_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_TYPES: Final = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}


def to_message(message: BaseMessage) -> Message:
    """Return the message as siltstone stores it: chunks made whole, artifacts that are not JSON as text.

    A message without an id gets one of its own: it is new, whatever was said or forgotten before.
    Raises ``InvalidInputError`` for a ``RemoveMessage``, which says nothing.
    """
    if isinstance(message, RemoveMessage):
        raise InvalidInputError("a RemoveMessage cannot be stored: nothing was stored; use TieredMemory.forget")
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    role = _role(message)
    parts = well_formed(to_jsonable_python(message.model_dump(exclude_defaults=True), fallback=str))
    name = parts.pop("name", None)
    metadata = {key: parts.pop(key) for key in ("tool_calls", "tool_call_id") if key in parts}
    if isinstance(message.content, str):
        content = parts.pop("content", "")
    else:
        content = well_formed(str(message.text))
    if message.type != _TYPES[role]:
        parts["type"] = message.type
    if parts or not content.strip():
        metadata[OWN] = parts
    given = message.id if message.id and not is_reserved(message.id) else None
    return Message(role, content, name=name, id=given or secrets.token_hex(10), metadata=metadata or None)


def to_langchain(message: Message) -> BaseMessage:
    """Return a stored message, whichever framework wrote it, as LangChain's own."""
    metadata = message.metadata or {}
    parts: dict[str, Any] = dict(metadata.get(OWN) or {})
    kind = parts.pop("type", _TYPES[message.role])
    data = {"content": message.content, "name": message.name, **parts}
    if kind == "ai":
        data["tool_calls"] = [_call(call) for call in metadata.get("tool_calls") or ()]
    if kind == "tool":
        data["tool_call_id"] = metadata.get("tool_call_id") or ""
    return messages_from_dict([{"type": kind, "data": data}])[0]


def _role(message: BaseMessage) -> str:
    if message.type in _ROLES:
        return _ROLES[message.type]
    said_by = getattr(message, "role", "user")  # ChatMessage: any word
    return said_by if said_by in ROLES and said_by != "tool" else "user"


def _call(call: dict[str, Any]) -> dict[str, Any]:
    args = call.get("args")
    return {**call, "args": args if isinstance(args, dict) else {"input": args}, "type": "tool_call"}
