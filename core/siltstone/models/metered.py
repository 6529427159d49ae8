"""A language model whose requests are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..meter import Meter
from ..protocols import ChatModel, TokenCounter
from ..records import Message
from .wrapped import WrappedChatModel


class MeteredChatModel(WrappedChatModel):
    """Another language model, whose requests a meter counts as the stage ``ask``, with the tokens of both sides."""

    def __init__(self, inner: ChatModel, meter: Meter, counter: TokenCounter) -> None:
        super().__init__(inner)
        self._meter = meter
        self._counter = counter

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the answer's text."""
        with self._meter.call("ask") as call:
            call.items = 1
            call.tokens = sum(self._counter.count(message.content) for message in messages)
            answer = self._inner.complete(messages, schema=schema, max_tokens=max_tokens)
            call.tokens += self._counter.count(answer) if isinstance(answer, str) else 0
            return answer
