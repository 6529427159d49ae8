"""The constants of ranking, each with where it comes from.

``FITTED``: by ``benchmarks/recall.py`` on five LoCoMo conversations (948 questions), embedded model, 2026-11-29:
listwise softmax, ridge .003 on standardised parts. Each conversation scored by weights fitted without it: hit@1 .534,
R@5 .791, R@10 .850, against .405, .667, .779 of a linear mix of the same arms; every paired 95% interval excludes 0.
Nothing was fitted on Chinese: MemoryBank R@10 1.0, MADial (``PASSAGE``) R@10 .750. The parts one by one, and what did
not pay: ``benchmarks/RECALL.md``.
"""

from __future__ import annotations

from typing import Final

LONG: Final = 60
"""From this many search terms on, a query is a passage of conversation, not a question."""
REPEATED: Final = 0.7
"""In a passage, a term that stands there n times counts n to this power."""
ASIDE: Final = 0.3
"""How much a term counts that stands in a time of the question only: in "before the move", the move says when."""

FITTED: Final = {
    "lexical": 1.176,
    "coverage": 1.905,
    "dense": 0.284,
    "dense.alone": 0.495,
    "before.turn": -0.346,
    "before.window": 0.217,
    "before.dense": 0.117,
    "before2.dense": 0.193,
    "after.turn": -0.193,
    "after.dense": 0.222,
    "session.lexical": 0.399,
    "session.dense": 0.209,
    "who": 0.448,
    "answers": 0.440,
    "asks": -0.643,
    "time.words": 0.761,
    "time.asked": 2.326,
    "time.named": 3.393,
    "name": 0.436,
    "name.where": 1.399,
}
PASSAGE: Final = {"turn": 0.3, "dense": 0.7}
"""The same for a passage of ``LONG`` terms or more; chosen on MADial zh-dev, as are the next two."""
FEEDBACK: Final = 0.75
"""A passage is searched twice: its vector moves towards the mean of what was found best, by this much,"""
FED_BACK: Final = 3
"""from so many records. Without, R@5 is .622 and R@10 .723, with it .631 and .750: means over three roundings of the
int8 model, which alone move R@10 by .01. Lexical shares of .3 to .35 and feedback of .5 to 1 are a plateau. For
questions it gives nothing.
"""

BY_HAND: Final = {
    "turn.few": 1.0,  # in a handful of turns each is every other's neighbour: a turn's own words decide
    "closed": -4.0,  # what no longer holds stands below what does, unless the past is asked about
    "closed.asked": 0.5,
    "recent": 1.0,  # "where do I live now": the newest of the rows that match about as well as the best
    "importance": 0.5,  # from -0.25 at 0 to 0.25 at 1; unknown is neutral
    "freshness": 0.05,  # decides between equals only
}
"""No data set tells these: the situations in ``tests/test_recall.py`` come out with them as a person expects."""

CONTENDERS: Final = 0.4
"""Rows match about as well as the best when they are this near to it, as a share of its lead over the median row."""
