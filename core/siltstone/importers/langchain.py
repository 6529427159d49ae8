"""Reads LangChain's messages: a list of what ``messages_to_dict`` returns, as in ``FileChatMessageHistory``, or what
``dumpd`` makes of messages or of a prompt.

The file is one session, named like the file. Messages become what ``langchain_siltstone`` would have stored. Their
ids are LangChain's own, or ``session#3`` by their place where they have none; times are not in the file, so they were
said when it was written last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..errors import InvalidInputError
from ..records import Message, is_reserved
from .json_peek import first
from .parts import JsonReader
from .reader import Found, Items, Part, Said, Unreadable
from .source import Source
from .values import a_dict, a_list

OWN: Final = "langchain"
"""Metadata key of what only LangChain knows of a message; the adapter has the same."""

_ROLES: Final = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
}
_DEFAULTS: Final[dict[str, Any]] = {
    "additional_kwargs": {},
    "response_metadata": {},
    "name": None,
    "id": None,
    "example": False,
    "invalid_tool_calls": [],
    "usage_metadata": None,
    "artifact": None,
    "status": "success",
    "chunk_position": None,
}
"""Fields of LangChain's messages that say nothing while they have these values."""


class LangChainHistory(JsonReader):
    """The reader of one history file."""

    format = "langchain"
    part_is = "message"

    def recognises(self, source: Source) -> bool:
        """Return whether it is a list of ``{"type", "data"}``, or what ``dumpd`` writes."""
        value = a_dict(first(source.sample))
        return source.sample == [] or "lc" in value or ("type" in value and isinstance(value.get("data"), Mapping))

    def items(self, part: Part) -> Items:
        """Yield the message, or the messages of a prompt."""
        value, session_id = part.value, part.about["session_id"]
        number = part.about["number"]
        dumped = a_dict(a_dict(value).get("kwargs")).get("messages")
        if not isinstance(dumped, list):
            yield Found(part.where, Said(to_message(_undumped(value), session_id, f"{session_id}#{number}")))
            return
        for at, message in enumerate(dumped, number):
            where = f"{part.where}, message {at}"
            try:
                yield Found(where, Said(to_message(_undumped(message), session_id, f"{session_id}#{at}")))
            except InvalidInputError as exc:
                yield Found(where, Unreadable(str(exc)))


def _undumped(value: Any) -> Any:
    """Return ``{"type", "data"}`` of a message as ``dumpd`` writes it; anything else as it is."""
    kwargs = a_dict(value).get("kwargs")
    if a_dict(value).get("lc") is None or not isinstance(kwargs, Mapping):
        return value
    named = str((a_list(value.get("id")) or [""])[-1])
    kind = kwargs.get("type") or named.removesuffix("Chunk").removesuffix("Message").lower()
    return {"type": kind, "data": kwargs}


def to_message(value: Any, session_id: str, id: str) -> Message:
    """Return a message from its ``{"type", "data"}``, under its own id or ``id``; ``InvalidInputError`` if it is none.

    The text is in ``content``, calls and the id of a call in ``metadata``, as in every message of siltstone, and what
    else LangChain knows in ``metadata["langchain"]``.
    """
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, dict) or not isinstance(kind := value.get("type"), str):
        raise InvalidInputError('it is no message of LangChain: {"type", "data"} is needed')
    parts = {key: item for key, item in data.items() if key not in _DEFAULTS or item != _DEFAULTS[key]}
    role = _role(kind, data)
    for key in ("type", "tool_call_chunks"):
        parts.pop(key, None)
    name, own_id, content = parts.pop("name", None), parts.get("id"), parts.get("content")
    metadata = {key: parts.pop(key) for key in ("tool_calls", "tool_call_id") if parts.get(key)}
    parts.pop("tool_calls", None)
    if isinstance(content, str):
        del parts["content"]
        text = content
    elif isinstance(content, list):
        text = "".join(_text(block) for block in content)
    else:
        raise InvalidInputError("its content is neither text nor a list of parts")
    if kind in ("function", "chat"):
        parts["type"] = kind
    if parts or not text.strip():
        metadata[OWN] = parts
    usable = isinstance(own_id, str) and own_id.strip() and not is_reserved(own_id)
    return Message(role, text, name=name, id=own_id if usable else id, metadata=metadata or None, session_id=session_id)


def _role(kind: str, data: dict[str, Any]) -> str:
    if kind in ("chat", "ChatMessageChunk"):
        said_by = data.get("role")
        return said_by if said_by in ("system", "user", "assistant") else "user"
    if kind not in _ROLES:
        raise InvalidInputError(f"it is of the type {kind!r}, which says nothing that could be stored")
    return _ROLES[kind]


def _text(block: Any) -> str:
    if isinstance(block, str):
        return block
    is_text = isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    return block["text"] if is_text else ""
