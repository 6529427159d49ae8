"""Public fakes for tests: embeddings where near text is near, a scripted language model, a clock that stands still.

They are real, deterministic implementations of the contracts in ``protocols``, need no model and no network, and
treat English and Chinese alike.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from .errors import BackendUnavailableError, InvalidInputError, ModelError
from .protocols import Embedder, Floats
from .records import Message, to_datetime

Reply: TypeAlias = str | Exception | Callable[[Sequence[Message]], str]


class HashEmbedder:
    """An embedder without a model: texts that share words, word parts or Chinese characters are near.

    Each feature of a text (a word, a trigram of a word, a CJK character, a pair of them) has its own fixed
    direction of random signs, drawn from a hash of the feature; a text is the weighted sum of its directions. So
    cosines approximate the share of common features, in every process and on every platform.

    ``dim`` is the width, default 256; the wider, the less unrelated texts resemble each other by chance. ``name``
    tells embedders of different spaces apart, and other names give other directions. A text without features
    (empty, only punctuation) has a fixed vector.
    """

    engine: Final = "hash"

    def __init__(self, dim: int = 256, *, name: str = "hash") -> None:
        if dim < 1:
            raise InvalidInputError(f"dim must be at least 1, not {dim}")
        self.name = name
        self.dim = dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length per text, ``(n, dim)``."""
        rows = np.empty((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self.embed_query(text)
        return rows

    def embed_query(self, text: str) -> Floats:
        """Return the vector of unit length of one text, ``(dim,)``; questions and documents are embedded alike."""
        total = np.full(self.dim, 1e-6, np.float32)
        for feature, weight in _features(text):
            total += weight * _direction(f"{self.name}\0{feature}", self.dim)
        unit: Floats = total / np.linalg.norm(total)
        return unit

    def __repr__(self) -> str:
        return f"HashEmbedder(dim={self.dim}, name={self.name!r})"


class FailingEmbedder:
    """An embedder that is down: each call raises ``error`` while ``failing`` is true, else ``inner`` answers.

    ``calls`` counts the calls that arrived, failed ones included.
    """

    engine: Final = "hash"

    def __init__(self, inner: Embedder | None = None, *, error: Exception | None = None, failing: bool = True) -> None:
        self.inner: Embedder = inner or HashEmbedder()
        self.error = error or BackendUnavailableError("the embedder is down, as this test asked for")
        self.failing = failing
        self.calls = 0

    @property
    def name(self) -> str:
        """The name of ``inner``."""
        return self.inner.name

    @property
    def dim(self) -> int:
        """The width of ``inner``."""
        return self.inner.dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Raise ``error``, or return the rows of ``inner``, ``(n, dim)``."""
        self._arrive()
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        """Raise ``error``, or return the vector of ``inner``, ``(dim,)``."""
        self._arrive()
        return self.inner.embed_query(text)

    def _arrive(self) -> None:
        self.calls += 1
        if self.failing:
            raise self.error


@dataclass(frozen=True)
class ChatCall:
    """One request that a ``ScriptedChatModel`` received."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    max_tokens: int | None


class ScriptedChatModel:
    """A language model that gives prepared answers in order.

    A reply is the text to return, an exception to raise, or a function from the messages to the text. After the
    last reply every call is a ``ModelError``. ``calls`` lists the requests as they came.
    """

    def __init__(self, replies: Iterable[Reply] = (), *, name: str = "scripted") -> None:
        self.name = name
        self.calls: list[ChatCall] = []
        self._replies: Iterator[Reply] = iter(replies)
        self._lock = threading.Lock()

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the next reply's text, or raise it."""
        with self._lock:
            self.calls.append(ChatCall(tuple(messages), schema, max_tokens))
            reply = next(self._replies, ModelError(f"the script of {self.name!r} has no reply left"))
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, str) else reply(messages)


class OverlapReranker:
    """Scores a text by the share of the query's features (words, word parts, CJK characters) that it holds, 0 to 1."""

    name: Final = "overlap"

    def rerank(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one score per text, ``(n,)``."""
        wanted = dict(_features(query))
        total = sum(wanted.values()) or 1.0
        shares = [
            sum(w for f, w in wanted.items() if f in held) / total for held in (dict(_features(t)) for t in texts)
        ]
        return np.array(shares, np.float32)


class WordCounter:
    """Counts words, CJK characters and punctuation marks as one token each; white space is free."""

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        return len(_TOKEN.findall(text))


class FrozenClock:
    """A clock that moves only when told to. ``now`` is an aware datetime or an ISO 8601 string."""

    def __init__(self, now: datetime | str = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)) -> None:
        self._now = to_datetime(now)

    def now(self) -> datetime:
        """Return the time that the clock shows."""
        return self._now

    def advance(self, delta: timedelta | None = None, **parts: float) -> datetime:
        """Move by a ``timedelta``, or by its parts (``advance(days=3)``), and return the new time."""
        self._now += (delta or timedelta()) + timedelta(**parts)
        return self._now


_CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN: Final = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|[^\w\s]")
_WORD: Final = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")


def _features(text: str) -> list[tuple[str, float]]:
    """Return the features of a text with weights that make whole words and pairs of characters count most."""
    features: list[tuple[str, float]] = []
    for run in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if re.match(rf"[{_CJK}]", run):
            features += [(character, 0.5) for character in run]
            features += [(run[i : i + 2], 1.0) for i in range(len(run) - 1)]
        else:
            features.append((run, 1.0 if len(run) > 3 else 0.3))  # short words are mostly grammar
            features += [(f"{run[i : i + 3]}~", 0.3) for i in range(len(run) - 2)]
    return features


@lru_cache(maxsize=8_192)  # those that come again; a kilobyte each
def _direction(feature: str, dim: int) -> Floats:
    digest = hashlib.shake_128(feature.encode("utf-8", "surrogatepass")).digest((dim + 7) // 8)
    bits = np.unpackbits(np.frombuffer(digest, np.uint8), count=dim)
    signs: Floats = bits.astype(np.float32) * 2 - 1
    signs.flags.writeable = False  # shared by every caller
    return signs
