"""What all views of one opened memory share: the store, the models bound to it, the threads that embed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from . import tracing
from .bound import ROUGH, BoundEmbedder, check_name
from .errors import ConfigurationError
from .forks import ForkSafeEvent, ForkSafeLock, ForkSafeThreads
from .keepers import Keepers
from .meter import Meter
from .models.checked import CheckedEmbedder
from .models.guarded import Guard
from .models.held import Holder
from .models.languages import LanguageWatch
from .models.limits import Limiter, Page
from .models.resolve import (
    check_installed,
    resolve_chat_model,
    resolve_counter,
    resolve_embedder,
    resolve_reranker,
)
from .models.usage import Limits
from .opening import Durability, Key, StoreHandle, open_store, open_turns
from .protocols import ChatModel, Clock, KeepsUsage, SharesWork, ShortTermStore, Store, Summarizer
from .settings import Settings, checked_settings
from .stores.vectorstore.names import check_kept_here
from .tiers.long_term import LongTerm
from .tiers.vectors import VectorQueue

if TYPE_CHECKING:
    from .condenser import Condenser


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
        short_term: ShortTermStore | str | None,
        clock: Clock | None,
        settings: Settings,
        read_only: bool,
        guard: Guard,
        meter: Meter,
    ) -> None:
        self.handle = handle
        self.store = handle.store
        self.embedder = embedder
        self.guard = guard
        self.meter = meter
        self.read_only = read_only
        self.counter = resolve_counter(token_counter)
        self.clock: Clock = clock or SystemClock()
        self._closing = ForkSafeEvent()
        self.limiter = self._limiter(settings)
        self._holder = Holder(guard, self.limiter, meter, ROUGH)
        self.reranker = guard.reranker(resolve_reranker(reranker))
        self.settings = settings
        self.turns = open_turns(short_term, handle, settings=settings, clock=self.clock, read_only=read_only)
        self.vectors = VectorQueue(
            handle.store,
            LanguageWatch(embedder),
            wait=settings.embed_wait,
            batch=settings.embed_batch,
            writes=not read_only,
            space=lambda: embedder.space,
        )
        self.long_term = LongTerm(handle.store, self.vectors, written=self.turns.written)
        self._chosen = (summarizer, llm)
        self._condenser: Condenser | None = None
        self._condensing = ForkSafeLock()
        if summarizer is not None or llm is not None or settings.reflect or settings.judge:
            self.condenser  # noqa: B018 - what would be refused later is refused at opening
        self.threads = ForkSafeThreads(settings.workers)
        self.keepers = Keepers()
        self.opened_with: Mapping[str, Any] = {}
        self.closed = False
        if settings.worker and not read_only and isinstance(self.store, SharesWork):
            self.condenser.worker.take_part()

    @property
    def condenser(self) -> Condenser:
        """What makes long-term memory of conversation; loaded at its first use."""
        with self._condensing:
            if self._condenser is None:
                from .condenser import Condenser

                summarizer, llm = self._chosen
                self._condenser = Condenser(
                    summarizer,
                    llm,
                    store=self.store,
                    embedder=self.embedder,
                    long_term=self.long_term,
                    counter=self.counter,
                    clock=self.clock,
                    settings=self.settings,
                    holder=self._holder,
                    stopping=self._closing.is_set,
                )
            return self._condenser

    @property
    def summarizer(self) -> Summarizer:
        """The summarizer that was chosen."""
        return self.condenser.summarizer

    def wake_worker(self, user_id: str) -> None:
        """Have a user consolidated in the background soon, where ``Settings.worker`` wants that. O(1)."""
        if self.settings.worker:  # what a worker needs takes half a second to load
            self.condenser.worker.wake(user_id)

    @property
    def last_error(self) -> str | None:
        """What the embedder failed with last, or else the worker."""
        condenser = self._condenser
        return self.vectors.last_error or (None if condenser is None else condenser.worker.last_error)

    def _limiter(self, settings: Settings) -> Limiter:
        """Return what has language models keep to the settings."""
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

    def chat_model(self, spec: Any) -> ChatModel:
        """Return a language model beside the one of the memory, for which the same rules and limits hold."""
        model = resolve_chat_model(spec, timeout=self.settings.model_timeout)
        return self._holder.chat_model(model)

    def close(self) -> None:
        """Give queued vectors a moment, then stop the threads and give the store back."""
        if not self.closed:
            self.closed = True
            self._closing.set()
            if self._condenser is not None:
                self._condenser.worker.close(self.settings.close_wait)
            self.vectors.close(self.settings.close_wait)
            self.threads.close()
            self.turns.close()
            self.handle.close()


def open_engine(
    location: str | os.PathLike[str] | Store,
    *,
    embedder: Any,
    summarizer: Any,
    reranker: Any,
    llm: Any,
    token_counter: Any,
    short_term: ShortTermStore | str | None,
    clock: Clock | None,
    settings: Settings | None,
    durability: Durability,
    key: Key | None,
    read_only: bool,
    create: bool,
    vector_store: Any = None,
) -> Engine:
    """Open the store at a location and bind models to it; the arguments are those of ``TieredMemory.open``."""
    settings = checked_settings(settings)
    for spec in (embedder, reranker):
        check_installed(spec)
    guard, meter = Guard(settings.sensitive, settings.on_sensitive), Meter()
    meter.watch(tracing.watch)
    model = CheckedEmbedder(resolve_embedder(embedder))
    handle = open_store(
        location,
        durability=durability,
        read_only=read_only,
        create=create,
        lock_timeout=settings.lock_timeout,
        history=settings.history,
        key=key,
        replica=settings.replica,
        exact_vectors=settings.exact_vectors,
    )
    try:
        if vector_store is None:
            check_kept_here(handle.store)
        elif handle.encrypted:
            raise ConfigurationError(
                "the store is encrypted, and vector_store would hold its vectors in the clear; nothing was opened: "
                "leave vector_store out"
            )
        else:
            from .stores.vectorstore.opening import over

            handle.put_over(
                over(handle.store, vector_store, model, outage=settings.vector_store_down, writes=not read_only)
            )
        check_name(handle.store, model)
        engine = Engine(
            handle,
            BoundEmbedder(model, handle.store, write=not read_only, guard=guard, meter=meter),
            summarizer=summarizer,
            llm=llm,
            reranker=reranker,
            token_counter=token_counter,
            short_term=short_term,
            clock=clock,
            settings=settings,
            read_only=read_only,
            guard=guard,
            meter=meter,
        )
    except BaseException:
        handle.close()
        raise
    given = {
        "embedder": embedder,
        "summarizer": summarizer,
        "reranker": reranker,
        "llm": llm,
        "token_counter": token_counter,
        "short_term": short_term,
        "clock": clock,
        "settings": None if settings == Settings() else settings,
        "durability": None if durability == "fsync" else durability,
        "read_only": read_only or None,
        "vector_store": vector_store,
    }
    engine.opened_with = {"location": location} | {name: of for name, of in given.items() if of is not None}
    return engine


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present, in UTC."""
        return datetime.now(timezone.utc)
