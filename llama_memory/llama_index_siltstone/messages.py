"""LlamaIndex chat messages as siltstone messages and back, without loss.

What both frameworks know has one place: the text in ``content``, calls to tools in ``metadata["tool_calls"]``
(``id``, ``name``, ``args``) and the call that a result answers in ``metadata["tool_call_id"]``. Everything else that
differs from a plain message's defaults stays as it came in ``metadata["llama_index"]``, but for what siltstone
injected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from io import IOBase
from typing import Any, Final

from llama_index.core.base.llms.types import (
    ChatMessage,
    ContentBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from pydantic import TypeAdapter

from siltstone.records import Message
from siltstone.text.exchanges import calls_of
from siltstone.text.guard import own_words, without_injected
from siltstone.text.storable import restored, storable

from .placeholders import neutralised

OWN: Final = "llama_index"
"""Metadata key of what only LlamaIndex knows of a message."""

_ROLES: Final = {
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}
_PICTURES: Final = "images"
"""Argument of which LlamaIndex has made blocks."""

_FREE: Final[Mapping[type, tuple[str, ...]]] = {
    ThinkingBlock: ("additional_information",),
    ToolCallBlock: ("tool_kwargs",),
}
"""Fields of blocks in which there may be anything, also what pydantic cannot write."""

_BLOCKS: Final[TypeAdapter[list[ContentBlock]]] = TypeAdapter(list[ContentBlock])


def to_message(message: ChatMessage) -> Message:
    """Return the message as siltstone stores it: what is not JSON made so, without text that siltstone put into it.

    There is no message that it refuses.
    """
    role = _ROLES[message.role]
    blocks = [part for block in message.blocks if (part := _own_part(block)) is not None]
    kwargs = own_words(storable({key: value for key, value in message.additional_kwargs.items() if key != _PICTURES}))
    content = "\n".join(part["text"] for part in blocks if part["block_type"] == "text")

    metadata: dict[str, Any] = {}
    made = [{**part, "id": part["tool_call_id"]} for part in blocks if part["block_type"] == "tool_call"]
    if calls := calls_of({"tool_calls": made}) or calls_of(kwargs):
        metadata["tool_calls"] = calls
    if "tool_call_id" in kwargs:
        metadata["tool_call_id"] = kwargs.pop("tool_call_id")
    own: dict[str, Any] = {}
    if message.role.value != role:
        own["role"] = message.role.value
    if not content or [part["block_type"] for part in blocks] != ["text"]:
        own["blocks"] = blocks
    if kwargs:
        own["additional_kwargs"] = kwargs
    if own or not content.strip():
        metadata[OWN] = own
    return Message(role, content, metadata=metadata or None)


def to_chat_message(message: Message) -> ChatMessage:
    """Return a stored message, whichever application wrote it, as a new ``ChatMessage``.

    Where its metadata are not what LlamaIndex takes, its words, its calls to tools and the call it answers are left.
    """
    metadata = restored(message.metadata or {})
    try:
        return _made(message, metadata, _own(metadata))
    except (TypeError, ValueError, AttributeError):
        return _made(message, metadata, {})


def content_key(message: Message) -> str:
    """Return a hash of what a message says: equal for a stored message and its copy in a re-sent transcript.

    Left out is what a front end may drop or change on the way: thinking, arguments of the provider, the fence around
    recalled text, spaces at the ends.
    """
    metadata = message.metadata or {}
    pictures = [b for b in _parts(message) if b.get("block_type") not in ("text", "thinking", "tool_call", "cache")]
    calls = [(call["name"], call["args"]) for call in calls_of(metadata)]
    said = neutralised(without_injected(words(message))).strip()
    parts = [message.role, said, calls, metadata.get("tool_call_id"), pictures]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def words(message: Message) -> str:
    """Return the text of a stored message, which may lie in its blocks alone."""
    if message.content:
        return message.content
    return "\n".join(str(part.get("text") or "") for part in _parts(message) if part.get("block_type") == "text")


def says_something(message: Message) -> bool:
    """Return whether a chat API would take the message: it has text, or calls, or other parts, or answers a call."""
    parts = any(part.get("block_type") not in ("text", "cache") for part in _parts(message))
    return bool(words(message).strip() or calls_of(message.metadata or {}) or parts or message.role == "tool")


def text_of(message: ChatMessage | str | None) -> str:
    """Return the user's own words in a message."""
    if message is None:
        return ""
    return message.strip() if isinstance(message, str) else to_message(message).content.strip()


def _made(message: Message, metadata: Mapping[str, Any], own: Mapping[str, Any]) -> ChatMessage:
    kwargs = dict(own.get("additional_kwargs") or {})
    if "tool_call_id" in metadata:
        kwargs["tool_call_id"] = metadata["tool_call_id"]
    if "blocks" in own and not metadata.get("cut"):
        blocks = _BLOCKS.validate_python(own["blocks"])
    else:
        blocks = [TextBlock(text=message.content)] if message.content else []
        if not kwargs.get("tool_calls"):
            blocks += [
                ToolCallBlock(tool_call_id=call["id"], tool_name=call["name"], tool_kwargs=call["args"])
                for call in calls_of(metadata)
            ]
    return ChatMessage(role=MessageRole(own.get("role", message.role)), blocks=blocks, additional_kwargs=kwargs)


def _own(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what only LlamaIndex knows of a message; an application may have put anything there."""
    own = metadata.get(OWN)
    return own if isinstance(own, Mapping) else {}


def _parts(message: Message) -> list[Mapping[str, Any]]:
    """Return the stored blocks of a message that is more than its text."""
    blocks = _own(message.metadata or {}).get("blocks")
    return [part for part in blocks if isinstance(part, Mapping)] if isinstance(blocks, list | tuple) else []


def _own_part(block: ContentBlock) -> dict[str, Any] | None:
    """Return a block as JSON without what siltstone injected; ``None`` for a text that was nothing else."""
    free = {name: storable(getattr(block, name)) for name in _FREE.get(type(block), ())}
    told = {key: _as_text(value) for key, value in _fields(block).items()}
    part: dict[str, Any] = storable(told | free)
    own: dict[str, Any] = own_words(part)
    return None if own != part and own["block_type"] == "text" and not own["text"].strip() else own


def _fields(block: ContentBlock) -> dict[str, Any]:
    """Return the fields of a block whose form LlamaIndex knows, as plain values."""
    try:
        return block.model_dump(exclude=set(_FREE.get(type(block), ())))
    except ValueError:  # a picture or file in a stream that is closed by now: the rest is kept
        return {name: None if isinstance(value, IOBase) else value for name, value in block}


def _as_text(value: Any) -> Any:
    """Return the bytes of a picture or a file, which LlamaIndex keeps in base64, as the text that they are."""
    return value.decode() if isinstance(value, bytes) and value.isascii() else value
