"""What a model is sent: the newest whole exchanges within a token budget, and the recalled text among them. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from llama_index.core.base.llms.types import (
    AudioBlock,
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    VideoBlock,
)

from siltstone.protocols import TokenCounter
from siltstone.records import Message
from siltstone.text.storable import storable
from siltstone.tiers.working import OVERHEAD, fit

from .messages import says_something, to_chat_message
from .placeholders import neutralised

Insert: TypeAlias = Literal["user", "system"]

MEDIA_TOKENS: Final = 256
DOCUMENT_TOKENS: Final = 2048
"""What pictures, sounds and videos, and whole documents, are taken to cost: LlamaIndex's own estimates."""


@dataclass(frozen=True)
class Window:
    """The turns that a model is sent, what they cost in tokens, and the ids under which they are stored."""

    messages: tuple[ChatMessage, ...] = ()
    tokens: int = 0
    ids: tuple[str, ...] = ()


def fit_window(messages: Sequence[Message], room: int, counter: TokenCounter) -> Window:
    """Return the newest whole exchanges that cost at most ``room`` tokens, as new messages for a chat API."""
    speaking = [message for message in messages if says_something(message)]
    asked = room
    while asked > 0:
        chosen = fit(speaking, asked, counter)
        sent = tuple(sendable(message) for message in chosen)
        tokens = cost(sent, counter)
        if tokens <= room:
            return Window(sent, tokens, tuple(message.id for message in chosen if message.id))
        asked -= tokens - room  # pictures, thinking and providers' arguments, which the core does not count
    return Window()


def cost(messages: Sequence[ChatMessage], counter: TokenCounter) -> int:
    """Return what messages cost in a prompt, in tokens: text, thinking, calls to tools and providers' arguments."""
    return sum(_cost(message, counter) for message in messages)


def sendable(message: Message) -> ChatMessage:
    """Return the message for a model, with placeholders of templates spaced out."""
    chat = to_chat_message(message)
    for block in chat.blocks:
        if isinstance(block, TextBlock):
            block.text = neutralised(block.text)
    return chat


def with_recalled(window: Sequence[ChatMessage], text: str, place: Insert) -> list[ChatMessage]:
    """Return the window with recalled text in it: before the last user turn, or in the system message.

    In front of the user turn it reaches every engine; a ReActAgent without a system prompt drops system messages.
    A window without a user turn gets one that holds the recalled text alone.
    """
    if not text:
        return list(window)
    block, role = TextBlock(text=text), MessageRole.SYSTEM if place == "system" else MessageRole.USER
    if place == "system":
        at = 0 if window and window[0].role == role else None
    else:
        at = next((n for n in range(len(window) - 1, -1, -1) if window[n].role == role), None)
    if at is None:
        own = ChatMessage(role=role, blocks=[block])
        return [own, *window] if place == "system" else [*window, own]
    target = window[at]
    blocks = [*target.blocks, block] if place == "system" else [block, *target.blocks]
    return [*window[:at], target.model_copy(update={"blocks": blocks}), *window[at + 1 :]]


def _cost(message: ChatMessage, counter: TokenCounter) -> int:
    tokens = OVERHEAD + sum(_block_cost(block, counter) for block in message.blocks)
    if message.additional_kwargs:
        tokens += _cost_of_json(message.additional_kwargs, counter)
    return tokens


def _block_cost(block: ContentBlock, counter: TokenCounter) -> int:
    if isinstance(block, TextBlock):
        return counter.count(block.text)
    if isinstance(block, ThinkingBlock):
        return block.num_tokens or counter.count(block.content or "")
    if isinstance(block, ImageBlock | AudioBlock | VideoBlock):
        return MEDIA_TOKENS
    if isinstance(block, DocumentBlock):
        return DOCUMENT_TOKENS
    if isinstance(block, CitableBlock):
        return counter.count(block.title) + sum(_block_cost(part, counter) for part in block.content)
    if isinstance(block, CitationBlock):
        return counter.count(block.title) + _block_cost(block.cited_content, counter)
    if isinstance(block, CachePoint):
        return 0
    return _cost_of_json(block, counter)


def _cost_of_json(value: Any, counter: TokenCounter) -> int:
    return counter.count(json.dumps(storable(value), ensure_ascii=False))
