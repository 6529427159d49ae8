"""A summarizer that begins nothing once the budget of the day is used up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..models.limits import LimitedChatModel, Limiter
from ..protocols import Summarizer
from ..records import Digest, Message
from .llm import LLMSummarizer
from .wrapped import WrappedSummarizer

OVER_BUDGET: Final = "over_budget"
"""Flag of what the extractive summarizer made because the budget of the day was used up."""


class LimitedSummarizer(WrappedSummarizer):
    """A language model's summarizer within limits. A span that was begun is finished, also beyond the budget.

    Once that is used up, ``instead`` makes the digests; without one ``summarize`` raises ``PostponedError``.
    """

    def __init__(self, inner: LLMSummarizer, limiter: Limiter, *, instead: Summarizer | None) -> None:
        super().__init__(inner.asking(LimitedChatModel(inner.chat_model, limiter, budget=False)))
        self._limiter = limiter
        self._instead = instead

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return the digest of the messages."""
        if self._instead is None:
            self._limiter.check()
        elif self._limiter.spent() is not None:
            digest = self._instead.summarize(messages, max_tokens=max_tokens)
            return replace(digest, flags=(*digest.flags, OVER_BUDGET))
        return self._inner.summarize(messages, max_tokens=max_tokens)
