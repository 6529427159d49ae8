"""From what the caller writes to what the memory works with: a location to a store, a name to a model."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from .compress.extractive import ExtractiveSummarizer
from .compress.llm import LLMSummarizer
from .errors import ConfigurationError, EmbedderMismatchError
from .models.fingerprint import fingerprint_of
from .models.resolve import resolve_chat_model, resolve_counter, resolve_reranker
from .protocols import Clock, Embedder, Fingerprint, Floats, ShortTermStore, Store, Summarizer
from .settings import Settings
from .stores.folder import FolderStore
from .stores.ram import LOCATION, RamStore
from .tiers.long_term import LongTerm
from .tiers.vectors import VectorQueue

Durability: TypeAlias = Literal["fsync", "os"]
_URL: Final = re.compile(r"^([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


@dataclass
class _Shared:
    store: FolderStore
    users: int = 0


_open: dict[tuple[object, ...], _Shared] = {}
_guard = threading.Lock()


class StoreHandle:
    """One opening of a store. A folder opened twice in a process is one store, closed with its last handle."""

    def __init__(self, store: Store, key: tuple[object, ...] | None) -> None:
        self.store = store
        self._key = key
        self._closed = False

    def close(self) -> None:
        """Give the store back; the last handle of a folder closes it."""
        with _guard:
            if self._closed:
                return
            self._closed = True
            if self._key is not None:
                shared = _open.get(self._key)
                if shared is None or shared.store is not self.store:
                    return
                shared.users -= 1
                if shared.users > 0:
                    return
                del _open[self._key]
            self.store.close()


def open_store(
    location: str | os.PathLike[str] | Store,
    *,
    durability: Durability,
    read_only: bool,
    create: bool,
    lock_timeout: float,
) -> StoreHandle:
    """Open the store at a location: a folder, ``":memory:"``, or a store of the caller's own, used as it is.

    Raises ``ConfigurationError`` for a location that no store of this installation serves, and what the store
    raises at opening.
    """
    if durability not in get_args(Durability):
        raise ConfigurationError(f"durability must be 'fsync' or 'os', not {durability!r}")
    if not isinstance(location, (str, os.PathLike)):
        if not isinstance(location, Store):
            raise ConfigurationError(f"a location is a folder, ':memory:' or a Store, not {type(location).__name__}")
        return StoreHandle(location, None)
    text = os.fspath(location)
    if not text:
        raise ConfigurationError("the location is empty; pass a folder, e.g. './memory', or ':memory:'")
    if text == LOCATION:
        return StoreHandle(RamStore(), None)
    url = _URL.match(text)
    if url is not None:
        raise ConfigurationError(
            f"{url.group(1)}:// locations are not served by this release; pass a folder or ':memory:'"
        )
    path = Path(text).expanduser()
    with _guard:
        key = (os.getpid(), os.path.realpath(path), durability, read_only)
        shared = _open.get(key)
        if shared is None:
            store = FolderStore(
                path, durability=durability, read_only=read_only, create=create, lock_timeout=lock_timeout
            )
            shared = _open[key] = _Shared(store)
        shared.users += 1
        return StoreHandle(shared.store, key)


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
    """An embedder bound to a store: before its first vector is used, its space is compared with the store's."""

    def __init__(self, embedder: Embedder, store: Store, *, write: bool) -> None:
        self._embedder = embedder
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

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        self._check()
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        self._check()
        return self._embedder.embed_query(text)

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


def resolve_summarizer(spec: Any, embedder: Embedder) -> Summarizer:
    """Return the summarizer that a spec means; a language model falls back on the extractive one, and says so.

    ``None`` is the extractive one, which needs no model. Raises ``ConfigurationError`` for anything unknown.
    """
    if spec is None:
        return ExtractiveSummarizer(embedder)
    if isinstance(spec, Summarizer):
        return spec
    return LLMSummarizer(resolve_chat_model(spec), fallback=ExtractiveSummarizer(embedder))


class Engine:
    """What all views of one opened memory share."""

    def __init__(
        self,
        handle: StoreHandle,
        embedder: BoundEmbedder,
        *,
        summarizer: Any,
        reranker: Any,
        token_counter: Any,
        short_term: ShortTermStore | None,
        clock: Clock | None,
        settings: Settings,
        read_only: bool,
    ) -> None:
        self.handle = handle
        self.store = handle.store
        self.embedder = embedder
        self.summarizer = resolve_summarizer(summarizer, embedder)
        self.reranker = resolve_reranker(reranker)
        self.counter = resolve_counter(token_counter)
        self.short_term = short_term
        self.clock: Clock = clock or SystemClock()
        self.settings = settings
        self.read_only = read_only
        self.vectors = VectorQueue(
            handle.store, embedder, wait=settings.embed_wait, batch=settings.embed_batch, writes=not read_only
        )
        self.long_term = LongTerm(handle.store, self.vectors)
        self._executor: tuple[int, ThreadPoolExecutor] | None = None
        self.closed = False

    @property
    def executor(self) -> ThreadPoolExecutor:
        """The threads of the async twins; a forked child gets its own."""
        if self._executor is None or self._executor[0] != os.getpid():
            pool = ThreadPoolExecutor(self.settings.workers, thread_name_prefix="siltstone")
            self._executor = (os.getpid(), pool)
        return self._executor[1]

    def close(self) -> None:
        """Give queued vectors a moment, then stop the threads and give the store back."""
        if not self.closed:
            self.closed = True
            self.vectors.close(self.settings.close_wait)
            if self._executor is not None and self._executor[0] == os.getpid():
                self._executor[1].shutdown(wait=False)
            self.handle.close()


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present, in UTC."""
        return datetime.now(timezone.utc)
