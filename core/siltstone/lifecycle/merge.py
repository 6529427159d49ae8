"""Near-identical statements of one topic become one: sources united, support added, the others kept as its past.

Rules of words do this while a digest is taken in (``revise``); here vectors do it, for what says the same in other
words. A merge is undone by looking at ``history``, and by ``forget`` of the statement that was kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ..index.products import gram
from ..protocols import Floats
from ..records import Record, replace, unique
from ..tiers.long_term import Plan
from .likeness import denies, names, words
from .revise import same_day
from .work import NOTHING, REVISED, Work, writes

ALIKE: Final = 0.985
"""Cosine from which two statements of one topic say the same, if they have words and all names in common.

Of the embedded model, over topic and text: "I'm allergic to peanuts" and "I have a peanut allergy" .987, 我有两个孩子
and 我家有两个小孩 .990; of what differs, basketball and volleyball in Chinese come nearest, .982 (18 pairs).
"""
SHARED: Final = 0.3
"""The share of the shorter statement's words that must be common to both."""


def merge_alike(work: Work) -> None:
    """Merge what is alike among what is known, if something was added."""
    if not any(row.action in ("add", "reopen") for row in work.rows) or work.dry_run:
        return
    merged: list[tuple[Record, list[Record]]] = []

    def plan() -> Plan:
        page, at = work.ledger()
        records, vectors = work.embedded(REVISED)
        merged[:] = [_merge(cluster, work) for cluster in clusters(records, vectors)]
        if not merged:
            return NOTHING
        puts, expect = writes([record for kept, others in merged for record in (kept, *others)])
        return Plan((*puts, page), {**expect, page.id: at}, tuple(put.id for put in puts))

    if work.long_term.write(work.user_id, plan).puts:
        work.dropped()
    for kept, others in merged:
        why = "says the same as " + ", ".join(repr(other.text) for other in others)
        work.note("merge", [kept.id, *(other.id for other in others)], kept.text, why)


def clusters(records: Sequence[Record], vectors: Floats) -> Iterator[list[Record]]:
    """Yield groups of statements that say the same, each in order of writing."""
    topics: dict[str, list[int]] = {}
    for row, record in enumerate(records):
        if record.topic is not None and record.superseded_by is None and not np.isnan(vectors[row]).any():
            topics.setdefault(f"{record.kind}\0{record.topic}", []).append(row)
    for rows in topics.values():
        if len(rows) < 2:
            continue
        near = gram(vectors[rows]) >= ALIKE
        left = list(range(len(rows)))
        while left:
            first, *others = left
            same = [n for n in others if near[first, n] and _agree(records[rows[first]], records[rows[n]])]
            left = [n for n in others if n not in same]
            if same:
                yield [records[rows[n]] for n in (first, *same)]


def _agree(one: Record, other: Record) -> bool:
    """Return whether two statements name the same things, on the same day, and neither denies the other."""
    mine, its = words(one.text), words(other.text)
    common = len(mine & its) >= SHARED * min(len(mine), len(its))
    return (
        common
        and names(one.text) == names(other.text)
        and denies(one.text) == denies(other.text)
        and same_day(one, other)
    )


def _merge(cluster: Sequence[Record], work: Work) -> tuple[Record, list[Record]]:
    """Return the statement that is kept, the oldest, and the others as parts of its past."""
    kept, *others = cluster
    united = replace(
        kept,
        source_ids=unique(id for record in cluster for id in record.source_ids),
        support=sum(record.support for record in cluster),
        version=kept.version + 1,
        updated_at=work.now,
    )
    gone = [
        replace(
            other,
            valid_until=other.valid_from or other.created_at,
            superseded_by=kept.id,
            version=other.version + 1,
            updated_at=work.now,
        )
        for other in others
    ]
    return united, gone
