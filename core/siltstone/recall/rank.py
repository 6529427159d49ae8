"""Fusion: one order of rows from all that is known of them. Pure numpy; every engine ranks by this alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from ..protocols import UNKNOWN, Candidates, Ints
from ..records import ROLES, micros
from .arm import DEPTH, Arm
from .lexical import Lexical, bm25
from .parts import Arms, evidence, form, recency, standing
from .question import Question, name_terms
from .weights import ASIDE, BY_HAND, FITTED, PASSAGE, REPEATED

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ranking:
    """Rows in order, the best first.

    ``rows``    ``(m,)`` positions into the candidates' arrays, eligible ones only, no two of the same text
    ``scores``  ``(m,)`` descending
    ``names``   of the parts that each score is the sum of; ``parts`` ``(len(names), m)``
    ``twins``   positions left out because a newer row, the key, says the same
    """

    rows: Ints
    scores: Array
    names: Sequence[str]
    parts: Array
    twins: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def rank(candidates: Candidates, question: Question, now: datetime, *, depth: int = DEPTH) -> Ranking:
    """Return the candidates in order for a question, at least ``depth`` of them where so many speak for it.

    ``candidates.postings`` are those of ``question.terms``, in that order. O(rows + postings).
    """
    rows, parts = score_parts(candidates, question, now, depth=depth)
    chosen = (PASSAGE if question.passage else FITTED) | BY_HAND
    names = [name for name in chosen if name in parts]
    weighted = np.zeros((len(names) + 1, len(rows)))
    for place, name in enumerate(names):
        weighted[place] = parts[name]
    weighted *= np.array([[chosen[name]] for name in (*names, "recent")])
    scores: Array = weighted.sum(axis=0)
    if question.asks_present and not question.asks_past:
        weighted[-1] = chosen["recent"] * recency(candidates, scores, rows)
        scores += weighted[-1]
    order = np.lexsort((candidates.keys.take(rows), -scores))
    kept, twins = _collapse(candidates, rows[order], micros(now))
    order = order[kept]
    return Ranking(rows[order], scores[order], [*names, "recent"], weighted.take(order, axis=1), twins)


def score_parts(
    candidates: Candidates, question: Question, now: datetime, *, depth: int = DEPTH
) -> tuple[Ints, dict[str, Array]]:
    """Return the rows that any arm has among its best, ``(m,)``, and all that is known of them by name, unweighted.

    What tells nothing of any row may be left out.
    """
    lexical = bm25(candidates, _term_weights(question, name_terms(candidates.speakers)))
    arms = _arms(candidates, lexical)
    rows = _pooled(arms, depth)
    found = evidence(candidates, question, arms, rows)
    said = form(candidates, question, found["before.turn"], rows)
    return rows, found | said | standing(candidates, question, now, rows)


def _arms(candidates: Candidates, lexical: Lexical) -> Arms:
    eligible = candidates.eligible
    return Arms(
        lexical,
        turn=Arm(lexical.turn, eligible, sparse=True, best=lexical.best),
        window=Arm(lexical.window, eligible, sparse=True),
        dense=Arm(candidates.dense, eligible, sparse=False),
    )


def _pooled(arms: Arms, depth: int) -> Ints:
    """Return the rows that any arm has among its best ``depth``, ascending."""
    pooled = np.zeros(len(arms.turn.scores), np.bool_)
    for arm in (arms.turn, arms.window, arms.dense):
        pooled[arm.pool(depth)] = True
    return pooled.nonzero()[0]


def _term_weights(question: Question, names: frozenset[str]) -> list[float]:
    """Return how often each term counts: speakers' names not at all, repetitions in a passage less and less.

    Terms that only tell a time ("before the move") count ``ASIDE``.
    """
    content = [0 if term in names else count for term, count in zip(question.terms, question.counts, strict=True)]
    if not any(content):
        content = list(question.counts)
    if question.passage:
        return [count**REPEATED for count in content]
    return [
        count * (ASIDE if term in question.aside else 1.0) for term, count in zip(question.terms, content, strict=True)
    ]


def _collapse(candidates: Candidates, rows: Ints, now: int) -> tuple[Ints | slice, dict[int, tuple[int, ...]]]:
    """Return which of the rows stay, by an index, when of each text by one speaker only the newest that holds does."""
    said_by = candidates.speaker.take(rows) * len(ROLES) + candidates.role.take(rows)
    texts = (candidates.text_hash.take(rows) + said_by).tolist()
    if len(set(texts)) == len(rows):
        return slice(None), {}
    occurred, until = candidates.occurred_at[rows], candidates.valid_until[rows]
    time = np.where(occurred == UNKNOWN, candidates.said_at[rows], occurred)
    holds = (until == UNKNOWN) | (until > now)
    newest = {texts[at]: at for at in np.lexsort((candidates.keys[rows], time, holds)).tolist()}  # the last is kept
    twins: dict[int, tuple[int, ...]] = {}
    for at, row in enumerate(rows.tolist()):
        if (stays := newest[texts[at]]) != at:
            kept = int(rows[stays])
            twins[kept] = (*twins.get(kept, ()), row)
    return np.sort(list(newest.values())), twins
