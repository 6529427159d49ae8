"""Any model of the sentence-transformers library, by name or folder; on the GPU where there is one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import MissingDependencyError, ModelError
from ..protocols import Floats
from .prefixes import prefixes_of

log = logging.getLogger(__name__)

MAX_CHARS: Final = 50_000
"""Longer texts are cut here before the model cuts them at its own length, so that none takes minutes."""


class SentenceTransformersEmbedder:
    """An embedder of the sentence-transformers library.

    ``model`` is a folder or a name on the Hugging Face hub. A model that is on this machine is loaded without
    asking the hub; only a name that is not there yet is downloaded, which the log says. Loading happens at first
    use: the library alone takes 5 s and 570 MB. ``device`` is chosen by the library (``cuda``, ``mps``, ``cpu``)
    unless given; ``batch`` texts go through the model at once. ``query_prefix`` and ``document_prefix`` replace the
    model's own prompts, or else those that its name implies. ``name`` is the model's identity in a store, by
    default its name, or its folder's.

    Raises ``MissingDependencyError`` without the library and ``ModelError`` where the model cannot be loaded or
    fails. Thread-safe: calls take turns.
    """

    engine: Final = "sentence-transformers"
    local: Final = True

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        batch: int = 32,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or _name_of(model)
        self._model = _Lazy(str(model), device, lambda library: library.SentenceTransformer)
        self._batch = batch
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix

    @property
    def dim(self) -> int:
        """Width of a vector; loads the model."""
        with self._model as model:
            width = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
            return int(width())

    @property
    def memory_bytes(self) -> int:
        """Bytes of the model's weights, wherever they lie; 0 while it is not loaded."""
        return self._model.memory_bytes

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        return self._encode(texts, self._document_prefix, ("document", "passage", "corpus"))

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        vector: Floats = self._encode([text], self._query_prefix, ("query",))[0]
        return vector

    def _encode(self, texts: Sequence[str], prefix: str | None, roles: tuple[str, ...]) -> Floats:
        safe = [text[:MAX_CHARS].encode("utf-8", "replace").decode() for text in texts]
        with self._model as model:
            prompt = self._prompt(model, roles) if prefix is None else prefix
            rows: Floats = np.asarray(
                model.encode(
                    safe,
                    prompt=prompt or None,
                    batch_size=self._batch,
                    normalize_embeddings=True,
                    show_progress_bar=False,
                ),
                np.float32,
            )
        return rows

    def _prompt(self, model: Any, roles: tuple[str, ...]) -> str:
        """Return the model's own prompt for a role, else the one that its name implies."""
        own: dict[str, str] = getattr(model, "prompts", None) or {}
        if any(own.values()):
            return next((own[role] for role in roles if role in own), "")
        known = prefixes_of(self.name)
        return known.query if "query" in roles else known.document

    def __repr__(self) -> str:
        return f"SentenceTransformersEmbedder({self.name!r})"


class SentenceTransformersReranker:
    """A cross-encoder of the sentence-transformers library; ``model`` and the rest as for the embedder."""

    local: Final = True

    def __init__(
        self, model: str | Path, *, device: str | None = None, batch: int = 32, name: str | None = None
    ) -> None:
        self.name = name or _name_of(model)
        self._model = _Lazy(str(model), device, lambda library: library.CrossEncoder)
        self._batch = batch

    def rerank(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one score per text, ``(n,)``, as the model gives them; higher is better."""
        if not texts:
            return np.empty(0, np.float32)
        pairs = [(query, text) for text in texts]
        with self._model as model:
            scores = model.predict(pairs, batch_size=self._batch, show_progress_bar=False)
        return np.asarray(scores, np.float32).reshape(len(texts))

    def __repr__(self) -> str:
        return f"SentenceTransformersReranker({self.name!r})"


class _Lazy:
    """A model that is loaded when it is first entered, and entered by one thread at a time."""

    def __init__(self, model: str, device: str | None, choose: Callable[[Any], Any]) -> None:
        self._name = model
        self._device = device
        self._choose = choose
        self._model: Any = None
        self._lock = threading.RLock()

    @property
    def memory_bytes(self) -> int:
        """Bytes of the weights; 0 while it is not loaded."""
        model = self._model
        return 0 if model is None else sum(part.numel() * part.element_size() for part in model.parameters())

    def __enter__(self) -> Any:
        self._lock.acquire()
        try:
            if self._model is None:
                self._model = self._load()
        except BaseException:
            self._lock.release()
            raise
        return self._model

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: Any) -> None:
        self._lock.release()
        if isinstance(exc, (RuntimeError, ValueError, IndexError)):  # what torch raises, out of memory included
            fewer = "; embed fewer texts at once: Settings(embed_batch=4)" if "out of memory" in str(exc) else ""
            raise ModelError(f"the model {self._name!r} failed ({exc}); nothing was stored{fewer}") from exc

    def _load(self) -> Any:
        try:
            import sentence_transformers
        except ImportError as exc:
            raise MissingDependencyError.extra(
                "sentence-transformers", f"the model {self._name!r}", "sentence-transformers"
            ) from exc
        make = self._choose(sentence_transformers)
        try:
            return make(self._name, device=self._device, local_files_only=True)
        except (OSError, ValueError) as exc:  # not on this machine
            if Path(self._name).exists():
                raise self._failure("loaded from its folder", exc) from exc
        except (RuntimeError, AssertionError) as exc:  # the device
            raise self._failure("loaded", exc) from exc
        log.warning("the model %r is not on this machine: downloading it from the Hugging Face hub", self._name)
        try:
            return make(self._name, device=self._device)
        except (OSError, ValueError, RuntimeError, AssertionError) as exc:
            raise self._failure("found here, nor downloaded", exc) from exc

    def _failure(self, what: str, exc: Exception) -> ModelError:
        return ModelError(f"the model {self._name!r} cannot be {what} ({exc}); nothing was changed")


def _name_of(model: str | Path) -> str:
    """Return a hub's name as it is, and a folder's last part: a store may move with its model."""
    return Path(model).resolve().name if isinstance(model, Path) or Path(model).exists() else model
