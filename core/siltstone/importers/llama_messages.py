"""A chat message as LlamaIndex writes it to JSON, turned into what ``llama_index_siltstone`` would have stored."""

from __future__ import annotations

from typing import Any, Final

from ..errors import InvalidInputError
from ..records import Message
from ..text.exchanges import calls_of
from ..text.guard import is_injected, without_injected

OWN: Final = "llama_index"
"""Metadata key of what only LlamaIndex knows of a message; the adapter has the same."""

_ROLES: Final = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}


def to_message(value: Any, session_id: str, id: str) -> Message:
    """Return the message under ``id``; ``InvalidInputError`` if it is none.

    The text is in ``content``, calls and the id of a call in ``metadata``, as in every message of siltstone, and what
    else LlamaIndex knows in ``metadata["llama_index"]``.
    """
    if not isinstance(value, dict) or str(value.get("role")) not in _ROLES:
        raise InvalidInputError("it is no message of LlamaIndex: an object with one of its roles is needed")
    role = _ROLES[value["role"]]
    blocks = _own_words(_blocks(value))
    kwargs = dict(value.get("additional_kwargs") or {})
    kwargs.pop("images", None)  # LlamaIndex has made blocks of them
    texts = [block["text"] for block in blocks if block.get("block_type") == "text"]
    content = "\n".join(texts)
    metadata: dict[str, Any] = {}
    made = [{**block, "id": block.get("tool_call_id")} for block in blocks if block.get("block_type") == "tool_call"]
    if calls := calls_of({"tool_calls": made}) or calls_of(kwargs):
        metadata["tool_calls"] = calls
    if "tool_call_id" in kwargs:
        metadata["tool_call_id"] = kwargs.pop("tool_call_id")
    own: dict[str, Any] = {}
    if value["role"] != role:
        own["role"] = value["role"]
    if not content or len(blocks) != 1 or len(texts) != 1:
        own["blocks"] = blocks
    if kwargs:
        own["additional_kwargs"] = kwargs
    if own or not content.strip():
        metadata[OWN] = own
    return Message(role, content, id=id, metadata=metadata or None, session_id=session_id)


def _blocks(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the message's blocks; LlamaIndex before 0.12 wrote one text, ``content``."""
    blocks = value.get("blocks")
    if blocks is None:
        content = value.get("content") or ""
        blocks = [{"block_type": "text", "text": content}] if content else []
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise InvalidInputError("its blocks are no list of objects")
    if not all(isinstance(block.get("text"), str) for block in blocks if block.get("block_type") == "text"):
        raise InvalidInputError("a text of it is no text")
    return blocks


def _own_words(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks without what siltstone had put into them."""
    kept = []
    for block in blocks:
        if block.get("block_type") != "text" or not is_injected(block["text"]):
            kept.append(block)
        elif text := without_injected(block["text"]).strip():
            kept.append({"block_type": "text", "text": text})
    return kept
