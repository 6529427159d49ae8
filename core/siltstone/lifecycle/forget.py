"""Forgetting: what goes, what goes along, and that it does not come back.

A derived record whose sources are touched goes with them, since it may hold their words; the report tells those
that rested only on what was forgotten from those that rested partly on something else. What these rested on beside it
is to be digested anew: so the digests that cover it go, too. Records of a hidden kind go unnamed.

A record that the caller means itself is not made again out of sources that stay. One that goes with a source is, of
what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..protocols import Refusal, Store, Stored, Where
from ..records import HIDDEN_KINDS, TURN_PREFIX, ForgetReport, Message, Record, message_id, unique
from ..tiers.restart import is_restart


@dataclass(frozen=True)
class Going:
    """What goes: the ids of items, what is refused from then on, and the report of it.

    ``names`` are the ids of what is meant itself, as sources name it; ``absent`` those of what has gone before.
    """

    report: ForgetReport
    names: tuple[str, ...]
    absent: tuple[str, ...]
    items: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    everything: bool


def forget(store: Store, user_id: str, *, ids: Sequence[str]) -> ForgetReport:
    """Remove items by id, and everything derived from them, for good."""
    return carry_out(store, user_id, plan(store, user_id, ids=ids, where=Where(), everything=False))


def plan(store: Store, user_id: str, *, ids: Sequence[str] | None, where: Where, everything: bool) -> Going:
    """Decide what goes with what is meant; conditions are joined by AND. Nothing is changed.

    Of an id that is not there any more, since it made room for others, what was made of it goes.

    Complexity: O(what goes), beside the scan for conditions other than ids and session.
    """
    targets = _targets(store, user_id, ids, where, everything)
    absent = _absent(targets, ids) if _is_open(where) else ()
    names = [*(id for s in targets for id in _names(s)), *(id for gone in absent for id in (gone, TURN_PREFIX + gone))]
    derived, partial, hidden = derived_from(store, user_id, names)
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
    refusals = [refusal for s in targets for refusal in _transcript(store, user_id, s)]
    refusals += _copies([*(r.id for r in (*derived, *partial)), *_rested_on(absent, (*derived, *partial, *hidden))])
    refusals += _not_again(targets, named=ids is not None or where.kinds is not None)
    return Going(report, tuple(names), absent, items, tuple(refusals), everything)


def carry_out(store: Store, user_id: str, going: Going) -> ForgetReport:
    """Remove what goes, and what came to rest on it meanwhile, for good; return the whole report.

    Where nothing is found the store is told all the same: it may be in what cannot be read.
    """
    store.remove(user_id, going.items, transcripts=going.refusals, everything=going.everything)
    return _remove_late(store, user_id, going.names, going.report)


def _remove_late(store: Store, user_id: str, names: Sequence[str], report: ForgetReport) -> ForgetReport:
    """Remove what came to rest on the forgotten between the look for it and its removal; return the whole report.

    A writer expects its sources to be there, so nothing more can come once they are gone, and the loop ends.
    """
    gone = [*names, *report.derived, *report.partial]
    while True:
        derived, partial, hidden = derived_from(store, user_id, gone)
        late = [record.id for record in (*derived, *partial)]
        if not late and not hidden:
            return report
        store.remove(user_id, [*late, *(job.id for job in hidden)], transcripts=_copies(late))
        gone += late
        report = replace(
            report,
            records=unique([*report.records, *late]),
            derived=unique([*report.derived, *(record.id for record in derived)]),
            partial=unique([*report.partial, *(record.id for record in partial)]),
        )


def _targets(store: Store, user_id: str, ids: Sequence[str] | None, where: Where, everything: bool) -> list[Stored]:
    """Return the items that the caller means, without what rests on them."""
    if ids is not None:
        named = [stored for stored in store.fetch(user_id, ids) if stored is not None]
        if _is_open(where):
            return named
        allowed = {record.id for record in store.scan(user_id, where)}
        silent = {m.id for m in _silent_messages(store, user_id, where)}
        return [
            s
            for s in named
            if (s.record is not None and s.record.id in allowed)
            or (s.record is None and s.message is not None and s.message.id in silent)
        ]
    whole = Where() if everything else where
    chosen = [record.id for record in store.scan(user_id, whole)]
    chosen += [message.id for message in _silent_messages(store, user_id, whole) if message.id is not None]
    return [stored for stored in store.fetch(user_id, unique(chosen)) if stored is not None]


def _absent(targets: Sequence[Stored], ids: Sequence[str] | None) -> tuple[str, ...]:
    """Return the ids that are meant and not there, as messages and records are stored."""
    there = {name for stored in targets for name in _names(stored)}
    return unique(message_id(id) for id in ids or () if id not in there and message_id(id) not in there)


def _rested_on(absent: Sequence[str], records: Iterable[Record]) -> list[str]:
    """Return which of the ids the records name as their sources."""
    sources = {message_id(source) for record in records for source in record.source_ids}
    return [id for id in absent if id in sources]


def _is_open(where: Where) -> bool:
    return where == Where()


def _silent_messages(store: Store, user_id: str, where: Where) -> Iterator[Message]:
    """Yield messages that have no record of their own (system, tool, calls) and are meant by the conditions."""
    if where.kinds is not None and "turn" not in where.kinds:
        return
    for session in store.sessions(user_id):
        if where.session_id not in (None, session.session_id):
            continue
        for message in store.messages(user_id, session.session_id):
            time = message.created_at
            assert time is not None
            if where.since is not None and time < where.since:
                continue
            if where.until is not None and time > where.until:
                continue
            noted = message.metadata or {}
            if any(key not in noted or noted[key] != value for key, value in (where.metadata or {}).items()):
                continue
            yield message


def derived_from(store: Store, user_id: str, names: Sequence[str]) -> tuple[list[Record], list[Record], list[Record]]:
    """Follow ``source_ids`` from the ids of what goes.

    Return the records resting only on it, those resting partly on it, and those of a hidden kind.
    """
    known = set(names)
    derived: dict[str, Record] = {}
    partial: dict[str, Record] = {}
    frontier = list(names)
    while frontier:
        found = [r for r in store.dependents(user_id, frontier) if r.id not in known]
        for record in found:
            whole = all(source in known for source in record.source_ids)
            (derived if whole else partial)[record.id] = record
            known.add(record.id)
        frontier = [record.id for record in found]
    for id, record in list(partial.items()):
        if all(source in known for source in record.source_ids):
            derived[id] = partial.pop(id)
    hidden = [job for found in (derived, partial) for job in list(found.values()) if job.kind in HIDDEN_KINDS]
    for job in hidden:
        derived.pop(job.id, None)
        partial.pop(job.id, None)
    return list(derived.values()), list(partial.values()), hidden


def _copies(ids: Iterable[str]) -> list[Refusal]:
    """Return what keeps copies of the items (exports, backups) from bringing them back."""
    return [Refusal(id=id) for id in ids]


def _not_again(targets: Sequence[Stored], *, named: bool) -> Iterator[Refusal]:
    """Yield what keeps consolidation from making what the caller meant again: ``named`` by id or kind, or for itself.

    A summary of a span has an id that tells its sources, so that one of them is enough.
    """
    going = {name for stored in targets for name in _names(stored)}
    for record in (s.record for s in targets if s.record is not None and s.message is None):
        if named or going.isdisjoint(record.source_ids):
            span = record.kind == "summary" and record.level == 0
            yield Refusal(made=replace(record, source_ids=record.source_ids[:1]) if span else record)


def covering(
    store: Store, user_id: str, targets: Sequence[Stored], partial: Sequence[Record]
) -> tuple[list[Record], list[Record]]:
    """Return the digests that cover what derived records rested on beside the forgotten, and all that rests on them.

    The digests are summaries, and marks of a hidden kind. What a person remembered by hand is not made anew.
    """
    going = {name for stored in targets for name in _names(stored)} | {record.id for record in partial}
    chosen = [stored.record for stored in targets if stored.record is not None and stored.message is None]
    remade = [record for record in (*chosen, *partial) if record.made_by != "user" and record.kind != "summary"]
    left = unique(id for record in remade for id in record.source_ids if id not in going)
    digests = [
        record
        for record in store.dependents(user_id, left)
        if record.kind in HIDDEN_KINDS or (record.kind == "summary" and record.made_by != "user")
    ]
    derived, resting_partly, hidden = derived_from(store, user_id, [record.id for record in digests])
    found = [record for record in (*digests, *derived, *resting_partly) if record.id not in going]
    marks = [record for record in found if record.kind in HIDDEN_KINDS]
    return [record for record in found if record.kind not in HIDDEN_KINDS], [*marks, *hidden]


def _names(stored: Stored) -> Iterator[str]:
    if stored.message is not None and stored.message.id is not None:
        yield stored.message.id
    if stored.record is not None:
        yield stored.record.id


def _transcript(store: Store, user_id: str, stored: Stored) -> Iterator[Refusal]:
    """Yield what a re-sent transcript of the message would be recognised by: its id, and its texts as far as kept.

    A message without text is recognised by its metadata, unless that only starts the window of a session afresh. What
    no transcript would show is recognised in copies of the store, by its stored id.
    """
    message = stored.message
    if message is None or message.session_id is None:
        assert stored.record is not None
        yield from _copies([stored.record.id])
        return
    text = message.content if message.content.strip() else None
    parts = message.metadata if text is None and not is_restart(message) else None
    if stored.supplied_id is not None or text is not None or parts:
        yield Refusal(message.session_id, stored.supplied_id, text, parts or None)
    elif message.id is not None:
        yield from _copies([message.id])
    if stored.version > 1 and message.id is not None:
        earlier = [older.message for older in store.versions(user_id, message.id) if older.message is not None]
        for text in unique(one.content for one in earlier):
            if text.strip():
                yield Refusal(message.session_id, text=text)
        for one in earlier:
            if one.metadata and not one.content.strip() and not is_restart(one):
                yield Refusal(message.session_id, parts=one.metadata)
