"""What an architecture spends: calls, texts, tokens and seconds, as if it were alone.

Each text is embedded once per run. Who asks for it again gets the vector at once, and is charged the call, the tokens
and the time that making it took.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Final

import numpy as np

from ...protocols import Embedder, Floats, TokenCounter


class CountedOnce:
    """A token counter that remembers the last text: what an architecture has counted is not counted again to check it.

    More than the last it must not remember, or the architectures would seem faster than they are.
    """

    def __init__(self, inner: TokenCounter) -> None:
        self._inner = inner
        self._last = ("", inner.count(""))

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        known, tokens = self._last
        if text != known:
            tokens = self._inner.count(text)
            self._last = text, tokens
        return tokens

    def __repr__(self) -> str:
        return repr(self._inner)


@dataclass(frozen=True)
class Took:
    """Seconds of the clock, and of this process's work on all its processors."""

    clock: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Took) -> Took:
        return Took(self.clock + other.clock, self.cpu + other.cpu)

    def __sub__(self, other: Took) -> Took:
        return Took(self.clock - other.clock, self.cpu - other.cpu)

    def __mul__(self, share: float) -> Took:
        return Took(self.clock * share, self.cpu * share)

    @staticmethod
    def now() -> Took:
        """Return both at this moment: the difference of two is what came between."""
        return Took(time.perf_counter(), time.process_time())

    def not_below_zero(self) -> Took:
        """Return the same, without what rounding has made negative."""
        return Took(max(self.clock, 0.0), max(self.cpu, 0.0))


@dataclass
class Effort:
    """What was spent so far.

    ``embedder_calls``   requests to the embedder, for ``embedded_texts`` of ``embedded_tokens``
    ``model_calls``      summaries made: each is a request where a language model makes them; they were made of
                         ``model_tokens``
    ``charged``, ``waited``   what vectors take to make, and what they took in this run
    """

    embedder_calls: int = 0
    embedded_texts: int = 0
    embedded_tokens: int = 0
    model_calls: int = 0
    model_tokens: int = 0
    charged: Took = Took()
    waited: Took = Took()

    def and_(self, other: Effort) -> Effort:
        """Return the sum of two."""
        return Effort(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(Effort)})

    def since(self, before: Effort) -> Effort:
        """Return what was spent after an earlier state."""
        return Effort(**{one.name: getattr(self, one.name) - getattr(before, one.name) for one in fields(Effort)})


@dataclass
class Stretch:
    """A stretch of work: what it took as if alone, and what was spent in it. Filled in at its end."""

    took: Took = Took()
    effort: Effort = field(default_factory=Effort)


@contextmanager
def stretch(effort: Effort) -> Iterator[Stretch]:
    """Measure the block, with what vectors take in the place of what they took."""
    measured, before, began = Stretch(), replace(effort), Took.now()
    yield measured
    passed = Took.now() - began
    measured.effort = effort.since(before)
    measured.took = (passed - measured.effort.waited).not_below_zero() + measured.effort.charged


@dataclass(frozen=True)
class Made:
    """A vector, the tokens of its text, and what it took to make."""

    vector: Floats
    tokens: int
    took: Took


_SAMPLE: Final = (
    "On 3 May 2024, Nora's half-sister re-booked two flights (EUR 1,299.50) from Ljubljana: http://example.org/x?y=1",
    "我上个月养了一只橘色的猫，名字叫小橘。",
)
"""Texts of which hardly two token counters make the same numbers."""


class SharedVectors:
    """The vectors of a run, by text: made once, kept in ``folder`` where one is given. Thread-safe.

    What a batch takes is split among its texts by their tokens.
    """

    def __init__(self, inner: Embedder, counter: TokenCounter, folder: Path | None = None) -> None:
        self._inner = inner
        self._counter = counter
        self._lock = threading.Lock()
        self.name = inner.name
        self.engine = str(getattr(inner, "engine", "default"))
        counts = [counter.count(text) for text in _SAMPLE]  # what the kept numbers of tokens are by
        mark = hashlib.sha256(f"{self.name} {self.engine} {counts}".encode()).hexdigest()[:16]
        self._path = None if folder is None else folder / f"{mark}.npz"
        self._made: dict[bytes, Made] = self._load()
        self._saved = len(self._made)

    @property
    def dim(self) -> int:
        """The model's width."""
        return self._inner.dim

    def look_up(self, side: str, texts: Sequence[str]) -> tuple[list[Made], Took]:
        """Return what is known of each text, and what it took just now; ``side`` is ``query`` or ``passage``."""
        keys = [hashlib.sha256(f"{side}\0{text}".encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._made}
            waited = self._make(side, missing) if missing else Took()
            return [self._made[key] for key in keys], waited

    def save(self) -> None:
        """Write the vectors, if any are new, over the old file."""
        with self._lock:
            if self._path is None or len(self._made) == self._saved:
                return
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._path.with_suffix(".tmp.npz")
            made = list(self._made.values())
            np.savez(
                fresh,
                keys=np.frombuffer(b"".join(self._made), dtype=np.uint8).reshape(-1, 32),
                vectors=np.stack([one.vector for one in made]),
                tokens=np.array([one.tokens for one in made]),
                took=np.array([(one.took.clock, one.took.cpu) for one in made]),
            )
            os.replace(fresh, self._path)
            self._saved = len(made)

    def _make(self, side: str, missing: dict[bytes, str]) -> Took:
        texts = list(missing.values())
        began = Took.now()
        rows = self._inner.embed_query(texts[0])[None] if side == "query" else self._inner.embed_documents(texts)
        waited = Took.now() - began
        tokens = [self._counter.count(text) for text in texts]
        each = waited * (1 / max(sum(tokens), 1))
        for key, row, count in zip(missing, rows, tokens, strict=True):
            self._made[key] = Made(row, count, each * count)
        return waited

    def _load(self) -> dict[bytes, Made]:
        if self._path is None or not self._path.exists():
            return {}
        with np.load(self._path, allow_pickle=False) as data:
            parts = zip(data["keys"], data["vectors"], data["tokens"].tolist(), data["took"].tolist(), strict=True)
            return {key.tobytes(): Made(row, tokens, Took(*took)) for key, row, tokens, took in parts}


class CountedEmbedder:
    """An embedder over the vectors of the run that charges what it is asked for to one architecture's effort."""

    def __init__(self, shared: SharedVectors, effort: Effort) -> None:
        self._shared = shared
        self._effort = effort
        self._lock = threading.Lock()
        self.name = shared.name
        self.engine = shared.engine

    @property
    def dim(self) -> int:
        """The model's width."""
        return self._shared.dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        return np.stack([one.vector for one in self._charged("passage", texts)])

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        return self._charged("query", [text])[0].vector

    def _charged(self, side: str, texts: Sequence[str]) -> list[Made]:
        made, waited = self._shared.look_up(side, texts)
        with self._lock:
            self._effort.embedder_calls += 1
            self._effort.embedded_texts += len(texts)
            self._effort.embedded_tokens += sum(one.tokens for one in made)
            self._effort.charged += sum((one.took for one in made), Took())
            self._effort.waited += waited
        return made
