"""The one embedder that all stores are given: siltstone's embedded model, with a cache of vectors beside it.

With the cache a store's figures are its own; what the model takes is what the same work takes without it. ``wall`` and
``cpu`` count the seconds of the model, so that a text that a store makes up itself (two turns joined, a role before it)
does not count as the store's time either. What is known is a look into a dictionary, which is everybody's own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

DIM = 384


class SharedEmbedder:
    """Answers from the cache in ``folder``; from the model where ``live`` is set, or a text is not known."""

    name = "shared"
    dim = DIM

    def __init__(self, folder: Path, *, own: Path | None = None) -> None:
        self.live = False
        self.wall = self.cpu = 0.0
        self.misses = 0
        self._own = own
        self._rows: dict[str, Any] = {}
        self._new: dict[str, Any] = {}
        self._model: Any = None
        for path in [folder / "vectors", *([own] if own else [])]:
            if path.with_suffix(".npy").exists():
                keys = json.loads(path.with_suffix(".json").read_text())
                self._rows |= zip(keys, np.load(path.with_suffix(".npy")), strict=True)
                if path == own:
                    self._new = {key: self._rows[key] for key in keys}

    def warm(self) -> None:
        """Load the model, so that no measured call does."""
        self._embed("warm", question=False)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.stack([self._one(text, question=False) for text in texts]) if len(texts) else np.empty((0, DIM), "f")

    def embed_query(self, text: str) -> Any:
        return self._one(text, question=True)

    def fill(self, folder: Path, documents: Sequence[str], questions: Sequence[str]) -> None:
        """Write the cache for these texts, keeping what it had."""
        known = [text for text in dict.fromkeys(documents) if f"d {text}" not in self._rows]
        self._rows |= zip(
            (f"d {text}" for text in known), self._get().embed_documents(known) if known else [], strict=True
        )
        for text in dict.fromkeys(questions):
            if f"q {text}" not in self._rows:
                self._rows[f"q {text}"] = self._get().embed_query(text)
        _write(folder / "vectors", self._rows)

    def keep(self) -> None:
        """Keep the vectors of texts that were not known, for the next process of this store."""
        if self._own and self.misses:
            _write(self._own, self._new)

    def _one(self, text: str, *, question: bool) -> Any:
        key = f"{'q' if question else 'd'} {text}"
        live = self.live  # a store's thread may still be here when it is set back
        if not live and key in self._rows:
            return self._rows[key]
        wall, cpu = time.perf_counter(), time.process_time()
        row = self._embed(text, question=question)
        if not live:
            self.misses += 1
            self._rows[key] = self._new[key] = row
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu
        return row

    def _embed(self, text: str, *, question: bool) -> Any:
        return self._get().embed_query(text) if question else self._get().embed_documents([text])[0]

    def _get(self) -> Any:
        if self._model is None:
            from siltstone.models.e5 import E5Embedder

            self._model = E5Embedder()
        return self._model


def _write(path: Path, rows: dict[str, Any]) -> None:
    np.save(path.with_suffix(".npy"), np.stack(list(rows.values())))
    path.with_suffix(".json").write_text(json.dumps(list(rows)))
