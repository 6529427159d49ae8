"""What goes when something is forgotten: what rests on it, what covers that, and what is refused from then on.

A derived record whose sources are touched goes with them, since it may hold their words; the report tells those
that rested only on what was forgotten from those that rested partly on something else. What these rested on beside it
is to be digested anew: so the digests that cover it go, too. Records of a hidden kind go unnamed.

A record that the caller means itself is not made again out of sources that stay. One that goes with a source is, of
what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol

from ..protocols import Refusal, Stored
from ..records import HIDDEN_KINDS, LINK_PREFIX, TURN_PREFIX, ForgetReport, Record, is_restart, message_id, unique


class Reader(Protocol):
    """What is asked of a store; see ``protocols.Store``."""

    def fetch(self, user_id: str, ids: Sequence[str]) -> list[Stored | None]:
        """Return items by message id or record id, in order."""

    def dependents(self, user_id: str, ids: Sequence[str]) -> list[Record]:
        """Return the live records, turns aside, that name one of the ids among their sources, there or gone."""

    def versions(self, user_id: str, id: str) -> list[Stored]:
        """Return the earlier versions of an item that are kept, newest first."""

    def items(self, user_id: str) -> Iterator[tuple[Stored, ...]]:
        """Yield everything that a user has: each item's versions, the oldest first."""


@dataclass(frozen=True)
class Going:
    """What goes: the ids of items, what is refused from then on, and the report of it."""

    report: ForgetReport
    items: tuple[str, ...]
    refusals: tuple[Refusal, ...]


def plan(store: Reader, user_id: str, ids: Sequence[str], *, named: bool) -> Going:
    """Decide what goes with the items that are meant. Nothing is changed.

    Of an id that is not there any more, since it made room for others, what was made of it goes. ``named``: the items
    are meant by id or kind, each for itself. Complexity: O(what goes).
    """
    targets = [stored for stored in store.fetch(user_id, ids) if stored is not None]
    absent = _absent(targets, ids)
    derived, partial, hidden = derived_from(store, user_id, [*(id for s in targets for id in _names(s)), *both(absent)])
    digests, marks = covering(store, user_id, targets, partial)
    report = ForgetReport(
        messages=unique(s.message.id for s in targets if s.message is not None and s.message.id is not None),
        records=unique(
            [s.record.id for s in targets if s.record is not None] + [r.id for r in (*derived, *partial, *digests)]
        ),
        derived=unique(record.id for record in derived),
        partial=unique(record.id for record in (*partial, *digests)),
    )
    items = unique(
        [*report.messages, *(message_id(id) for id in report.records), *(job.id for job in (*hidden, *marks))]
    )
    refusals = [refusal for s in targets for refusal in _transcript(s, _earlier(store, user_id, s))]
    refusals += copies([*(r.id for r in (*derived, *partial)), *_rested_on(absent, (*derived, *partial, *hidden))])
    refusals += _not_again(_apart(targets), {name for s in targets for name in _names(s)}, named=named)
    return Going(report, items, tuple(refusals))


def whole(store: Reader, user_id: str) -> Going:
    """Return what goes where all of a user does: all of it, so that nothing is looked for. Nothing is changed.

    Everything is meant itself, and nothing goes along; ``items`` stay empty. O(items), each read once.
    """
    messages: list[str] = []
    records: list[str] = []
    apart: list[Record] = []
    refusals: list[Refusal] = []
    for *older, stored in store.items(user_id):
        if stored.record is None or stored.record.kind not in HIDDEN_KINDS:
            messages += [] if stored.message is None else [stored.id]
            records += [] if stored.record is None else [stored.record.id]
            apart += _apart([stored])
            refusals += _transcript(stored, older[::-1])
    refusals += _not_again(apart, {*messages, *records}, named=False)
    return Going(ForgetReport(messages=tuple(messages), records=tuple(records)), (), tuple(refusals))


def both(ids: Iterable[str]) -> list[str]:
    """Return the ids of messages or records, and those that turns of them would have."""
    return [each for id in ids for each in (id, TURN_PREFIX + id)]


def _absent(targets: Sequence[Stored], ids: Sequence[str]) -> tuple[str, ...]:
    """Return the ids that are meant and not there, as messages and records are stored."""
    there = {name for stored in targets for name in _names(stored)}
    return unique(message_id(id) for id in ids if id not in there and message_id(id) not in there)


def _rested_on(absent: Sequence[str], records: Iterable[Record]) -> list[str]:
    """Return which of the ids the records name as their sources."""
    sources = {message_id(source) for record in records for source in record.source_ids}
    return [id for id in absent if id in sources]


