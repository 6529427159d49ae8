"""LangChain messages as siltstone messages and back, without loss.

What both frameworks know has one place: the text in ``content``, calls to tools in ``metadata["tool_calls"]``
(``id``, ``name``, ``args``) and the call that a result answers in ``metadata["tool_call_id"]``. Everything else that
differs from a plain message's defaults stays as it came in ``metadata["langchain"]``, but for what siltstone injected.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from langchain_core.messages import (
    BaseMessage,
    BaseMessageChunk,
    RemoveMessage,
    message_chunk_to_message,
    messages_from_dict,
)

from siltstone.errors import InvalidInputError
from siltstone.records import ROLES, Message, is_reserved
from siltstone.text.exchanges import calls_of
from siltstone.text.guard import own_words
from siltstone.text.storable import restored, storable

OWN: Final = "langchain"
"""Metadata key of what only LangChain knows of a message."""
KEY: Final = "content_key"
"""Key in there of what an agent's message said when it was stored; no part of LangChain's message."""

_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_TYPES: Final = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}
_LONGEST: Final = 1_000
"""Characters of a name or an id that the store takes; a longer or blank one stays in the metadata alone."""


def to_message(message: BaseMessage) -> Message:
    """Return the message as siltstone stores it: chunks made whole, whatever else is not JSON made so.

    A message without an id gets one of its own: it is new, whatever was said or forgotten before.
    Raises ``InvalidInputError`` for a ``RemoveMessage``, which says nothing; there is nothing else that it refuses.
    """
    if isinstance(message, RemoveMessage):
        raise InvalidInputError("a RemoveMessage cannot be stored: nothing was stored; use TieredMemory.forget")
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    role = _role(message)
    parts = {key: own_words(storable(value)) for key, value in _told(message).items() if key != "content"}
    name = parts.pop("name") if _fits(parts.get("name")) else None
    metadata: dict[str, Any] = {key: parts.pop(key) for key in ("tool_calls", "tool_call_id") if key in parts}
    if isinstance(message.content, str):
        content = str(storable(message.content))
    else:
        parts["content"] = [block for given in message.content if (block := _own_block(storable(given))) is not None]
        content = "".join(map(_words, parts["content"]))
    if message.type != _TYPES[role]:
        parts["type"] = message.type
    if parts or not content.strip():
        metadata[OWN] = parts
    return Message(role, content, name=name, id=_id(message) or secrets.token_hex(10), metadata=metadata or None)


def to_langchain(message: Message) -> BaseMessage:
    """Return a stored message, whichever application wrote it, as LangChain's own.

    Where its metadata are not what LangChain takes, its words, its calls to tools and the call it answers are left.
    """
    metadata = restored(message.metadata or {})
    own = metadata.get(OWN)
    parts: dict[str, Any] = {k: v for k, v in own.items() if k != KEY} if isinstance(own, Mapping) else {}
    kind = parts.pop("type", _TYPES[message.role])
    try:
        return _made(kind, message, metadata, parts)
    except (TypeError, ValueError, AttributeError):
        return _made(_TYPES[message.role], message, metadata, {})


def given_id(message: Message) -> str | None:
    """Return the id that a stored message has in LangChain, else the one that it is stored by."""
    own = (message.metadata or {}).get(OWN)
    id = own.get("id") if isinstance(own, Mapping) else None
    return id if isinstance(id, str) else message.id


def _made(kind: str, message: Message, metadata: Mapping[str, Any], parts: Mapping[str, Any]) -> BaseMessage:
    data = {"content": message.content, "name": message.name, **parts}
    if kind == "ai":
        data["tool_calls"] = [{**call, "type": "tool_call"} for call in calls_of(metadata)]
    if kind == "tool":
        data["tool_call_id"] = str(metadata.get("tool_call_id") or "")
    return messages_from_dict([{"type": kind, "data": data}])[0]


def _role(message: BaseMessage) -> str:
    if message.type in _ROLES:
        return _ROLES[message.type]
    said_by = getattr(message, "role", "user")  # ChatMessage: any word
    return said_by if said_by in ROLES and said_by != "tool" else "user"


def _id(message: BaseMessage) -> str | None:
    """Return the id under which the message can be stored, if it has one."""
    id = storable(message.id)
    return str(id) if _fits(id) and not is_reserved(id) else None


def _fits(name: Any) -> bool:
    return isinstance(name, str) and bool(name.strip()) and len(name) <= _LONGEST


def _told(message: BaseMessage) -> dict[str, Any]:
    """Return what of a message's fields is not the default: compared by type first, as arrays have no one equality."""
    told = dict(message.model_extra or {})
    for name, usual in _defaults(type(message)).items():
        value = getattr(message, name)
        if value is not usual and (type(value) is not type(usual) or value != usual):
            told[name] = value
    return told


@cache
def _defaults(kind: type[BaseMessage]) -> dict[str, Any]:
    """Return the defaults of a class of messages, to compare with only: pydantic takes a millisecond to make them."""
    return {name: field.get_default(call_default_factory=True) for name, field in kind.model_fields.items()}


def _own_block(block: Any) -> Any:
    """Return a block of content without what siltstone injected; ``None`` for a text that was nothing else."""
    own = own_words(block)
    return None if own != block and isinstance(block, str | dict) and _is_text(own) and not _words(own) else own


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or (isinstance(block, dict) and block.get("type") == "text")


def _words(block: Any) -> str:
    if isinstance(block, dict):
        block = block.get("text") if block.get("type") == "text" else ""
    return block if isinstance(block, str) else ""
