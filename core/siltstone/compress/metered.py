"""A summarizer whose calls are measured."""

from __future__ import annotations

from collections.abc import Sequence

from ..meter import Meter
from ..protocols import Summarizer, TokenCounter
from ..records import Digest, Message
from .wrapped import WrappedSummarizer


class MeteredSummarizer(WrappedSummarizer):
    """Another summarizer, whose calls a meter counts as the stage ``summarize``, with the tokens that it reads."""

    def __init__(self, inner: Summarizer, meter: Meter, counter: TokenCounter) -> None:
        super().__init__(inner)
        self._meter = meter
        self._counter = counter

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return the digest of the messages."""
        with self._meter.call("summarize") as call:
            call.items = len(messages)
            call.tokens = sum(self._counter.count(message.content) for message in messages)
            return self._inner.summarize(messages, max_tokens=max_tokens)
