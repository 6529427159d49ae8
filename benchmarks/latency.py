"""What each part of a search costs, beside the embedding of its question.

    python benchmarks/latency.py [TURNS ...]

Made-up turns of 16 words in sessions of 40, random vectors, questions of 12 words, an in-memory store. Milliseconds of
CPU of one thread: of each question the fastest of ten searches, of 50 questions the median. The ten are rounds over all
questions, so that none finds its own rows in the processor's cache.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import islice, product

import numpy as np

from siltstone.protocols import Floats, Put, Query, Where
from siltstone.recall import parts, rank
from siltstone.recall.arm import DEPTH
from siltstone.recall.lexical import bm25
from siltstone.recall.question import name_terms, read_question
from siltstone.recall.search import search
from siltstone.records import Message, turn_of
from siltstone.stores.ram import RamStore

NOW = datetime(2024, 6, 12, tzinfo=timezone.utc)
QUESTIONS = 50
ROUNDS = 10
WORDS = 20_000
SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnprstvz" for vowel in "aeiou"]


def main() -> None:
    """Print a table in Markdown."""
    sizes = [int(text) for text in sys.argv[1:]] or [10_000]
    columns = {size: measure(size) for size in sizes}
    print("| part |", " | ".join(f"{size:,} turns" for size in sizes), "|\n|---|" + "---|" * len(sizes))
    for part in columns[sizes[0]]:
        print(f"| {part} |", " | ".join(f"{columns[size][part]:.2f}" for size in sizes), "|")


def measure(size: int) -> dict[str, float]:
    """Return the milliseconds of each part, by name, over a store of so many turns."""
    rng, numbers = random.Random(1), np.random.default_rng(1)
    words = list(map("".join, islice(product(SYLLABLES, repeat=3), WORDS)))
    odds = [1 / (n + 5) for n in range(WORDS)]
    store = RamStore()
    for start in range(0, size, 500):
        vectors = numbers.standard_normal((500, 384)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        store.commit("u", [_put(start + n, rng.choices(words, odds, k=16), vectors[n]) for n in range(500)])
    asked = [(" ".join(rng.choices(words, odds, k=12)), numbers.standard_normal(384)) for _ in range(QUESTIONS)]
    fastest = {}
    for _ in range(ROUNDS):
        for n, (text, vector) in enumerate(asked):
            for part, ms in _search(store, text, vector).items():
                fastest[part, n] = min(ms, fastest.get((part, n), ms))
    parts = dict.fromkeys(part for part, _ in fastest)
    return {part: statistics.median(fastest[part, n] for n in range(QUESTIONS)) for part in parts}


def _search(store: RamStore, text: str, vector: Floats) -> dict[str, float]:
    """Return the milliseconds of each part of one search, and of a whole one."""
    vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    spent: dict[str, float] = {}

    @contextmanager
    def timed(part: str) -> Iterator[None]:
        began = time.thread_time()
        yield
        spent[part] = 1000 * (time.thread_time() - began)

    with timed("reading the question"):
        question = read_question(text, NOW)
    with timed("store: postings, vectors, columns"):
        found = store.candidates("u", Query(question.terms, vector, Where(now=NOW), DEPTH, True))
    with timed("BM25 of turns and windows"):
        lexical = bm25(found, rank._term_weights(question, name_terms(found.speakers)))
    with timed("arms"):
        arms = rank._arms(found, lexical)
        rows = rank._pooled(arms, DEPTH)
    with timed("parts of the score"):
        known = parts.evidence(found, question, arms, rows)
        parts.form(found, question, known["before.turn"], rows)
        parts.standing(found, question, NOW, rows)
    ranking = rank.rank(found, question, NOW)
    with timed("collapsing equal texts"):
        rank._collapse(found, ranking.rows, 0)
    with timed("ten records"):
        store.resolve("u", found.keys[ranking.rows[:10]].tolist())
    with timed("a whole search"):
        search(store, _Known(vector), "u", text, now=NOW)
    return spent


@dataclass(frozen=True)
class _Known:
    vector: Floats

    def embed_query(self, text: str) -> Floats:
        return self.vector


def _put(n: int, words: list[str], vector: Floats) -> Put:
    message = Message(
        "assistant" if n % 2 else "user",
        " ".join(words),
        id=str(n),
        created_at=NOW - timedelta(minutes=200_000 - n),
        session_id=f"s{n // 40}",
    )
    turn = turn_of(message, "u", NOW)
    assert turn is not None
    return Put(turn, message, vector)


if __name__ == "__main__":
    main()
