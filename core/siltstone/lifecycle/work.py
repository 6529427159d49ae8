"""One consolidation of one user: what its steps share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from ..errors import BackendUnavailableError
from ..protocols import ChatModel, Clock, Floats, Put, Query, Store, Summarizer, TokenCounter, Where
from ..records import HIDDEN_KINDS, Change, Record, is_derived
from ..tiers.long_term import LongTerm, Plan
from ..tiers.policy import Policy
from .jobs import Job, ledger
from .revise import Known

REVISED: Final = ("profile", "event", "fact")
"""Kinds of records that statements become, and that later statements revise."""


@dataclass
class Work:
    """What the steps of a consolidation work with, and the rows of its report so far.

    ``now`` is the time at which all is judged, ``clock`` tells how long a model has taken since, ``owner`` names this
    worker in the leases of jobs, ``judge`` is the model that is asked in doubt. ``spent`` returns when language models
    may be asked again, if not now; ``stopping`` whether the memory is being closed, ``seen`` what a statement may have
    of a text. ``unwritten`` are the summaries that a dry run would have written so far, by id; without a text where a
    language model would have been asked for it.
    """

    store: Store
    long_term: LongTerm
    summarizer: Summarizer
    counter: TokenCounter
    policy: Policy
    user_id: str
    now: datetime
    clock: Clock
    owner: str
    spent: Callable[[], datetime | None] = lambda: None
    stopping: Callable[[], bool] = lambda: False
    seen: Callable[[str], str] = lambda text: text
    dry_run: bool = False
    judge: ChatModel | None = None
    rows: list[Change] = field(default_factory=list)
    unwritten: dict[str, Record] = field(default_factory=dict)
    _known: tuple[int, Known] | None = None

    def note(self, action: str, ids: Sequence[str], text: str, why: str) -> None:
        """Add a row to the report."""
        self.rows.append(Change(action, tuple(ids), text, why))

    def go_on(self) -> None:
        """Raise ``BackendUnavailableError``, between two jobs, once the memory is being closed."""
        if self.stopping():
            raise BackendUnavailableError(
                "the memory is being closed: what was made so far is stored, the rest stays due; consolidate goes on "
                "with it once the memory is open again"
            )

    def known(self, version: int, *, fresh: bool) -> Known:
        """Return what is known as of a version of the ledger, read again where that is another or ``fresh`` asks."""
        if fresh or self._known is None or self._known[0] != version:
            found = self.store.scan(self.user_id, Where(kinds=REVISED))
            self._known = (version, Known(record for record in found if is_derived(record)))
        return self._known[1]

    def summaries(self) -> list[Record]:
        """Return the summaries that siltstone has made, of a dry run with those that it would have made by now."""
        found = {record.id: record for record in self.store.scan(self.user_id, Where(kinds=("summary",)))}
        return [record for record in (found | self.unwritten).values() if is_derived(record)]

    def embedded(self, kinds: Sequence[str]) -> tuple[list[Record], Floats]:
        """Return the derived records of some kinds and their vectors, ``(n, dim)``, nan where there is none yet."""
        found = self.store.candidates(self.user_id, Query((), None, Where(kinds=tuple(kinds))))
        keys = found.keys[found.eligible].tolist()
        pairs = [
            (record, key)
            for record, key in zip(self.store.resolve(self.user_id, keys), keys, strict=True)
            if record is not None and is_derived(record)
        ]
        return [record for record, _ in pairs], self.store.vectors(self.user_id, [key for _, key in pairs])

    def kept(self, version: int) -> None:
        """Say that what was decided on ``known`` has become the given version of the ledger."""
        if self._known is not None:
            self._known = (version, self._known[1])

    def dropped(self) -> None:
        """Say that what was decided on ``known`` was not written."""
        self._known = None

    def still(self, expect: Mapping[str, int]) -> bool:
        """Return whether the stored versions of items are these; 0 stands for none."""
        stored = self.store.fetch(self.user_id, list(expect))
        return all((0 if one is None else one.version) == at for one, at in zip(stored, expect.values(), strict=True))

    def held(self, job: Job) -> bool:
        """Return whether nobody may work on a job now."""
        return job.held(self.clock.now(), self.policy.settings.lease)

    def taken(self, id: str, kind: str) -> bool:
        """Return whether something else than work of this kind has the id, which is then left alone, as a row says."""
        (stored,) = self.store.fetch(self.user_id, [id])
        if stored is None:
            return False
        record = stored.record
        if stored.message is None and record is not None:
            hidden = kind in HIDDEN_KINDS or record.kind in HIDDEN_KINDS
            if record.kind == kind if hidden else record.made_by != "user":
                return False
        why = f"{id!r} is to be the id of a {kind}, and is that of something else, which stays: forget it to go on"
        self.note("skip", [id], "", why)
        return True

    def refused(self, record: Record) -> bool:
        """Return whether the record is one that the user forgot, and that is not to be made again."""
        return bool(self.store.refused(self.user_id, [Put(record)]))

    def ledger(self) -> tuple[Put, int]:
        """Return what turns the ledger's page, and the version that is to be expected of it."""
        return ledger(self.store, self.user_id, self.now)


NOTHING: Final = Plan((), {}, ())


def writes(records: Sequence[Record]) -> tuple[tuple[Put, ...], dict[str, int]]:
    """Return what writes records, versions of one in order, and the versions that they expect to be stored."""
    expect: dict[str, int] = {}
    for record in records:
        expect.setdefault(record.id, record.version - 1)
    return tuple(Put(record) for record in records), expect
