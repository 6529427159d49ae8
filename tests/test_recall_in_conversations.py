"""Recall over whole conversations of our own making, 44 English and 41 Chinese questions: a floor, not a record."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from siltstone.evaluate import custom
from siltstone.evaluate.cases import Benchmark
from siltstone.evaluate.metrics import Judged
from siltstone.evaluate.run import measure
from siltstone.models.resolve import resolve_embedder

CONVERSATIONS = Path(__file__).with_name("conversations.jsonl")


@lru_cache
def judged(language: str) -> tuple[Judged, ...]:
    """Return how the questions of one language went, as an application would ask them."""
    benchmark = custom.load(CONVERSATIONS)
    chosen = tuple(haystack for haystack in benchmark.haystacks if haystack.name.startswith(language))
    return measure(Benchmark(language, chosen, ""), ":memory:", embedder=resolve_embedder(None)).questions


@pytest.mark.parametrize(("language", "hit", "five", "ten"), [("en", 0.5, 0.85, 0.95), ("zh", 0.65, 0.93, 0.95)])
def test_questions_find_their_turns(language: str, hit: float, five: float, ten: float) -> None:
    """In English as in Chinese, nearly all gold turns are among the first ten, most among the first five."""
    questions = judged(language)
    assert sum(q.hit() for q in questions) / len(questions) >= hit
    assert sum(q.recall(5) for q in questions) / len(questions) >= five
    assert sum(q.recall(10) for q in questions) / len(questions) >= ten
