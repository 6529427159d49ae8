"""What makes long-term memory of conversation: a summarizer, and what consolidates with it, put together as chosen.

Its rules of two languages take half a second to load, which a search has no need of: an engine loads this module when
it first needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compress.extractive import ExtractiveSummarizer
from .compress.guarded import guarded_summarizer
from .compress.limited import LimitedSummarizer
from .compress.llm import LLMSummarizer
from .compress.metered import MeteredSummarizer
from .errors import ConfigurationError
from .lifecycle.consolidate import Consolidator
from .lifecycle.worker import Worker
from .models.held import Holder
from .models.resolve import resolve_chat_model
from .protocols import ChatModel, Clock, Embedder, SharesWork, Store, Summarizer, TokenCounter
from .settings import Settings
from .tiers.long_term import LongTerm


def resolve_summarizer(
    summarizer: Any, llm: Any, extractive: Summarizer, *, timeout: float | None = None
) -> tuple[Summarizer, ChatModel | None]:
    """Return the summarizer that is meant, and the language model for everything else.

    Each stands in for the other where it is ``None``; without any, the summarizer is the extractive one, which needs no
    model. A language model as summarizer falls back on that, and says so. Raises ``ConfigurationError`` for anything
    unknown.
    """
    model = None if llm is None else resolve_chat_model(llm, timeout=timeout)
    if not isinstance(summarizer, Summarizer):
        digesting = model if summarizer is None else resolve_chat_model(summarizer, timeout=timeout)
        summarizer = extractive if digesting is None else LLMSummarizer(digesting, fallback=extractive)
    if model is None and isinstance(summarizer, LLMSummarizer):
        model = summarizer.chat_model
    return summarizer, model


def held_summarizer(summarizer: Summarizer, extractive: Summarizer, holder: Holder, settings: Settings) -> Summarizer:
    """Return a summarizer whose model, if it has one, is held to meter, limits and guard.

    The extractive one stands in for it where ``settings`` say so.
    """
    if isinstance(summarizer, LLMSummarizer):
        summarizer = asking = summarizer.asking(holder.measured(summarizer.chat_model))
        if holder.limiter.limits_anything:
            instead = extractive if settings.over_budget == "extractive" else None
            summarizer = LimitedSummarizer(asking, holder.limiter, instead=instead)
    return guarded_summarizer(summarizer, holder.guard, extractive)


class Condenser:
    """The summarizer of a memory, what consolidates with it, and the thread that does so in the background."""

    def __init__(
        self,
        summarizer: Any,
        llm: Any,
        *,
        store: Store,
        embedder: Embedder,
        long_term: LongTerm,
        counter: TokenCounter,
        clock: Clock,
        settings: Settings,
        holder: Holder,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """``stopping`` tells whether the memory is being closed.

        Raises ``ConfigurationError`` for models that are none, and where a setting asks for one that is missing.
        """
        extractive = ExtractiveSummarizer(embedder)
        chosen, model = resolve_summarizer(summarizer, llm, extractive, timeout=settings.model_timeout)
        if (settings.reflect or settings.judge) and model is None:
            raise ConfigurationError(
                f"Settings.{'reflect' if settings.reflect else 'judge'} asks for a language model, and there is none: "
                "nothing was changed; pass llm=, e.g. llm='ollama:qwen3:8b'"
            )
        self.summarizer = held_summarizer(chosen, extractive, holder, settings)
        self.consolidator = Consolidator(
            store,
            long_term,
            MeteredSummarizer(self.summarizer, holder.meter, holder.counter),
            counter,
            clock,
            settings,
            model=None if model is None else holder.chat_model(model),
            limiter=holder.limiter,
            meter=holder.meter,
            stopping=stopping,
            seen=str if holder.guard.keeps else holder.guard.rules.redact,
        )
        self.worker = Worker(self.consolidator, settings, store if isinstance(store, SharesWork) else None)
