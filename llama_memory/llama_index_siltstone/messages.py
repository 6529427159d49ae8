"""LlamaIndex chat messages as siltstone messages and back, without loss.

What both frameworks know has one place: the text in ``content``, calls to tools in ``metadata["tool_calls"]``
(``id``, ``name``, ``args``) and the call that a result answers in ``metadata["tool_call_id"]``. Everything else that
differs from a plain message's defaults stays as it came in ``metadata["llama_index"]``.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from llama_index.core.base.llms.types import (
    ChatMessage,
    ContentBlock,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from siltstone.records import Message
from siltstone.text.guard import is_injected, without_injected
from siltstone.text.wellformed import well_formed

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
_BLOCKS: Final[TypeAdapter[list[ContentBlock]]] = TypeAdapter(list[ContentBlock])


def to_message(message: ChatMessage) -> Message:
    """Return the message as siltstone stores it, without text that siltstone had put into it."""
    role = _ROLES[message.role]
    blocks = _own_words(message.blocks)
    kwargs = well_formed(to_jsonable_python(dict(message.additional_kwargs), fallback=str))
    kwargs.pop("images", None)  # LlamaIndex has made blocks of them
    content = well_formed("\n".join(block.text for block in blocks if isinstance(block, TextBlock)))

    metadata: dict[str, Any] = {}
    if calls := [_call(block) for block in blocks if isinstance(block, ToolCallBlock)] or _legacy_calls(kwargs):
        metadata["tool_calls"] = calls
    if "tool_call_id" in kwargs:
        metadata["tool_call_id"] = kwargs.pop("tool_call_id")
    own: dict[str, Any] = {}
    if message.role.value != role:
        own["role"] = message.role.value
    if not content or [type(block) for block in blocks] != [TextBlock]:
        own["blocks"] = well_formed(_BLOCKS.dump_python(blocks, mode="json"))
    if kwargs:
        own["additional_kwargs"] = kwargs
    if own or not content.strip():
        metadata[OWN] = own
    return Message(role, content, metadata=metadata or None)


def to_chat_message(message: Message) -> ChatMessage:
    """Return a stored message, whichever framework wrote it, as a new ``ChatMessage``."""
    metadata = message.metadata or {}
    own = copy.deepcopy(dict(metadata.get(OWN) or {}))
    kwargs = own.get("additional_kwargs", {})
    if "tool_call_id" in metadata:
        kwargs["tool_call_id"] = metadata["tool_call_id"]
    if "blocks" in own and not metadata.get("cut"):
        blocks = _BLOCKS.validate_python(own["blocks"])
    else:
        blocks = [TextBlock(text=message.content)] if message.content else []
        if not kwargs.get("tool_calls"):
            blocks += [_call_block(call) for call in metadata.get("tool_calls") or ()]
    return ChatMessage(role=MessageRole(own.get("role", message.role)), blocks=blocks, additional_kwargs=kwargs)


def content_key(message: Message) -> str:
    """Return a hash of what a message says: equal for a stored message and its copy in a re-sent transcript.

    Left out is what a front end may drop or change on the way: thinking, arguments of the provider, the fence around
    recalled text, spaces at the ends.
    """
    metadata = message.metadata or {}
    blocks = (metadata.get(OWN) or {}).get("blocks", ())
    pictures = [b for b in blocks if b.get("block_type") not in ("text", "thinking", "tool_call", "cache")]
    calls = [(call.get("name"), call.get("args")) for call in metadata.get("tool_calls") or ()]
    said = neutralised(without_injected(words(message))).strip()
    parts = [message.role, said, calls, metadata.get("tool_call_id"), pictures]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def words(message: Message) -> str:
    """Return the text of a stored message, which may lie in its blocks alone."""
    if message.content:
        return message.content
    blocks = ((message.metadata or {}).get(OWN) or {}).get("blocks", ())
    return "\n".join(block["text"] for block in blocks if block.get("block_type") == "text")


def says_something(message: Message) -> bool:
    """Return whether a chat API would take the message: it has text, or calls, or other parts, or answers a call."""
    metadata = message.metadata or {}
    blocks = (metadata.get(OWN) or {}).get("blocks", ())
    parts = metadata.get("tool_calls") or [b for b in blocks if b.get("block_type") not in ("text", "cache")]
    return bool(words(message).strip() or parts or message.role == "tool")


def text_of(message: ChatMessage | str | None) -> str:
    """Return the user's own words in a message."""
    if message is None:
        return ""
    return message.strip() if isinstance(message, str) else to_message(message).content.strip()


def _own_words(blocks: Sequence[ContentBlock]) -> list[ContentBlock]:
    kept: list[ContentBlock] = []
    for block in blocks:
        if isinstance(block, TextBlock) and is_injected(block.text):
            if text := without_injected(block.text).strip():
                kept.append(TextBlock(text=text))
        else:
            kept.append(block)
    return kept


def _call(block: ToolCallBlock) -> dict[str, Any]:
    args = well_formed(to_jsonable_python(block.tool_kwargs, fallback=str))
    return {"id": block.tool_call_id, "name": block.tool_name, "args": args}


def _legacy_calls(kwargs: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls that older integrations keep in ``additional_kwargs``, in OpenAI's form or LlamaIndex's."""
    calls = []
    for call in kwargs.get("tool_calls") or ():
        function = call.get("function") or {}
        name, args = function.get("name", call.get("tool_name")), function.get("arguments", call.get("tool_kwargs"))
        calls.append({"id": call.get("id", call.get("tool_id")), "name": name, "args": args})
    return calls


def _call_block(call: dict[str, Any]) -> ToolCallBlock:
    return ToolCallBlock(tool_call_id=call.get("id"), tool_name=call["name"], tool_kwargs=call.get("args") or {})
