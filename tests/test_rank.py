"""Ranking as arithmetic: the lexical arms, the dense arm, sessions, times and ties."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections import Counter
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.protocols import UNKNOWN, Candidates, Put, Query, Where
from siltstone.recall.arm import DEPTH, Arm, z_scores
from siltstone.recall.lexical import K1, NEAR, B, bm25
from siltstone.recall.parts import closeness
from siltstone.recall.question import read_question
from siltstone.recall.rank import rank
from siltstone.records import KINDS, Message, Record, micros, turn_of
from siltstone.stores.ram import RamStore
from siltstone.text.keys import lexical_key
from siltstone.text.tokenize import terms

NOW = datetime(2024, 6, 12, 15, 30, tzinfo=timezone.utc)
WORDS = ("cat", "dog", "tea", "rain", "猫", "茶")


def turns(lines: list[tuple[str, str]]) -> list[Record]:
    """Return the turns of (session, text) pairs."""
    made = []
    for n, (session, text) in enumerate(lines):
        turn = turn_of(Message("user", text, id=f"m{n}", session_id=session, created_at=NOW), "u", NOW)
        assert turn is not None
        made.append(turn)
    return made


def candidates(records: list[Record], asked: tuple[str, ...], where: Where | None = None) -> Candidates:
    """Return what a store knows of a lexical query."""
    store = RamStore()
    records = [dataclasses.replace(record, user_id="u") for record in records]
    puts = [
        Put(r, Message("user", r.text, id=r.source_ids[0], session_id=r.session_id, created_at=r.created_at))
        if r.kind == "turn"
        else Put(r)
        for r in records
    ]
    store.commit("u", puts)
    return store.candidates("u", Query(asked, None, where or Where()))


@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)),
        min_size=1,
        max_size=20,
    )
)
def test_windows_score_like_an_index_of_windows(lines: list[tuple[str, list[str]]]) -> None:
    """Counts summed at query time give the BM25 of joined texts, and no window crosses a session."""
    records = turns([(session, " ".join(words)) for session, words in sorted(lines, key=lambda line: line[0])])
    asked = ("cat", "茶")
    scores = bm25(candidates(records, asked), [1.0, 2.0])
    held = [Counter(terms(lexical_key(record))) for record in records]
    for n, record in enumerate(records):
        joined = Counter(held[n])
        for m in (n - 1, n + 1):
            if 0 <= m < len(records) and records[m].session_id == record.session_id:
                joined += held[m]
        assert scores.turn[n] == pytest.approx(
            _bm25(held[n], held, asked, (1, 2), _mean(held, records, False)), rel=1e-5
        )
        assert scores.window[n] == pytest.approx(
            _bm25(joined, held, asked, (1, 2), _mean(held, records, True)), rel=1e-5
        )


def _mean(held: list[Counter[str]], records: list[Record], wide: bool) -> float:
    mean = sum(sum(counts.values()) for counts in held) / len(held)
    pairs = sum(a.session_id == b.session_id for a, b in itertools.pairwise(records))
    return mean * (1 + 2 * pairs / len(held)) if wide else mean


def _bm25(
    text: Counter[str], all_: list[Counter[str]], asked: tuple[str, ...], weights: tuple[int, ...], mean: float
) -> float:
    score = 0.0
    for term, weight in zip(asked, weights, strict=True):
        df = sum(term in counts for counts in all_)
        idf = math.log(1 + (len(all_) - df + 0.5) / (df + 0.5))
        norm = K1 * (1 - B + B * sum(text.values()) / mean)
        score += weight * idf * text[term] * (K1 + 1) / (text[term] + norm)
    return score


def test_the_best_windows_are_found_among_many_matches() -> None:
    """Of more matches than windows are scored for, those with the best sums around them are, as if all were tried."""
    chance = random.Random(1)
    lines = [(f"s{n // 30}", " ".join(chance.choices(WORDS[:4], (8, 4, 2, 1), k=4))) for n in range(3 * NEAR)]
    found = candidates(turns(lines), WORDS[:4])
    scores = bm25(found, [1.0] * 4)
    turn = np.append(scores.turn, 0)
    around = turn[:-1] + turn[found.previous] + turn[found.following]
    best = np.sort(around)[-NEAR:]
    assert np.allclose(np.sort(around[scores.window > 0]), best)
    assert np.allclose(np.sort(turn[scores.best]), np.sort(turn)[-NEAR:])


def test_an_arm_that_cannot_tell_rows_apart_is_silent() -> None:
    """Equal scores, no scores and unknown scores give 0, never a division by zero."""
    everyone = np.ones(4, bool)
    for scores in (np.zeros(4), np.ones(4), np.full(4, np.nan)):
        for sparse in (True, False):
            arm = Arm(scores, everyone, sparse=sparse)
            assert z_scores([arm], np.arange(4))[0].tolist() == [0, 0, 0, 0] or (sparse and scores[0] == 1)


def test_unknown_and_unmatched_rows_count_as_the_least() -> None:
    """A row without a vector is no better than the worst with one; a missing neighbour is neither good nor bad."""
    arm = Arm(np.array([0.9, 0.8, np.nan, 0.1]), np.ones(4, bool), sparse=False)
    z = z_scores([arm], np.array([0, 1, 2, 3, -1]))[0]
    assert z[0] > z[1] > z[3] == z[2]
    assert z[4] == 0


def test_scores_are_judged_against_the_same_depth_at_every_size() -> None:
    """A thousand weak rows more do not change the z-scores of the best."""
    strong = np.linspace(1, 2, DEPTH)
    small = Arm(strong, np.ones(DEPTH, bool), sparse=False)
    large = Arm(np.concatenate([strong, np.zeros(1000)]), np.ones(DEPTH + 1000, bool), sparse=False)
    assert np.allclose(*(z_scores([arm], np.arange(DEPTH)) for arm in (small, large)))


def test_only_eligible_rows_are_judged_against_and_returned() -> None:
    """A filter leaves its rows the whole scale; the others lend evidence as neighbours only."""
    records = [*turns([("s", "the cat sat")] * 5), *(fact(n) for n in range(5))]
    question = read_question("cat", NOW)
    ranking = rank(candidates(records, question.terms, Where(kinds=("fact",))), question, NOW)
    kinds = candidates(records, question.terms).kind[ranking.rows]
    assert set(kinds.tolist()) == {KINDS.index("fact")}


def fact(n: int) -> Record:
    """Return one of several facts about a cat."""
    return Record(id=f"f{n}", text=f"The cat weighs {n} kilos.", created_at=NOW, stored_at=NOW)


def test_ties_are_in_order_of_writing() -> None:
    """Equal scores rank as they were written, the same in every process."""
    records = [fact(n) for n in range(6)]
    question = read_question("cat", NOW)
    ranking = rank(candidates(records, question.terms), question, NOW)
    assert ranking.rows.tolist() == sorted(ranking.rows.tolist())


@pytest.mark.parametrize(
    ("question", "days", "better_days"),
    [("on 8 May 2024", 60, 34), ("in May 2024", 70, 30), ("5月8日", 60, 33), ("yesterday", 9, 1), ("in 2022", 30, 800)],
)
def test_the_nearer_time_is_closer(question: str, days: int, better_days: int) -> None:
    """Closeness is highest within the period and falls off after it."""
    records = [
        Record(id=str(d), text=f"said {d}", created_at=NOW - timedelta(days=d), stored_at=NOW)
        for d in (days, better_days)
    ]
    read = read_question(question, NOW)
    far, near = closeness(candidates(records, read.terms), read.periods, np.arange(2))
    assert 0 <= far < near <= 1


def test_when_it_happened_counts_too() -> None:
    """The nearer of when it happened and when it was said is what a time in the question meets."""
    happened = Record(
        id="a", text="trip", created_at=NOW, stored_at=NOW, occurred_at=datetime(2023, 5, 8, tzinfo=timezone.utc)
    )
    read = read_question("on 8 May 2023", NOW)
    found = candidates([happened], read.terms)
    assert found.occurred_at[0] == micros(happened.occurred_at or NOW) != UNKNOWN
    assert closeness(found, read.periods, np.arange(1)).tolist() == [1.0]


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("Where do I live now?", "asks_present"),
        ("我现在住在哪里？", "asks_present"),
        ("Where did I live before?", "asks_past"),
        ("我以前住在哪里？", "asks_past"),
        ("When did we meet?", "asks_when"),
        ("我们什么时候见的面？", "asks_when"),
        ("What city was it?", "asks_where"),
        ("在哪里买的？", "asks_where"),
    ],
)
def test_a_question_is_read_by_rule(text: str, flag: str) -> None:
    """What a question wants is known from its words, in both languages."""
    assert getattr(read_question(text, NOW), flag)


@pytest.mark.parametrize(
    "text",
    [
        "What must we mind when we go out for dinner?",
        "When we go out for dinner, what must we mind?",
        "出去吃饭要注意什么？",
    ],
)
def test_a_circumstance_is_no_question_about_time(text: str) -> None:
    """Only who asks when it was gets what says when."""
    assert not read_question(text, NOW).asks_when


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("What did you recommend?", "assistant"),
        ("你给我推荐过什么？", "assistant"),
        ("What did I say about tea?", "user"),
        ("我说过我喜欢什么茶？", "user"),
        ("What is my name?", "user"),
        ("我叫什么名字？", "user"),
        ("What did I tell you about tea?", "user"),
        ("我和你说过我喜欢什么茶？", "user"),
        ("What is the capital of France?", None),
        ("法国的首都是哪里？", None),
    ],
)
def test_whose_words_are_asked_about_is_read(text: str, role: str | None) -> None:
    """Recommending and saying tell whose turns are meant; other questions leave it open."""
    assert read_question(text, NOW).role == role


def test_a_passage_asks_for_nothing_special() -> None:
    """Sixty terms are a conversation, whose "now" and "you said" are not the user's question."""
    passage = read_question("You said so yesterday, and now I wonder about tea and rain. " * 20, NOW)
    assert passage.passage
    assert not passage.asks_present
    assert passage.role is None
    assert passage.periods == ()
