"""Embedding a source without storing it: what an import would have embedded, into a file of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ..errors import BackendUnavailableError, ModelError
from ..importers.reader import Copied, Found, Noted, Reading, Said
from ..protocols import Progress, Put
from ..reports import EmbedReport
from ..stores.ram import RamStore
from ..text.keys import dense_key
from .decide import Rules, decide
from .given_vectors import is_embedded
from .reads import Reads
from .vector_cache import VectorCache

_MOST_AGAIN: Final = 10_000


def embed_reading(
    reading: Reading, rules: Rules, cache: VectorCache, *, batch: int, progress: Progress | None
) -> EmbedReport:
    """Embed everything of a source that a store would embed and the file does not hold; return the counts.

    Texts that the embedder fails at are tried once more, one by one, when all others are done.
    """
    texts = (text for found in reading.items for text in _texts(found, rules))
    done = embedded = 0
    again: list[str] = []
    while several := list(islice(texts, batch)):
        try:
            embedded += cache.rows(several, batch=batch)[1]
        except (BackendUnavailableError, ModelError):
            again += several[: max(_MOST_AGAIN - len(again), 0)]
        done += len(several)
        if progress is not None:
            progress(done, reading.expected(done))
    failed, error = 0, ""
    for text in again:
        try:
            embedded += cache.rows([text], batch=1)[1]
        except (BackendUnavailableError, ModelError) as exc:
            failed, error = failed + 1, str(exc)
    return EmbedReport(cache.path, done, embedded, done - embedded - failed, failed, error)


def _texts(found: Found, rules: Rules) -> Iterator[str]:
    """Yield the texts that are embedded of an item, as an import into an empty store would."""
    if isinstance(found.item, Copied):  # whatever it rests on will be there
        puts: tuple[Put, ...] = (Put(found.item.versions[-1].record),)
    elif isinstance(found.item, (Said, Noted)):
        puts = decide(found.item, Reads(RamStore(), rules.user_id, ()), rules, None).puts
    else:
        return
    for put in puts[-1:]:
        if is_embedded(put) and put.record is not None:
            yield dense_key(put.record)
