"""Importing: what a reader yields is decided and committed batch by batch.

Each batch is one commit that insists on what was read for it, as any other write is. Killed in between, an import is
run again: what is there is ``unchanged``, and it goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from ..importers.reader import Copied, Found, Noted, Reading, Said, Unreadable
from ..lifecycle import update
from ..protocols import Embedder, Floats, Progress, Store, Stored
from ..records import ImportProblem, ImportReport, Record
from ..text.keys import dense_key
from ..tiers.long_term import LongTerm, Plan
from .decide import FORGOTTEN, OUTDATED, Decision, Outcome, Rules, changed_at, decide
from .reads import Ahead, Reads
from .same_space import same_space

BATCH: Final = 500
"""Items that are committed at once."""
_MOST_PROBLEMS: Final = 1_000


class Import:
    """One import into one user's memory; ``run`` it once.

    ``stored`` is called with the ids of the items that a batch wrote.
    """

    def __init__(
        self,
        store: Store,
        long_term: LongTerm,
        embedder: Embedder,
        rules: Rules,
        *,
        dry_run: bool,
        stored: Callable[[Sequence[str]], None],
    ) -> None:
        self._store, self._long_term, self._embedder, self._rules = store, long_term, embedder, rules
        self._ahead = Ahead(rules.user_id) if dry_run else None
        self._stored = stored
        self._counts: Counter[str] = Counter()
        self._problems: list[ImportProblem] = []
        self._waiting: dict[int, tuple[Found, Outcome]] = {}
        self._changed: set[str] = set()
        self._vectors_fit: bool | None = None
        self._vectors: Counter[bool] = Counter()

    def run(self, format: str, reading: Reading, progress: Progress | None) -> ImportReport:
        """Import everything that is read; return the report."""
        done = 0
        for batch in _batches(reading.items):
            self._write(batch, last=False)
            done += len(batch)
            if progress is not None:
                progress(done, max(done, reading.total or 0))
        self._settle()
        counts = {name: self._counts[name] for name in ("added", "updated", "unchanged", "skipped", "failed")}
        return ImportReport(
            format,
            read=sum(counts.values()),
            **counts,
            problems=tuple(self._problems),
            notes=tuple(self._notes()),
            dry_run=self._ahead is not None,
        )

    def _settle(self) -> None:
        """Write what waited for items that stood behind it, until what is left waits for nothing that will come."""
        left, last = -1, False
        while self._waiting:
            left, last = len(self._waiting), len(self._waiting) == left
            for batch in _batches([found for found, _ in self._waiting.values()]):
                self._write(batch, last=last)

    def _write(self, batch: Sequence[Found], *, last: bool) -> None:
        self._judge_vectors(batch)
        decided: list[tuple[Found, Decision]] = []

        def plan() -> Plan:
            reads = Reads(self._store, self._rules.user_id, _ids(batch), self._ahead)
            decided[:] = [(found, self._decide(found, reads)) for found in batch]
            puts = tuple(put for _, decision in decided for put in decision.puts)
            return Plan(puts, reads.expect, tuple(reads.written))

        if self._ahead is None:
            written = update.write(self._store, self._long_term, self._rules.user_id, plan)
            skipped = written.skipped
            self._stored([id for id in written.ids if id not in skipped])
        else:
            skipped = self._pretend(plan)
        for found, decision in decided:
            self._count(found, decision, set(skipped), last=last)

    def _decide(self, found: Found, reads: Reads) -> Decision:
        if isinstance(found.item, Unreadable):
            return Decision("failed", reason=found.item.reason)
        if isinstance(found.item, Copied) and self._is_outdated(found.item.versions[-1], reads):
            return Decision("skipped", reason=OUTDATED)
        vector = _vector(found) if self._vectors_fit else None
        decision = decide(found.item, reads, self._rules, vector)
        for put in decision.puts[-1:]:
            before = reads.get(put.id)
            if before is not None and update.told(before) != update.told(put):
                self._changed.add(put.id)
        reads.put(decision.puts)
        return decision

    def _is_outdated(self, copy: Stored, reads: Reads) -> bool:
        """Return whether a copy was made of a text that this import has changed since."""
        made = copy.record
        if made is None or copy.message is not None or made.made_by == "user":
            return False
        sources = [reads.get(id) for id in made.source_ids if id in self._changed]
        return any(s is not None and s.record is not None and changed_at(made) < changed_at(s.record) for s in sources)

    def _pretend(self, plan: Callable[[], Plan]) -> tuple[str, ...]:
        """Note what a commit would have stored and taken out; return what it would have skipped."""
        assert self._ahead is not None
        planned = plan()
        changed = update.changed_texts(self._store, self._rules.user_id, planned)
        if stale := update.made_of(self._store, self._rules.user_id, changed):
            self._ahead.drop(stale)
            planned = plan()
        skipped = self._store.refused(self._rules.user_id, planned.puts)
        for put in planned.puts:
            if put.id not in skipped:
                self._ahead.put(put)
        return skipped

    def _count(self, found: Found, decision: Decision, skipped: set[str], *, last: bool) -> None:
        _, outcome = self._waiting.pop(id(found), (found, decision.outcome))  # what it was when it came first
        reason = decision.reason
        if any(put.id in skipped for put in decision.puts):
            outcome, reason = "skipped", FORGOTTEN
        elif decision.lacks is not None and not last:
            self._waiting[id(found)] = found, outcome
            return
        elif decision.lacks is not None:
            outcome, reason = "skipped", f"it rests on {decision.lacks!r}, which is not in this store"
        self._counts[outcome] += 1
        if outcome in ("added", "updated") and _vector(found) is not None:
            self._vectors[bool(self._vectors_fit)] += 1
        if reason is not None and len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(ImportProblem(found.where, outcome, reason, next(iter(_ids([found])), None)))

    # --- vectors

    def _judge_vectors(self, batch: Sequence[Found]) -> None:
        """Find out once, from the first batch with vectors, whether they can be taken over."""
        if self._vectors_fit is not None:
            return
        pairs = [
            (dense_key(record), vector)
            for found in batch
            if (vector := _vector(found)) is not None and (record := _record(found)) is not None
        ]
        if pairs:
            texts, vectors = zip(*pairs, strict=True)
            self._vectors_fit = same_space(self._embedder, texts, vectors)

    def _notes(self) -> Iterator[str]:
        if taken := self._vectors[True]:
            yield f"{taken} vectors of the source are of this memory's embedding space and were taken over"
        if left := self._vectors[False]:
            yield (
                f"{left} vectors of the source could not be shown to be of this memory's embedding space: "
                "their texts are embedded anew"
            )


def _batches(items: Iterable[Found]) -> Iterator[list[Found]]:
    stream = iter(items)
    while batch := list(islice(stream, BATCH)):
        yield batch


def _ids(batch: Iterable[Found]) -> Iterator[str]:
    """Yield the ids of the items, and of what they rest on."""
    for found in batch:
        if isinstance(found.item, Copied):
            newest = found.item.versions[-1]
            yield newest.id
            if newest.record is not None and newest.message is None:
                yield from newest.record.source_ids
        elif isinstance(found.item, Said) and found.item.message.id is not None:
            yield found.item.message.id
        elif isinstance(found.item, Noted):
            yield found.item.record.id


def _vector(found: Found) -> Floats | None:
    vector = found.item.vector if isinstance(found.item, (Copied, Noted)) else None
    if vector is None or not np.isfinite(vector).all() or not vector.any():
        return None
    return vector


def _record(found: Found) -> Record | None:
    if isinstance(found.item, Copied):
        return found.item.versions[-1].record
    return found.item.record if isinstance(found.item, Noted) else None
