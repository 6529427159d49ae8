"""How a store behaves at size: add messages, close, reopen, search.

    python benchmarks/scale.py [--messages 10000] [--real] [--json]

Adding is timed without the embedder: documents get fixed random vectors, so that the store's own cost is seen, unless
``--real`` asks for the embedded model (minutes). Queries always go through the embedded model, and the time of a search
is set against the time of that alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median

import numpy as np

from siltstone import Message, TieredMemory
from siltstone.evaluate.watch import Watched
from siltstone.models.resolve import resolve_embedder
from siltstone.protocols import Embedder, Floats

PEOPLE = ("Ana", "Bruno", "Chidi", "Dana", "Emil", "小雨", "李雷", "韩梅")
PLACES = ("Lisbon", "Berlin", "Nairobi", "Osaka", "the lake", "深圳", "杭州", "北京")
THINGS = ("a red kite", "the old piano", "two train tickets", "a lemon cake", "一本旧书", "一张地图", "a broken lamp")
DEEDS = ("bought", "lost", "repaired", "painted", "forgot", "found", "sold", "borrowed", "买了", "修好了", "找到了")
EXCHANGE = 2


class FixedVectors:
    """The embedded model's queries, with documents that cost nothing: a fixed random direction per text."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = f"{inner.name} (queries only)"
        self.dim = inner.dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        rows = np.stack([self._direction(text) for text in texts])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Floats:
        return self._inner.embed_query(text)

    def _direction(self, text: str) -> Floats:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        return np.random.default_rng(seed).standard_normal(self.dim, dtype=np.float32)


def conversation(count: int) -> list[Message]:
    """Return messages of everyday talk in two languages, a minute apart."""
    pick = random.Random(7).choice
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    return [
        Message(
            "user" if n % EXCHANGE == 0 else "assistant",
            f"{pick(PEOPLE)} {pick(DEEDS)} {pick(THINGS)} in {pick(PLACES)} on day {n // 40}, "
            f"and {pick(PEOPLE)} {pick(DEEDS)} {pick(THINGS)}, number {n}.",
            created_at=start + timedelta(minutes=n),
        )
        for n in range(count)
    ]


def questions(count: int) -> list[str]:
    """Return questions about the talk."""
    pick = random.Random(11).choice
    return [f"Who {pick(DEEDS)} {pick(THINGS)} in {pick(PLACES)}?" for _ in range(count)]


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a call took."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(count: int, folder: Path, *, real: bool) -> dict[str, float]:
    """Return the figures as a flat mapping; times in seconds or, where named so, milliseconds."""
    model = resolve_embedder(None)
    model.embed_query("warm-up: the model is loaded")
    embedder = Watched(model if real else FixedVectors(model))
    messages = conversation(count)
    asked = questions(200)

    def add() -> None:
        with TieredMemory.open(folder, embedder=embedder) as memory:
            for n in range(0, count, EXCHANGE):
                memory.add(messages[n : n + EXCHANGE], session_id=f"session {n // 40}")
            memory.flush()

    adding = timed(add)
    without = adding - embedder.document_seconds
    memory: TieredMemory | None = None

    def reopen() -> None:
        nonlocal memory
        memory = TieredMemory.open(folder, embedder=embedder)
        assert sum(info.messages for info in memory.sessions()) == count

    opening = timed(reopen)
    assert memory is not None
    with memory:
        first = timed(lambda: memory.search(asked[0]))
        searching, query = [], []
        for text in asked:  # in turns, so that a busy machine slows both alike
            searching.append(timed(lambda text=text: memory.search(text)))
            query.append(timed(lambda text=text: model.embed_query(text + "?")))
        size = sum(memory.stats().bytes.values())
    return {
        "messages": count,
        "adding_s": adding,
        "adding_without_embedder_s": without,
        "opening_s": opening,
        "opening_share_of_adding": opening / without,
        "first_search_ms": 1000 * first,
        "search_p50_ms": 1000 * median(searching),
        "query_embedding_p50_ms": 1000 * median(query),
        "search_over_embedding": median(searching) / median(query),
        "disk_mb": size / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--real", action="store_true", help="embed the documents too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="siltstone-scale-") as folder:
        figures = measure(options.messages, Path(folder) / "store", real=options.real)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name.replace('_', ' '):28} {value:>12,.3f}")


if __name__ == "__main__":
    main()
