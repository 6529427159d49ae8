"""Recall over data of our own making: 44 English and 41 Chinese questions about conversations, 24 and 24 dialogues
that bring notes to mind. A floor, not a record.
"""

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
PASSAGES = Path(__file__).with_name("passages.jsonl")


@lru_cache
def judged(file: Path, language: str) -> tuple[Judged, ...]:
    """Return how the questions of one language went, as an application would ask them."""
    benchmark = custom.load(file)
    chosen = tuple(haystack for haystack in benchmark.haystacks if haystack.name.startswith(language))
    return measure(Benchmark(language, chosen, ""), ":memory:", embedder=resolve_embedder(None)).questions


@pytest.mark.parametrize(("language", "hit", "five", "ten"), [("en", 0.5, 0.85, 0.95), ("zh", 0.65, 0.93, 0.95)])
def test_questions_find_their_turns(language: str, hit: float, five: float, ten: float) -> None:
    """In English as in Chinese, nearly all gold turns are among the first ten, most among the first five."""
    questions = judged(CONVERSATIONS, language)
    assert sum(q.hit() for q in questions) / len(questions) >= hit
    assert sum(q.recall(5) for q in questions) / len(questions) >= five
    assert sum(q.recall(10) for q in questions) / len(questions) >= ten


@pytest.mark.parametrize(("language", "ten"), [("en", 0.8), ("zh", 0.75)])
def test_dialogues_bring_notes_to_mind(language: str, ten: float) -> None:
    """A piece of talk that mentions none of a person's notes still finds those that it should remind one of."""
    questions = judged(PASSAGES, language)
    assert sum(q.recall(10) for q in questions) / len(questions) >= ten
