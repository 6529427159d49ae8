"""Importing: what a reader yields is decided and committed batch by batch.

Each batch is one commit that insists on what was read for it, as any other write is. Killed in between, an import is
run again: what is there is ``unchanged``, and it goes on. What fails is tried once more when everything else is done,
and kept as ``Failures``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from ..errors import ModelError
from ..importers.reader import Copied, Found, Noted, PassedOver, Reading, Said, Unreadable, Whole
from ..lifecycle import update
from ..protocols import Embedder, Progress, Store, Stored
from ..records import ImportProblem, ImportReport, is_derived
from ..tiers.long_term import LongTerm, Plan
from .decide import FORGOTTEN, OUTDATED, Decision, Outcome, Rules, changed_at, decide
from .failures import Failures
from .given_vectors import GivenVectors
from .preview import Preview
from .reads import Ahead, Reads
from .shrunk import behind, take_out
from .vector_cache import VectorCache

BATCH: Final = 100
"""Items that are committed at once."""
_MOST_PROBLEMS: Final = 1_000
_MOST_AGAIN: Final = 1_000
"""Failures that are held to be tried again at the end; of more, the rest is only written down."""
_FEW: Final = 8


class Import:
    """One import into one user's memory; ``run`` it once.

    ``stored`` is called with the ids of the items that a batch wrote. Vectors come from ``cache`` where there is one,
    and are added to it, ``embed_batch`` texts at once.
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
        failures: Failures,
        cache: VectorCache | None = None,
        embed_batch: int = 32,
    ) -> None:
        self._store, self._long_term, self._rules = store, long_term, rules
        self._ahead = Ahead(rules.user_id) if dry_run else None
        self._stored = stored
        self._failures = failures
        self._vectors = GivenVectors(embedder, cache, batch=embed_batch)
        self._preview = Preview()
        self._again: list[Found] = []
        self._last_round = False
        self._taken_out = 0
        self._counts: Counter[str] = Counter()
        self._problems: list[ImportProblem] = []
        self._named: Counter[str] = Counter()
        self._waiting: dict[int, tuple[Found, Outcome]] = {}
        self._changed: set[str] = set()
        self._brought: set[str] = set()  # derived records, made of their sources as these come to be

    def run(self, format: str, reading: Reading, progress: Progress | None) -> ImportReport:
        """Import everything that is read; return the report."""
        done = 0
        for batch in _batches(reading.items):
            done += self._take(batch)
            if progress is not None:
                progress(done, reading.expected(done))
        self._settle()
        if progress is not None:
            progress(done, done)
        counts = {name: self._counts[name] for name in ("added", "updated", "unchanged", "skipped", "failed")}
        return ImportReport(
            reading.format or format,
            read=sum(counts.values()),
            **counts,
            problems=tuple(self._problems),
            notes=(*reading.notes, *self._notes()),
            dry_run=self._ahead is not None,
            failed_file=self._failures.finish(),
            preview=self._preview.report(),
        )

    def _take(self, batch: Sequence[Found]) -> int:
        """Write a batch, then take out what is no longer in sources that have ended in it; return how many it had."""
        items = [found for found in batch if not isinstance(found.item, Whole)]
        for found in items:
            self._preview.add(found)
        self._write(items, last=False)
        for found in batch:
            if isinstance(found.item, Whole):
                ids = behind(self._store, self._rules.user_id, found.item, self._ahead)
                self._taken_out += len(ids)
                if ids and self._ahead is not None:
                    self._ahead.drop(ids)
                elif ids:
                    take_out(self._store, self._rules.user_id, ids)
        return len(items)

    def _settle(self) -> None:
        """Write what waited for items that stood behind it, until what is left waits for nothing that will come."""
        left, last = -1, False
        while self._waiting:
            left, last = len(self._waiting), len(self._waiting) == left
            for batch in _batches([found for found, _ in self._waiting.values()]):
                self._write(batch, last=last)
        self._last_round = True
        for batch in _batches(self._again):
            self._write(batch, last=True)

    def _write(self, batch: Sequence[Found], *, last: bool) -> None:
        """Write a batch; where the embedder cannot cope with it, find the text that it fails at."""
        try:
            self._write_whole(batch, last=last)
        except ModelError as exc:
            if len(batch) > 1:
                before = self._counts.total() - self._counts["failed"]
                for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
                    self._write(half, last=last)
                if len(batch) > _FEW and self._counts.total() - self._counts["failed"] == before:
                    raise  # not a text is at fault, but the model
            else:
                self._count(batch[0], Decision("failed", reason=str(exc)), set(), last=last)

    def _write_whole(self, batch: Sequence[Found], *, last: bool) -> None:
        if not batch:
            return
        self._vectors.judge(batch)
        decided: list[tuple[Found, Decision]] = []

        def plan() -> Plan:
            reads = Reads(self._store, self._rules.user_id, _ids(batch), self._ahead)
            decided[:] = [(found, self._decide(found, reads)) for found in batch]
            puts = tuple(put for _, decision in decided for put in decision.puts)
            return Plan(self._vectors.fill(puts), reads.expect, tuple(reads.written))

        if self._ahead is None:
            written = update.write(self._store, self._long_term, self._rules.user_id, plan, keep=self._brought)
            skipped = written.skipped
            self._stored([id for id in written.ids if id not in skipped])
        else:
            skipped = self._pretend(plan)
        for found, decision in decided:
            self._count(found, decision, set(skipped), last=last)
            self._brought.update(put.id for put in decision.puts if put.record is not None and is_derived(put.record))

    def _decide(self, found: Found, reads: Reads) -> Decision:
        if isinstance(found.item, Unreadable):
            return Decision("failed", reason=found.item.reason)
        if isinstance(found.item, PassedOver):
            return Decision("skipped", reason=found.item.reason)
        assert not isinstance(found.item, Whole)  # it is no item, and not decided on
        if isinstance(found.item, Copied) and self._is_outdated(found.item.versions[-1], reads):
            return Decision("skipped", reason=OUTDATED)
        decision = decide(found.item, reads, self._rules, self._vectors.of(found))
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
        if stale := update.made_of(self._store, self._rules.user_id, changed, keep=self._brought):
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
        if outcome == "failed" and self._keeps_for_later(found, reason or ""):
            return
        self._counts[outcome] += 1
        if outcome in ("added", "updated"):
            self._vectors.note(found)
        if reason is not None and self._named[outcome] < _MOST_PROBLEMS:
            self._named[outcome] += 1
            self._problems.append(ImportProblem(found.where, outcome, reason, next(iter(_ids([found])), None)))

    def _keeps_for_later(self, found: Found, reason: str) -> bool:
        """Return whether a failure is to be tried again at the end; otherwise it is written down."""
        is_damaged = isinstance(found.item, Unreadable)  # once more would be the same
        if not self._last_round and not is_damaged and len(self._again) < _MOST_AGAIN:
            self._again.append(found)
            return True
        if self._ahead is None:
            self._failures.add(found, reason)
        return False

    def _notes(self) -> Iterator[str]:
        if self._taken_out:
            yield f"{self._taken_out} that a source held before, behind its end, went out with what was made of them"
        yield from self._vectors.notes()


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
