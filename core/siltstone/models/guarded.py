"""Models that see nothing sensitive: wrappers over the contracts, around every model that may lie elsewhere.

A model is trusted where it says that it is ``local``, as those do that siltstone runs in this process. Everything else
may be elsewhere: what is reached over HTTP, on this machine too (behind it may stand another), a framework's object, a
model of the user's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, get_args

import numpy as np

from ..errors import InvalidInputError
from ..forks import ForkSafeLock
from ..protocols import ChatModel, Embedder, Floats, Reranker
from ..records import Message
from ..settings import OnSensitive
from ..text.sensitive import Rule, Rules


def is_local(model: object) -> bool:
    """Return whether a model says that nothing leaves this process by it."""
    return getattr(model, "local", False) is True


class Guard:
    """What ``Settings.sensitive`` and ``on_sensitive`` say, as wrappers of models. Thread-safe.

    Raises ``InvalidInputError`` for rules that are none.
    """

    def __init__(self, rules: Sequence[Rule], on_sensitive: OnSensitive = "redact") -> None:
        if on_sensitive not in get_args(OnSensitive):
            raise InvalidInputError(f"on_sensitive is 'redact' or 'local', not {on_sensitive!r}; nothing was opened")
        self.rules = Rules(rules)
        self.keeps = on_sensitive == "local"
        self._counts: Counter[str] = Counter()
        self._lock = ForkSafeLock()

    @property
    def counts(self) -> dict[str, int]:
        """How many texts were ``redacted``, and how many kept (``local``), since it was made."""
        with self._lock:
            return dict(self._counts)

    def note(self, what: str, count: int = 1) -> None:
        """Count what was ``redacted`` or kept ``local``."""
        if count:
            with self._lock:
                self._counts[what] += count

    def redact(self, text: str) -> str:
        """Return a text as it may be seen, and count it where that is not as it was."""
        seen = self.rules.redact(text)
        self.note("redacted", seen != text)
        return seen

    def embedder(self, embedder: Embedder) -> Embedder:
        """Return an embedder that sees nothing sensitive; the same one where it is local or there are no rules."""
        return GuardedEmbedder(embedder, self) if self.rules and not is_local(embedder) else embedder

    def reranker(self, reranker: Reranker | None) -> Reranker | None:
        """Return a reranker that sees nothing sensitive."""
        return GuardedReranker(reranker, self) if reranker and self.rules and not is_local(reranker) else reranker

    def chat_model(self, model: ChatModel) -> ChatModel:
        """Return a language model that sees nothing sensitive."""
        return GuardedChatModel(model, self) if self.rules and not is_local(model) else model


class GuardedEmbedder:
    """An embedder that is given redacted texts; those that are kept get a vector that is near to nothing.

    They are found by their words alone then, as if they had no meaning. Questions are redacted either way.
    """

    def __init__(self, inner: Embedder, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    @property
    def name(self) -> str:
        """Identity of the model."""
        return self._inner.name

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return self._inner.dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        if not self._guard.keeps:
            return self._inner.embed_documents([self._guard.redact(text) for text in texts])
        kept = [self._guard.rules.matches(text) for text in texts]
        sent = iter(self._inner.embed_documents([text for text, keep in zip(texts, kept, strict=True) if not keep]))
        self._guard.note("local", sum(kept))
        rows = [far_vector(text, self.dim) if keep else next(sent) for text, keep in zip(texts, kept, strict=True)]
        return np.stack(rows) if rows else np.empty((0, self.dim), np.float32)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        return self._inner.embed_query(self._guard.redact(text))

    def __repr__(self) -> str:
        return f"GuardedEmbedder({self._inner!r})"


class GuardedReranker:
    """A reranker that is given redacted texts; those that are kept get the mean score of the others."""

    def __init__(self, inner: Reranker, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    @property
    def name(self) -> str:
        """Identity of the model."""
        return self._inner.name

    def rerank(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one score per text, ``(n,)``."""
        query = self._guard.redact(query)
        if not self._guard.keeps:
            return self._inner.rerank(query, [self._guard.redact(text) for text in texts])
        kept = np.array([self._guard.rules.matches(text) for text in texts], bool)
        self._guard.note("local", int(kept.sum()))
        scores = np.zeros(len(texts), np.float32)
        if not kept.all():
            sent = [text for text, keep in zip(texts, kept, strict=True) if not keep]
            scores[~kept] = np.asarray(self._inner.rerank(query, sent), np.float32)
            scores[kept] = scores[~kept].mean()
        return scores

    def __repr__(self) -> str:
        return f"GuardedReranker({self._inner!r})"


class GuardedChatModel:
    """A language model that is given redacted requests; what is kept goes line by line, as statements are listed."""

    def __init__(self, inner: ChatModel, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    @property
    def name(self) -> str:
        """Identity of the model."""
        return self._inner.name

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the answer's text."""
        return self._inner.complete([self._seen(one) for one in messages], schema=schema, max_tokens=max_tokens)

    def _seen(self, message: Message) -> Message:
        if not self._guard.keeps:
            return redacted(message, self._guard)
        seen = self._guard.rules.withhold(message.content)
        self._guard.note("local", seen != message.content)
        return redacted(replace(message, content=seen), self._guard)

    def __repr__(self) -> str:
        return f"GuardedChatModel({self._inner!r})"


def redacted(message: Message, guard: Guard) -> Message:
    """Return a message as it may be seen: its text, its speaker's name, and whatever its metadata holds."""
    name = None if message.name is None else guard.redact(message.name)
    metadata = None if message.metadata is None else _mapped(message.metadata, guard.redact)
    return replace(message, content=guard.redact(message.content), name=name, metadata=metadata)


def is_sensitive(message: Message, rules: Rules) -> bool:
    """Return whether anything in a message is sensitive."""
    parts = (message.name or "", message.content)
    return any(map(rules.matches, parts)) or _mapped(message.metadata, rules.redact) != message.metadata


def far_vector(text: str, dim: int) -> Floats:
    """Return a vector of unit length that is near to no other one, ``(dim,)``: the same for the same text."""
    seed = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    row = np.random.default_rng(seed).standard_normal(dim)
    unit: Floats = (row / np.linalg.norm(row)).astype(np.float32)
    return unit


def _mapped(value: Any, see: Callable[[str], str]) -> Any:
    """Return a JSON value with its texts, names of fields, and numbers as they may be seen."""
    if isinstance(value, str):
        return see(value)
    if isinstance(value, Mapping):
        return {see(str(name)): _mapped(part, see) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(part, see) for part in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seen = see(str(value))
        return value if seen == str(value) else seen
    return value
