"""Embedders that measure or remember: wrappers over the ``Embedder`` contract."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..protocols import Embedder, Floats


class Watched:
    """An embedder that notes how long it took.

    ``document_seconds`` is how long at least one thread was embedding documents; ``query_seconds`` holds the time of
    each query; ``documents`` counts the texts that were embedded.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._at_work = 0
        self._since = 0.0
        self.documents = 0
        self.document_seconds = 0.0
        self.query_seconds: list[float] = []

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    @property
    def dim(self) -> int:
        """The model's width."""
        return self._inner.dim

    @property
    def engine(self) -> str:
        """What computes it."""
        return _engine(self._inner)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        with self._lock:
            self.documents += len(texts)
            self._at_work += 1
            if self._at_work == 1:
                self._since = time.perf_counter()
        try:
            return self._inner.embed_documents(texts)
        finally:
            with self._lock:
                self._at_work -= 1
                if self._at_work == 0:
                    self.document_seconds += time.perf_counter() - self._since

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        began = time.perf_counter()
        vector = self._inner.embed_query(text)
        with self._lock:
            self.query_seconds.append(time.perf_counter() - began)
        return vector


class Remembered:
    """An embedder with a file of vectors, keyed by text, model and engine, so that a repeated run embeds nothing.

    ``save`` writes what is new; ``reused`` counts the vectors that came from the file.
    """

    def __init__(self, inner: Embedder, folder: str | Path) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._path = Path(folder) / f"{_digest(f'{inner.name} {_engine(inner)}').hex()[:16]}.npz"
        self._rows = self._load()
        self._new = False
        self.reused = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    @property
    def dim(self) -> int:
        """The model's width."""
        return self._inner.dim

    @property
    def engine(self) -> str:
        """What computes it."""
        return _engine(self._inner)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        keys = [_key("passage", text) for text in texts]
        missing = [i for i, key in enumerate(keys) if key not in self._rows]
        if missing:
            fresh = self._inner.embed_documents([texts[i] for i in missing])
            self._keep([keys[i] for i in missing], fresh)
        self.reused += len(keys) - len(missing)
        return np.stack([self._rows[key] for key in keys])

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        key = _key("query", text)
        if key in self._rows:
            self.reused += 1
        else:
            self._keep([key], self._inner.embed_query(text)[None])
        return self._rows[key]

    def save(self) -> None:
        """Write the vectors, if any are new, over the old file."""
        if not self._new:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".tmp.npz")
        keys = np.frombuffer(b"".join(self._rows), dtype=np.uint8).reshape(-1, 32)
        np.savez(fresh, keys=keys, vectors=np.stack(list(self._rows.values())))
        os.replace(fresh, self._path)

    def _keep(self, keys: list[bytes], vectors: Floats) -> None:
        with self._lock:
            self._rows.update(zip(keys, vectors, strict=True))
            self._new = True

    def _load(self) -> dict[bytes, Floats]:
        if not self._path.exists():
            return {}
        with np.load(self._path, allow_pickle=False) as data:
            return {key.tobytes(): row for key, row in zip(data["keys"], data["vectors"], strict=True)}


def _key(side: str, text: str) -> bytes:
    return _digest(f"{side}\0{text}")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _engine(embedder: Embedder) -> str:
    return str(getattr(embedder, "engine", "default"))
