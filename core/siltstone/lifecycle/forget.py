"""Forgetting: what is meant goes, with all that ``stores.cascade`` finds to rest on it, and does not come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import BackendUnavailableError, InvalidInputError
from ..protocols import KeepsRemains, Store, Where
from ..records import LINK_PREFIX, ForgetReport, Message, message_id, unique
from ..stores import cascade
from .coverage import covers
from .jobs import KIND as JOB
from .links import KIND as LINK
from .links import stands_for


def forget(store: Store, user_id: str, *, ids: Sequence[str]) -> ForgetReport:
    """Remove items by id, and everything derived from them, for good."""
    return carry_out(store, user_id, unique(ids), named=True)


def check_named(unnamed: Sequence[object]) -> None:
    """Raise ``InvalidInputError`` where ``forget`` is given something without its name."""
    if unnamed:
        raise InvalidInputError(
            "forget takes each condition by its name, e.g. forget(ids='…') or forget(session_id='…'): "
            "nothing was forgotten"
        )


def meant(store: Store, user_id: str, ids: Sequence[str] | None, where: Where) -> tuple[str, ...]:
    """Return the ids of what the caller means; conditions are joined by AND.

    With no condition beside them the ids stay as they are, those of what is not there any more among them. Conditions
    alone mean what has been evicted, too, as far as digests and links tell of it.
    Complexity: O(ids), beside the scan for conditions.
    """
    if ids is not None and where == Where():
        return unique(ids)
    records = unique(record.id for record in store.scan(user_id, where))
    messages = unique(message.id for message in _messages(store, user_id, where) if message.id is not None)
    if ids is None:
        return unique(map(message_id, (*records, *messages, *_evicted(store, user_id, where))))
    found = [stored for stored in store.fetch(user_id, unique(ids)) if stored is not None]
    allowed, silent = set(records), set(messages)
    return unique(s.id for s in found if (s.id in silent if s.record is None else s.record.id in allowed))


def preview(store: Store, user_id: str, ids: Sequence[str], *, named: bool) -> ForgetReport:
    """Return what would go with the items. Nothing is changed."""
    return replace(cascade.plan(store, user_id, ids, named=named).report, dry_run=True)


def carry_out(store: Store, user_id: str, ids: Sequence[str], *, named: bool) -> ForgetReport:
    """Remove items with all that rests on them, and what came to rest on it meanwhile, for good."""
    return _remove_late(store, user_id, ids, store.forget(user_id, ids, named=named))


def erase(store: Store, user_id: str) -> ForgetReport:
    """Remove all that a user has, for good; return the whole report. O(items), each read once.

    They are read for their ids, which the report names, and for what keeps their words from being stored again. What
    comes meanwhile goes as well, and nothing can come to rest on it later: a writer expects its sources to be there.
    """
    going = cascade.whole(store, user_id)
    store.remove(user_id, (), transcripts=going.refusals, everything=True)
    return replace(going.report, remains=_remains(store, user_id))


def _remove_late(store: Store, user_id: str, ids: Sequence[str], report: ForgetReport) -> ForgetReport:
    """Remove what came to rest on the forgotten between the look for it and its removal; return the whole report.

    A writer expects its sources to be there, so nothing more can come once they are gone, and the loop ends.
    """
    gone = [*cascade.both(map(message_id, ids)), *report.derived, *report.partial]
    while True:
        derived, partial, hidden = cascade.derived_from(store, user_id, gone)
        late = [record.id for record in (*derived, *partial)]
        if not late and not hidden:
            return replace(report, remains=_remains(store, user_id))
        store.remove(user_id, [*late, *(job.id for job in hidden)], transcripts=cascade.copies(late))
        gone += late
        report = replace(
            report,
            records=unique([*report.records, *late]),
            derived=unique([*report.derived, *(record.id for record in derived)]),
            partial=unique([*report.partial, *(record.id for record in partial)]),
        )


def _remains(store: Store, user_id: str) -> tuple[str, ...]:
    """Return what the engine under a store still holds of what is gone; that it is gone is certain by now."""
    if not isinstance(store, KeepsRemains):
        return ()
    try:
        return store.remains(user_id)
    except BackendUnavailableError as exc:
        return (f"What the server still holds of it could not be asked: {exc}",)


def _evicted(store: Store, user_id: str, where: Where) -> list[str]:
    """Return the ids of what was evicted and is meant: what was made of it is still there.

    Links say all of what they stand for; that of messages which digests name is known by these, but not their metadata.
    """
    gone = store.scan(user_id, replace(where, kinds=(LINK,)))
    ids = [link.id.removeprefix(LINK_PREFIX) for link in gone if where.kinds is None or stands_for(link) in where.kinds]
    if where.metadata is None and (where.kinds is None or "turn" in where.kinds):
        marks = store.scan(user_id, replace(where, kinds=("summary", JOB, LINK)))
        ids += [id for record in marks if covers(record) for id in record.source_ids]
    return [id for id, stored in zip(ids, store.fetch(user_id, ids), strict=True) if stored is None]


def _messages(store: Store, user_id: str, where: Where) -> Iterator[Message]:
    """Yield the messages that are meant by the conditions: those without a record (system, tool, calls), too."""
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
