"""One import from end to end: what the source is, where its vectors come from, where its failures go."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Any, TypeAlias

from ..importers.formats import reader_for
from ..importers.source import Source
from ..protocols import Embedder, Progress, Store
from ..records import ImportReport
from ..tiers.long_term import LongTerm
from .decide import Rules
from .failures import Failures
from .importing import Import
from .vector_cache import VectorCache

PathLike: TypeAlias = str | os.PathLike[str]


def import_source(
    store: Store,
    long_term: LongTerm,
    embedder: Embedder,
    path_or_file: PathLike | IO[Any],
    *,
    user_id: str,
    now: datetime,
    max_chars: int,
    embed_batch: int,
    format: str | None,
    dry_run: bool,
    vectors: PathLike | None,
    failures: PathLike | None,
    stored: Callable[[Sequence[str]], None],
    progress: Progress | None,
) -> ImportReport:
    """Import a source into one user's memory; see ``TieredMemory.import_from``."""
    source = Source(path_or_file)
    reader = reader_for(source, format)
    rules = Rules(user_id, now, source.modified or now, max_chars)
    reading = reader.read(source)
    kept = Failures(None if dry_run else failures, source.name)
    with _cache(None if dry_run else vectors, embedder, inside=store.location) as cache:
        run = Import(
            store,
            long_term,
            embedder,
            rules,
            dry_run=dry_run,
            stored=stored,
            failures=kept,
            cache=cache,
            embed_batch=embed_batch,
        )
        try:
            return run.run(reader.format, reading, progress)
        finally:
            kept.drop()
            if isinstance(reading.items, Generator):
                reading.items.close()  # and with it the files that it reads


@contextmanager
def _cache(path: PathLike | None, embedder: Embedder, *, inside: str) -> Iterator[VectorCache | None]:
    if path is None:
        yield None
        return
    cache = VectorCache(path, embedder, inside=inside)
    try:
        yield cache
    finally:
        cache.close()
