"""A summarizer whose calls are measured."""

from __future__ import annotations

from collections.abc import Sequence

from ..meter import Meter
from ..protocols import ModelFreeSummarizer, Summarizer, TokenCounter
from ..records import Digest, Message


class MeteredSummarizer:
    """Another summarizer, whose calls a meter counts as the stage ``summarize``, with the tokens that it reads."""

    def __init__(self, inner: Summarizer, meter: Meter, counter: TokenCounter) -> None:
        self._inner = inner
        self._meter = meter
        self._counter = counter

    @property
    def name(self) -> str:
        """The name of the summarizer that is measured."""
        return self._inner.name

    @property
    def model_free(self) -> bool:
        """Whether it asks no model."""
        return isinstance(self._inner, ModelFreeSummarizer) and self._inner.model_free

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return the digest of the messages."""
        with self._meter.call("summarize") as call:
            call.items = len(messages)
            call.tokens = sum(self._counter.count(message.content) for message in messages)
            return self._inner.summarize(messages, max_tokens=max_tokens)

    def __repr__(self) -> str:
        return f"MeteredSummarizer({self._inner!r})"
