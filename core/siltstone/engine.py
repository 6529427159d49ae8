"""What all views of one opened memory share: the store, the models bound to it, the threads that embed."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, get_args

from .compress.extractive import ExtractiveSummarizer
from .compress.guarded import guarded_summarizer
from .compress.limited import LimitedSummarizer
from .compress.llm import LLMSummarizer
from .errors import ConfigurationError, EmbedderMismatchError, InvalidInputError
from .lifecycle.consolidate import Consolidator
from .lifecycle.worker import Worker
from .models.fingerprint import fingerprint_of
from .models.guarded import Guard
from .models.languages import LanguageWatch
from .models.limits import LimitedChatModel, Limiter, Page
from .models.resolve import resolve_chat_model, resolve_counter, resolve_reranker
from .models.usage import Limits
from .opening import StoreHandle
from .protocols import ChatModel, Clock, Embedder, Fingerprint, Floats, KeepsUsage, ShortTermStore, Store, Summarizer
from .settings import OverBudget, Settings
from .tiers.long_term import LongTerm
from .tiers.vectors import VectorQueue


def check_name(store: Store, embedder: Embedder) -> None:
    """Raise ``EmbedderMismatchError`` when the store was written with a model of another name.

    Costs nothing; the vectors themselves are compared by ``check_space`` once the model is needed.
    """
    stored = store.fingerprint()
    if stored is not None and stored.name != embedder.name:
        raise _mismatch(store, embedder)


def check_space(store: Store, embedder: Embedder, *, write: bool) -> None:
    """Raise ``EmbedderMismatchError`` unless the embedder's space is the store's; a new store takes it on."""
    stored = store.fingerprint()
    present = fingerprint_of(embedder)
    if stored is None:
        if write:
            store.set_fingerprint(present)
    elif not stored.same_space(present):
        raise _mismatch(store, embedder)


class BoundEmbedder:
    """An embedder bound to a store: before its first vector is used, its space is compared with the store's.

    ``guard`` keeps from it what it must not see.
    """

    def __init__(self, embedder: Embedder, store: Store, *, write: bool, guard: Guard) -> None:
        self._embedder = embedder  # makes the probe, which is no text of the user's
        self._guarded = guard.embedder(embedder)
        self._guard = guard
        self._store = store
        self._write = write
        self._checked: Fingerprint | None = None

    @property
    def name(self) -> str:
        """Identity of the model."""
        return self._embedder.name

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return self._embedder.dim

    @property
    def space(self) -> Fingerprint | None:
        """What its vectors are made in, once it has made any."""
        return self._checked

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        self._check()
        return self._guarded.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        self._check()
        return self._guarded.embed_query(text)

    def without_writing(self) -> BoundEmbedder:
        """Return the same embedder, which does not let a new store take its space on."""
        return BoundEmbedder(self._embedder, self._store, write=False, guard=self._guard)

    def _check(self) -> None:
        """Compare again whenever the store's space is another than it was, by whatever process."""
        if self._checked is None or self._store.fingerprint() != self._checked:
            check_space(self._store, self._embedder, write=self._write)
            self._checked = self._store.fingerprint()


def _mismatch(store: Store, embedder: Embedder) -> EmbedderMismatchError:
    stored = store.fingerprint()
    assert stored is not None
    return EmbedderMismatchError(
        f"the store at {store.location} was written with the embedder {stored.name!r} ({stored.dim}-d), and "
        f"{embedder.name!r} makes other vectors. Nothing was changed and every text is safe. Open it with "
        f"{stored.name!r}, or move it: siltstone reembed --store {store.location} --embedder NAME"
    )


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


