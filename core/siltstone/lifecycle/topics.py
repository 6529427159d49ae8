"""Summaries of topics: which spans, of whatever sessions, are about one thing.

A topic is founded when enough spans of more than one session lie near each other, is known by the span that came
first, and grows by what comes near it. Spans stay in the topic that they were put into, so that it remains the same
one. What is near is told by vectors, seen from the middle of all summaries in the language: what one person's
conversations have all in common tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from ..index.products import gram, products
from ..protocols import Floats, Where
from ..records import Record
from ..text.language import is_chinese
from .jobs import KIND, TOPIC_MARK
from .rolled import TOPIC, Rolled, allowed, is_outdated, rolled_id
from .spans import hashed
from .work import Work

RIPE: Final = 3
"""So many spans, of two sessions at least, make a topic."""
NEAR: Final = 0.2
"""Cosine, seen from the middle, from which two spans are about one thing; of their mean, what a further one needs.

Of 31 spans of nine hobbies and chores in two languages (2026-11-30), by the embedded model: eight topics are found,
of 28 spans, and none of them holds a span of another. Of what friends talk about in LoCoMo, some of everything in each
conversation, none.
"""
JOIN: Final = 0.35
"""The same of a span and the middle of a topic: that of many lies nearer to each than they to each other."""
PRIOR: Final = 0.5
"""Counts as so many summaries at the origin: the first topic of few summaries would be taken for their middle."""
LOOSE: Final = 256
"""So many of the newest spans without a topic are looked at: the others have found none for long."""
SOURCES: Final = 32
"""A topic's summary is made of so many of its newest spans; the older ones are in those of their months."""


def due_topics(work: Work) -> Iterator[Rolled]:
    """Yield the summaries of topics that are due: those that lack one, that have grown by a quarter, or changed.

    O(n dim) for ``n`` summaries of spans, beside what ``grouped`` takes. What is decided is kept with the summary, in a
    hidden record that rests on nothing: a topic keeps its id when its summary goes with one of its sources.
    """
    found, vectors = work.embedded(("summary",))
    rows = [row for row, record in enumerate(found) if record.level == 0]
    made = {record.id: record for record in found if record.level == TOPIC}
    marks = {
        record.id.removeprefix(TOPIC_MARK): record
        for record in work.store.scan(work.user_id, Where(kinds=(KIND,)))
        if record.id.startswith(TOPIC_MARK)
    }
    topics = {of: mark.metadata["members"] for of, mark in marks.items()}
    groups = grouped([found[row] for row in rows], vectors[rows], topics)
    if (empty := [TOPIC_MARK + of for of, members in groups.items() if not members]) and not work.dry_run:
        work.store.remove(work.user_id, empty)
    for of, members in groups.items():
        before = made.get(rolled_id(TOPIC, of))
        sources = allowed(TOPIC, of, members[-SOURCES:], work)
        if not _is_ripe(sources) or (before is not None and not _has_grown(before, sources)):
            continue
        mark = _mark(work, of, members, marks.get(of))
        yield Rolled(TOPIC, of, tuple(sources), 0 if before is None else before.version, (mark,))


def _has_grown(before: Record, sources: Sequence[Record]) -> bool:
    """Return whether a summary is out of date: small ones with each new source, large ones with every few."""
    fresh = sum(one.id not in before.source_ids for one in sources)
    return fresh > len(before.source_ids) // 4 or is_outdated(before, sources)


def _is_ripe(spans: Sequence[Record]) -> bool:
    return len(spans) >= RIPE and len({span.session_id for span in spans}) > 1


def _mark(work: Work, of: str, members: Sequence[Record], before: Record | None) -> Record:
    return Record(
        id=TOPIC_MARK + of, text="", kind=KIND, user_id=work.user_id, created_at=work.now, stored_at=work.now,
        version=1 if before is None else before.version + 1, metadata={"members": [one.id for one in members]},
    )  # fmt: skip


def grouped(
    spans: Sequence[Record], vectors: Floats, topics: Mapping[str, Sequence[str]]
) -> dict[str, tuple[Record, ...]]:
    """Return the spans of each topic, in order of time; ``topics`` are the ids of those that it is known to have.

    ``vectors`` is ``(n, dim)``, nan where there is none yet: such a span waits. O(n dim) for ``n`` spans, and at most
    ``LOOSE`` times (``LOOSE`` + number of topics) products of vectors.
    """
    order = sorted(range(len(spans)), key=lambda row: (spans[row].created_at, spans[row].id))
    spans, vectors = [spans[row] for row in order], vectors[order]
    place = {record.id: row for row, record in enumerate(spans)}
    members = {of: [place[id] for id in ids if id in place] for of, ids in topics.items()}
    taken = {row for rows in members.values() for row in rows}
    chinese = [is_chinese(record.text) for record in spans]
    for language in (True, False):
        seen = [row for row in range(len(spans)) if chinese[row] is language and not np.isnan(vectors[row]).any()]
        moved = _from_the_middle(vectors, seen)
        loose = [row for row in seen if row not in taken][-LOOSE:]
        known = {of: rows for of, rows in members.items() if rows and chinese[rows[0]] is language}
        left = _join(loose, known, moved)
        members |= known | _founded(left, moved, spans)
    return {of: tuple(spans[row] for row in sorted(rows)) for of, rows in members.items()}


def _from_the_middle(vectors: Floats, seen: Sequence[int]) -> Floats:
    """Return unit vectors that point from the middle of those that are seen; 0 for the others."""
    moved = np.zeros_like(vectors)
    if seen:
        moved[seen] = vectors[seen] - vectors[seen].sum(axis=0) / (len(seen) + PRIOR)
    return _unit(moved)


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _join(loose: Sequence[int], members: Mapping[str, list[int]], moved: Floats) -> list[int]:
    """Put spans into the topics that they are near, in order of time; return those that are near none."""
    if not members:
        return list(loose)
    names = list(members)
    sums = np.stack([moved[members[of]].sum(axis=0) for of in names])
    left = []
    for row in loose:
        cosines = products(_unit(sums), moved[row])
        best = int(np.argmax(cosines))
        if cosines[best] >= JOIN:
            members[names[best]].append(row)
            sums[best] += moved[row]
        else:
            left.append(row)
    return left


def _founded(loose: Sequence[int], moved: Floats, spans: Sequence[Record]) -> dict[str, list[int]]:
    """Return the topics that are ripe among spans, in order of time."""
    near = gram(moved[loose])
    free = list(range(len(loose)))
    topics: dict[str, list[int]] = {}
    while free:
        first, *others = free
        group = [first]
        for other in others:
            if near[first, other] >= NEAR and near[other, group].mean() >= NEAR:
                group.append(other)
        ripe = _is_ripe([spans[loose[n]] for n in group])
        if ripe:
            topics[hashed("topic", spans[loose[first]].id)] = [loose[n] for n in group]
        free = [n for n in others if not ripe or n not in group]
    return topics
