"""Synthetic memories, the same on every run: texts of 300 bytes, and vectors shaped like a real model's."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import accumulate

import numpy as np

from siltstone import Message
from siltstone.protocols import Floats
from siltstone.text.words import STOP_WORDS

DIM = 384
BYTES = 300
SESSION = 200
"""Messages of a session."""
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
_WORDS = 30_000
_LETTERS = "etaoinshrdlu" * 3 + "cmfwypvbgkjqxz"


def vocabulary() -> tuple[list[str], list[float]]:
    """Return words and the sums of their frequencies: stop words first, then made-up words by Zipf's law."""
    chance = random.Random(1)
    made = {"".join(chance.choices(_LETTERS, k=chance.randint(3, 10))) for _ in range(2 * _WORDS)} - STOP_WORDS
    words = [*sorted(STOP_WORDS), *sorted(made)[:_WORDS]]
    chance.shuffle(rest := words[len(STOP_WORDS) :])
    return [*words[: len(STOP_WORDS)], *rest], list(accumulate(1 / (rank + 10) for rank in range(len(words))))


class Vectors:
    """Unit vectors with a common direction, a topic per session, and variances that fall off by a power law.

    Two of one session have a cosine of about .87, two of different sessions of about .8, as those of
    multilingual-e5-small have.
    """

    def __init__(self) -> None:
        chance = np.random.default_rng(2)
        self._mean = _unit(chance.standard_normal((1, DIM), np.float32))
        scale = np.arange(1, DIM + 1, dtype=np.float32) ** -0.5
        directions = np.linalg.qr(chance.standard_normal((DIM, DIM), np.float32))[0]
        self._spread = (0.5 * scale / np.linalg.norm(scale))[:, None] * directions  # along no axis in particular

    def of(self, session: int, count: int) -> Floats:
        """Return the vectors of a session, ``(count, DIM)``."""
        chance = np.random.default_rng((3, session))
        topic = chance.standard_normal((1, DIM), np.float32) * 0.6
        return _unit(self._mean + (topic + chance.standard_normal((count, DIM), np.float32) * 0.8) @ self._spread)

    def near(self, vector: Floats, seed: int) -> Floats:
        """Return the vector of a question about a text."""
        chance = np.random.default_rng((4, seed))
        return _unit(vector + chance.standard_normal(DIM, np.float32) * 0.5 @ self._spread)


@dataclass(frozen=True)
class Session:
    """Messages of one session and the vectors of their texts."""

    number: int
    messages: tuple[Message, ...]
    vectors: Floats

    @property
    def id(self) -> str:
        return f"session {self.number}"


class Memories:
    """Sessions of ``SESSION`` messages by number, and questions about them."""

    def __init__(self) -> None:
        self._words, self._sums = vocabulary()
        self._vectors = Vectors()

    def session(self, number: int, size: int = SESSION) -> Session:
        chance = random.Random(number)
        first = number * SESSION
        messages = tuple(
            Message(
                "user" if n % 2 == 0 else "assistant",
                self._text(chance),
                created_at=START + timedelta(seconds=30 * (first + n)),
            )
            for n in range(size)
        )
        return Session(number, messages, self._vectors.of(number, size))

    def sessions(self, first: int, last: int) -> Iterator[Session]:
        return map(self.session, range(first, last))

    def question(self, seed: int, sessions: int) -> tuple[str, Floats]:
        """Return a question about one of the messages of the first ``sessions``, and its vector."""
        chance = random.Random(-1 - seed)
        session = self.session(chance.randrange(sessions))
        place = chance.randrange(SESSION)
        telling = [w for w in session.messages[place].content.split() if w.strip(".,") not in STOP_WORDS]
        text = f"what was it with the {' '.join(chance.sample(telling, min(5, len(telling))))} ({seed})"
        return text, self._vectors.near(session.vectors[place], seed)

    def _text(self, chance: random.Random) -> str:
        words = chance.choices(self._words, cum_weights=self._sums, k=75)
        marked = [f"{word}{'.' if n % 12 == 11 else ',' if n % 7 == 6 else ''}" for n, word in enumerate(words)]
        return " ".join(marked)[:BYTES].strip().ljust(BYTES, ".")


class Known:
    """An embedder that knows its texts' vectors already, so that none of the time measured is a model's."""

    name = "known vectors"
    dim = DIM

    def __init__(self) -> None:
        self._vectors: dict[str, Floats] = {}
        self._other = np.full(DIM, DIM**-0.5, np.float32)

    def learn(self, sessions: Sequence[Session]) -> None:
        """Know the texts of some sessions, and no others."""
        self._vectors = {m.content: v for s in sessions for m, v in zip(s.messages, s.vectors, strict=True)}

    def add(self, text: str, vector: Floats) -> None:
        self._vectors[text] = vector

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        return np.stack([self._vectors.get(text, self._other) for text in texts])

    def embed_query(self, text: str) -> Floats:
        return self._vectors.get(text, self._other)


def _unit(rows: Floats) -> Floats:
    unit: Floats = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return unit
