"""Postings: what was added is found, whatever has been sealed and merged, and deleted rows leave."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siltstone.index.postings import MOST, Postings, merge

rows = st.lists(st.dictionaries(st.sampled_from("abcdefg深圳"), st.integers(1, 40), max_size=6), max_size=30)


def expected(counts: list[dict[str, int]], term: str, limit: int) -> tuple[list[int], list[float]]:
    """Return what a plain loop finds."""
    hits = [(row, float(min(held[term], MOST))) for row, held in enumerate(counts[:limit]) if term in held]
    return [row for row, _ in hits], [count for _, count in hits]


@given(rows, st.sets(st.integers(0, 29)), st.integers(0, 30))
def test_all_rows_are_found_through_seals(counts: list[dict[str, int]], seals: set[int], limit: int) -> None:
    """Rows and counts of every term are complete and ascending, cut at the reader's number of rows."""
    postings = Postings()
    for row, held in enumerate(counts):
        postings.add(row, held)
        if row in seals:
            postings.seal()
    snapshot = postings.snapshot()
    for term in "abcdefg深圳x":
        found, held = snapshot.find(term, limit)
        assert (found.tolist(), held.tolist()) == expected(counts, term, limit)
    found, held, sizes = snapshot.find_all(["b", "x", "深圳"])
    wanted = [expected(counts, term, len(counts)) for term in ("b", "x", "深圳")]
    assert found.tolist() == [row for rows, _ in wanted for row in rows]
    assert held.tolist() == [count for _, counted in wanted for count in counted]
    assert sizes.tolist() == [len(rows) for rows, _ in wanted]


@given(rows, st.sets(st.integers(0, 29)), st.sets(st.integers(0, 29)))
def test_a_merge_keeps_the_living_alone(counts: list[dict[str, int]], seals: set[int], gone: set[int]) -> None:
    """One block of many holds the postings of all rows that are not dead, and no term without one."""
    postings = Postings()
    for row, held in enumerate(counts):
        postings.add(row, held)
        if row in seals:
            postings.seal()
    postings.seal()
    dead = np.array([row in gone for row in range(len(counts))], np.bool_)
    block = merge(postings.snapshot().blocks, dead)
    living = [{} if row in gone else held for row, held in enumerate(counts)]
    snapshot = Postings([block]).snapshot()
    for term in "abcdefg深圳":
        found, held = snapshot.find(term, len(counts))
        assert (found.tolist(), held.tolist()) == expected(living, term, len(counts))
    assert len(block.hashes) == len({term for held in living for term in held})


def test_a_reader_keeps_what_it_saw() -> None:
    """A snapshot taken before more is added, sealed and merged still gives the same rows."""
    postings = Postings()
    for row in range(100):
        postings.add(row, {"a": 1, f"t{row}": 2})
    before = postings.snapshot()
    for row in range(100, 5_000):
        postings.add(row, Counter({f"{term}{row % 97}": 1 for term in "abcdefghijklmnopqrstuvwxyz"} | {"a": 3}))
        if postings.is_full:
            postings.tidy(np.zeros(row + 1, np.bool_))
    assert before.find("a", 100)[0].tolist() == list(range(100))
    found, held = postings.snapshot().find("a", 5_000)
    assert found.tolist() == list(range(5_000))
    assert held.tolist() == [1.0] * 100 + [3.0] * 4_900
    assert len(postings.snapshot().blocks) < 4
