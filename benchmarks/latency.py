"""What each part of a search costs, beside the embedding of its question.

    python benchmarks/latency.py [TURNS ...]

Made-up turns of 16 words in sessions of 40, random vectors, questions of 12 terms, an in-memory store. Milliseconds of
CPU of one thread, the median of 50 searches, so that a busy machine tells the same as an idle one.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta, timezone

import numpy as np

from siltstone.protocols import Floats, Put, Query, Where
from siltstone.recall import parts, rank
from siltstone.recall.arm import DEPTH, Arm
from siltstone.recall.lexical import bm25
from siltstone.recall.question import name_terms, read_question
from siltstone.records import Message, turn_of
from siltstone.stores.ram import RamStore

NOW = datetime(2024, 6, 12, tzinfo=timezone.utc)
SEARCHES = 50
WORDS = 20_000
Timer = Callable[[str], AbstractContextManager[None]]


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
    words = [f"w{n}" for n in range(WORDS)]
    odds = [1 / (n + 5) for n in range(WORDS)]
    store = RamStore()
    for start in range(0, size, 500):
        vectors = numbers.standard_normal((500, 384)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        store.commit("u", [_put(start + n, rng.choices(words, odds, k=16), vectors[n]) for n in range(500)])
    spent: dict[str, list[float]] = {}

    @contextmanager
    def timed(part: str) -> Iterator[None]:
        began = time.thread_time()
        yield
        spent.setdefault(part, []).append(1000 * (time.thread_time() - began))

    for _ in range(SEARCHES):
        _search(store, " ".join(rng.choices(words, odds, k=12)), numbers.standard_normal(384), timed)
    found = {part: statistics.median(times) for part, times in spent.items()}
    return {**found, "all": sum(found.values())}


def _search(store: RamStore, text: str, vector: Floats, timed: Timer) -> None:
    vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    with timed("reading the question"):
        question = read_question(text, NOW)
    with timed("store: postings, vectors, columns"):
        found = store.candidates("u", Query(question.terms, vector, Where(now=NOW), DEPTH, True))
    with timed("BM25 of turns and windows"):
        lexical = bm25(found, rank._term_weights(question, name_terms(found.speakers)))
    with timed("arms"):
        arms = parts.Arms(
            lexical,
            turn=Arm(lexical.turn, found.eligible, sparse=True),
            window=Arm(lexical.window, found.eligible, sparse=True),
            dense=Arm(found.dense, found.eligible, sparse=False),
        )
        rows = np.unique(np.concatenate([arm.pool(DEPTH) for arm in (arms.turn, arms.window, arms.dense)]))
    with timed("parts of the score"):
        parts.evidence(found, question, arms, rows)
        parts.form(found, question, arms, rows)
        parts.standing(found, question, NOW, rows)
    ranking = rank.rank(found, question, NOW)
    with timed("collapsing equal texts"):
        rank._collapse(found, rows, 0)
    with timed("ten records"):
        store.resolve("u", found.keys[ranking.rows[:10]].tolist())


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
