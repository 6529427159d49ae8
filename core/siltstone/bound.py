"""An embedder and a store that belong together: whose vectors they are is looked at before the first is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .compress.budget import RoughCounter
from .errors import EmbedderMismatchError
from .meter import Meter
from .models.fingerprint import fingerprint_of
from .models.guarded import Guard
from .protocols import Embedder, Fingerprint, Floats, Store

ROUGH: Final = RoughCounter()
"""Counts for the meter: the exact tokenizer would have to be loaded."""


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

    ``guard`` keeps from it what it must not see; ``meter`` counts its calls.
    """

    def __init__(self, embedder: Embedder, store: Store, *, write: bool, guard: Guard, meter: Meter) -> None:
        self._embedder = embedder  # makes the probe, which is no text of the user's
        self._guarded = guard.embedder(embedder)
        self._guard = guard
        self._meter = meter
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
    def memory(self) -> int:
        """Bytes of memory that the model takes, as far as it tells; 0 while it is not loaded."""
        told = getattr(self._embedder, "memory_bytes", 0)
        return told if isinstance(told, int) else 0

    @property
    def space(self) -> Fingerprint | None:
        """What its vectors are made in, once it has made any."""
        return self._checked

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        with self._meter.call("embed") as call:
            call.items, call.tokens = len(texts), sum(map(ROUGH.count, texts))
            self._check()
            return self._guarded.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``; to be searched with as one of ``space``, which is compared then.

        A server need not be asked for its space once more for that.
        """
        with self._meter.call("embed") as call:
            call.items, call.tokens = 1, ROUGH.count(text)
            if self._checked is None:
                self._check()
            return self._guarded.embed_query(text)

    def without_writing(self) -> BoundEmbedder:
        """Return the same embedder, which does not let a new store take its space on."""
        return BoundEmbedder(self._embedder, self._store, write=False, guard=self._guard, meter=self._meter)

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
