"""The constants of ranking, each with where it comes from.

``FITTED``: listwise softmax over the parts of ``parts.py``, l2 .003 on standardised parts, fitted on five LoCoMo
conversations (948 questions), multilingual-e5-small int8, 2026-11-29. Scored without the conversation that was
fitted on, it gave hit@1 .531, R@5 .775, R@10 .837, against .403, .682, .784 of a z-mix of the three arms with
neighbour and session evidence; every paired 95% interval excludes 0. Nothing of it was fitted on Chinese data:
MADial R@10 .745, MemoryBank R@10 1.0.
"""

from __future__ import annotations

from typing import Final

LONG: Final = 60
"""From this many search terms on, a query is a passage of conversation, not a question."""

FITTED: Final = {
    "lexical.window_best": 1.727,
    "lexical.coverage": 1.266,
    "dense": 0.278,
    "dense.alone": 0.4,  # meaning counts for more, the fewer of the question's words are found anywhere
    "before.lexical": -0.340,
    "before.window": 0.284,
    "after.lexical": -0.192,
    "after.window": 0.061,
    "before.dense": 0.171,
    "after.dense": 0.232,
    "before2.dense": 0.178,
    "session.lexical": 0.410,
    "session.dense": 0.244,
    "speaker.named": 0.540,
    "speaker.other": -0.550,
    "answer": 0.407,
    "asks": -0.366,
    "time.words": 0.606,
    "time.asked": 2.135,
    "time.named": 3.677,
    "name": 0.419,
    "name.where": 1.437,
    "common": -0.509,
}
PASSAGE: Final = {"lexical.turn": 0.4, "dense": 0.6, "common": -0.2}
"""The same for a passage of ``LONG`` terms or more; chosen on MADial zh-dev, R@5 .582, R@10 .745."""

FEW: Final = {"lexical.own": 1.0}
"""Beside ``FITTED``, unless one side's words are asked for (an answer shares few words with the question): in a handful
of turns each is every other's neighbour, and a turn's own words have to decide."""

BY_HAND: Final = {
    "role.asked": 1.0,  # as much as a name makes between two speakers: "what did you recommend"
    "closed": -4.0,  # what no longer holds stands below what does, unless the past is asked about
    "closed.asked": 0.5,
    "recent": 1.0,  # "where do I live now": the newest of the rows that match about as well as the best
    "importance": 0.5,  # from -0.25 at 0 to 0.25 at 1; unknown is neutral
    "freshness": 0.05,  # decides between equals only
}
"""No data set tells these: the situations in ``tests/test_recall.py`` come out with them as a person expects."""

CONTENDERS: Final = 0.4
"""Rows match about as well as the best when they are this near to it, as a share of its lead over the median row."""

HALF_LIFE_DAYS: Final = {"event": 30.0, "turn": 180.0, "summary": 365.0, "insight": 365.0}
"""After how long a memory of a kind is half as fresh; other kinds (profile, fact, document, item) do not age."""