def derived_from(store: Reader, user_id: str, names: Sequence[str]) -> tuple[list[Record], list[Record], list[Record]]:
    """Follow ``source_ids`` from the ids of what goes, across links, which stand for what was evicted.

    Return the records resting only on it, those resting partly on it, and those of a hidden kind.
    """
    known, seen = set(names), set(names)
    derived: dict[str, Record] = {}
    partial: dict[str, Record] = {}
    frontier = list(names)
    while frontier:
        found = [r for r in store.dependents(user_id, frontier) if r.id not in seen]
        for record in found:
            whole = all(source in known for source in record.source_ids)
            (derived if whole else partial)[record.id] = record
        seen.update(record.id for record in found)
        frontier = _known_as(found)
        known.update(frontier)
    for id, record in list(partial.items()):
        if all(source in known for source in record.source_ids):
            derived[id] = partial.pop(id)
    hidden = [job for found in (derived, partial) for job in list(found.values()) if job.kind in HIDDEN_KINDS]
    for job in hidden:
        derived.pop(job.id, None)
        partial.pop(job.id, None)
    return list(derived.values()), list(partial.values()), hidden


def _known_as(records: Sequence[Record]) -> list[str]:
    """Return the ids by which what rests on the records may name them."""
    return [record.id.removeprefix(LINK_PREFIX) for record in records]


def copies(ids: Iterable[str]) -> list[Refusal]:
    """Return what keeps copies of the items (exports, backups) from bringing them back."""
    return [Refusal(id=id) for id in ids]


def _apart(targets: Iterable[Stored]) -> list[Record]:
    """Return the records that are no turns."""
    return [stored.record for stored in targets if stored.record is not None and stored.message is None]


def _not_again(records: Iterable[Record], going: Set[str], *, named: bool) -> Iterator[Refusal]:
    """Yield what keeps consolidation from making what the caller meant again: ``named`` by id or kind, or for itself.

    A summary of a span has an id that tells its sources, so that one of them is enough. ``going``: the ids of all that
    is meant.
    """
    for record in records:
        if named or going.isdisjoint(record.source_ids):
            span = record.kind == "summary" and record.level == 0
            yield Refusal(made=replace(record, source_ids=record.source_ids[:1]) if span else record)


def covering(
    store: Reader, user_id: str, targets: Sequence[Stored], partial: Sequence[Record]
) -> tuple[list[Record], list[Record]]:
    """Return the digests that cover what derived records rested on beside the forgotten, and all that rests on them.

    The digests are summaries, and marks of a hidden kind. What a person remembered by hand is not made anew.
    """
    going = {name for stored in targets for name in _names(stored)} | {record.id for record in partial}
    remade = [
        record for record in (*_apart(targets), *partial) if record.made_by != "user" and record.kind != "summary"
    ]
    left = unique(id for record in remade for id in record.source_ids if id not in going)
    if not left:
        return [], []
    digests = [
        record
        for record in store.dependents(user_id, left)
        if record.kind in HIDDEN_KINDS or (record.kind == "summary" and record.made_by != "user")
    ]
    derived, resting_partly, hidden = derived_from(store, user_id, _known_as(digests))
    found = [record for record in (*digests, *derived, *resting_partly) if record.id not in going]
    marks = [record for record in found if record.kind in HIDDEN_KINDS]
    return [record for record in found if record.kind not in HIDDEN_KINDS], [*marks, *hidden]


def _names(stored: Stored) -> Iterator[str]:
    if stored.message is not None and stored.message.id is not None:
        yield stored.message.id
    if stored.record is not None:
        yield stored.record.id


def _earlier(store: Reader, user_id: str, stored: Stored) -> Sequence[Stored]:
    message = stored.message
    return store.versions(user_id, message.id) if stored.version > 1 and message is not None and message.id else ()


def _transcript(stored: Stored, older: Sequence[Stored]) -> Iterator[Refusal]:
    """Yield what a re-sent transcript of the message would be recognised by: its id, and its texts as far as kept.

    A message without text is recognised by its metadata, unless that only starts the window of a session afresh. In
    copies of the store it is recognised by its stored id, and so is what was made of it there.
    """
    message = stored.message
    if message is None or message.session_id is None:
        assert stored.record is not None
        yield from copies([stored.record.id])
        return
    text = message.content if message.content.strip() else None
    parts = message.metadata if text is None and not is_restart(message) else None
    if stored.supplied_id is not None or text is not None or parts:
        yield Refusal(message.session_id, stored.supplied_id, text, parts or None)
    if message.id is not None:
        yield from copies([message.id])
    earlier = [one.message for one in older if one.message is not None]
    for text in unique(one.content for one in earlier):
        if text.strip():
            yield Refusal(message.session_id, text=text)
    for one in earlier:
        if one.metadata and not one.content.strip() and not is_restart(one):
            yield Refusal(message.session_id, parts=one.metadata)