class Engine:
    """What all views of one opened memory share."""

    def __init__(
        self,
        handle: StoreHandle,
        embedder: BoundEmbedder,
        *,
        summarizer: Any,
        llm: Any,
        reranker: Any,
        token_counter: Any,
        short_term: ShortTermStore | None,
        clock: Clock | None,
        settings: Settings,
        read_only: bool,
        guard: Guard,
    ) -> None:
        self.handle = handle
        self.store = handle.store
        self.embedder = embedder
        self.guard = guard
        self.read_only = read_only
        self.counter = resolve_counter(token_counter)
        self.clock: Clock = clock or SystemClock()
        self._closing = threading.Event()
        self.limiter = self._limiter(settings)
        extractive = ExtractiveSummarizer(embedder)
        summarizer, model = resolve_summarizer(summarizer, llm, extractive, timeout=settings.model_timeout)
        if isinstance(summarizer, LLMSummarizer) and self.limiter.limits_anything:
            instead = extractive if settings.over_budget == "extractive" else None
            summarizer = LimitedSummarizer(summarizer, self.limiter, instead=instead)
        self.summarizer: Summarizer = guarded_summarizer(summarizer, guard, extractive)
        model = None if model is None else guard.chat_model(self._limited(model))
        if (settings.reflect or settings.judge) and model is None:
            raise ConfigurationError(
                f"Settings.{'reflect' if settings.reflect else 'judge'} asks for a language model, and there is none: "
                "nothing was changed; pass llm=, e.g. llm='ollama:qwen3:8b'"
            )
        self.reranker = guard.reranker(resolve_reranker(reranker))
        self.short_term = short_term
        self.settings = settings
        self.vectors = VectorQueue(
            handle.store,
            LanguageWatch(embedder),
            wait=settings.embed_wait,
            batch=settings.embed_batch,
            writes=not read_only,
            space=lambda: embedder.space,
        )
        self.long_term = LongTerm(handle.store, self.vectors)
        self.consolidator = Consolidator(
            handle.store,
            self.long_term,
            self.summarizer,
            self.counter,
            self.clock,
            settings,
            model=model,
            limiter=self.limiter,
        )
        self.worker = Worker(self.consolidator, settings)
        self._executor: tuple[int, ThreadPoolExecutor] | None = None
        self.closed = False

    def _limited(self, model: ChatModel) -> ChatModel:
        return LimitedChatModel(model, self.limiter) if self.limiter.limits_anything else model

    def _limiter(self, settings: Settings) -> Limiter:
        """Return what has language models keep to the settings."""
        if settings.over_budget not in get_args(OverBudget):
            raise InvalidInputError(f"over_budget is 'wait' or 'extractive', not {settings.over_budget!r}")
        store = self.store
        if not isinstance(store, KeepsUsage):
            book: KeepsUsage = Page()
        else:
            book = Page(store.usage()) if self.read_only else store
        return Limiter(
            Limits(
                settings.requests_per_minute,
                settings.tokens_per_minute,
                settings.requests_per_day,
                settings.tokens_per_day,
            ),
            concurrency=settings.concurrency,
            book=book,
            counter=self.counter,
            clock=self.clock,
            pause=self._closing.wait,
        )

    @property
    def executor(self) -> ThreadPoolExecutor:
        """The threads of the async twins; a forked child gets its own."""
        if self._executor is None or self._executor[0] != os.getpid():
            pool = ThreadPoolExecutor(self.settings.workers, thread_name_prefix="siltstone")
            self._executor = (os.getpid(), pool)
        return self._executor[1]

    def chat_model(self, spec: Any) -> ChatModel:
        """Return a language model beside the one of the memory, for which the same rules and limits hold."""
        model = resolve_chat_model(spec, timeout=self.settings.model_timeout)
        return self.guard.chat_model(self._limited(model))

    def close(self) -> None:
        """Give queued vectors a moment, then stop the threads and give the store back."""
        if not self.closed:
            self.closed = True
            self._closing.set()
            self.worker.close(self.settings.close_wait)
            self.vectors.close(self.settings.close_wait)
            if self._executor is not None and self._executor[0] == os.getpid():
                self._executor[1].shutdown(wait=False)
            self.handle.close()


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present, in UTC."""
        return datetime.now(timezone.utc)
