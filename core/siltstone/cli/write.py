"""Commands that change what is stored: ``add``, ``remember``, ``update`` and ``forget``."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidInputError, NotFoundError
from ..records import ForgetReport, Message, Record, message_id
from ..wire import plain
from .options import (
    DEFAULT_STORE,
    AsJson,
    Embedding,
    Kinds,
    Session,
    Since,
    StoreAt,
    Until,
    User,
    Yes,
    ask,
    opened,
    when,
)
from .output import count, first_words, minute, note, show_table, table, write_json

if TYPE_CHECKING:
    from ..memory import TieredMemory

_ALONG = "↳"
_SHOWN = 20
"""Rows that a dry run prints; ``--json`` has all."""


def add(
    text: Annotated[str | None, typer.Argument(help="What was said; left out: JSON Lines on stdin.")] = None,
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="The conversation it belongs to.")
    ] = "default",
    role: Annotated[str, typer.Option(metavar="ROLE", help="system, user, assistant or tool.")] = "user",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who speaks, where people talk to each other.")
    ] = None,
    at: Annotated[datetime | None, typer.Option(parser=when, metavar="TIME", help="When; now if left out.")] = None,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Store a message, or a whole conversation from stdin.

    \b
    siltstone add "I'm Alice, a front-end engineer." --session monday
    siltstone add --session monday < messages.jsonl

    A line on stdin is like {"role": "user", "content": "…"}. Prints the ids of the messages; a missing store is made.
    """
    if text is None:
        messages = _from_stdin()
    else:
        messages = [{"role": role, "content": text, "name": name}]
    with opened(store, user, embedder, create=True) as memory:
        ids = memory.add(messages, session_id=session, created_at=at)
    if as_json:
        write_json({"ids": ids})
    else:
        print("\n".join(ids))


def remember(
    text: Annotated[str, typer.Argument(help="What to keep.")],
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="fact, profile, event, summary, insight, document or item.")
    ] = "fact",
    occurred_at: Annotated[
        datetime | None, typer.Option(parser=when, metavar="TIME", help="When it happened or will happen.")
    ] = None,
    expires_at: Annotated[datetime | None, typer.Option(parser=when, metavar="TIME", help="When it may go.")] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Never let it expire.")] = False,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="The conversation that it comes from.")
    ] = None,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Store one memory that is not a turn of a conversation.

    \b
    siltstone remember "Prefers short answers." --kind profile --pinned

    Prints its id. A missing store is created.
    """
    with opened(store, user, embedder, create=True) as memory:
        id = memory.remember(
            text, kind=kind, occurred_at=occurred_at, expires_at=expires_at, pinned=pinned, session_id=session
        )
    if as_json:
        write_json({"id": id})
    else:
        print(id)


def update(
    id: Annotated[str, typer.Argument(help="A memory or a message, by id.")],
    text: Annotated[str | None, typer.Argument(help="What it says from now on; left out: as before.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="What kind of memory it is.")] = None,
    expires_at: Annotated[datetime | None, typer.Option(parser=when, metavar="TIME", help="When it may go.")] = None,
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--no-pinned", help="Never let it expire; or let it again.")
    ] = None,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Correct a memory or a message; history shows what it was before.

    \b
    siltstone update 0190… "I live in Lisbon."

    What was made of a text that changes goes, and consolidate makes it anew. Prints the id and the version.
    """
    if text is None and kind is None and expires_at is None and pinned is None:
        raise InvalidInputError("update needs a text, --kind, --expires-at or --pinned: nothing was changed")
    changes: dict[str, Any] = {} if expires_at is None else {"expires_at": expires_at}
    with opened(store, user, embedder) as memory:
        record = memory.update(id, text=text, kind=kind, pinned=pinned, **changes)
    if as_json:
        write_json(record)
    else:
        print(f"{message_id(record.id)} is now version {record.version}")


def forget(
    ids: Annotated[list[str] | None, typer.Argument(help="Memories or messages, by id.")] = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    kind: Kinds = None,
    everything: Annotated[bool, typer.Option("--everything", help="All that this user has.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Yes = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Delete memories for good, with all that was derived from them.

    Conditions are joined by "and". Says how much will go and asks first; --dry-run shows what, row by row.

    \b
    siltstone forget --session monday --dry-run
    siltstone forget --everything --user alice --yes
    """
    conditions = any((ids, session, since, until, kind))
    if everything == conditions:
        given = (
            "with --everything takes no condition" if everything else "needs ids, another condition, or --everything"
        )
        raise InvalidInputError(f"forget {given}: nothing was forgotten")
    with opened(store, user, embedder, read_only=dry_run) as memory:
        chosen: dict[str, Any] = {
            "ids": ids or None,
            "session_id": session,
            "since": since,
            "until": until,
            "kinds": kind or None,
            "everything": everything,
        }
        report = memory.forget(**chosen, dry_run=True)
        if not (report.messages or report.records):
            raise NotFoundError(f"user {user!r} has nothing like that in {store}: nothing was deleted")
        if dry_run:
            _show_going(memory, report, as_json=as_json)
        else:
            if not yes:
                ask(f"{_amount(report)} of user {user!r} in {store} will be deleted for good; --dry-run lists them.")
            report = memory.forget(**chosen)
    if dry_run:
        return
    if as_json:
        write_json(report)
    else:
        print(f"deleted {_amount(report)}")
        if report.partial:
            made_anew = count(len(report.partial), "record")
            note(f"{made_anew} of these rested also on what stays: siltstone consolidate makes them anew of that")
        for line in report.remains:
            note(line)


def _show_going(memory: TieredMemory, report: ForgetReport, *, as_json: bool) -> None:
    """Print what would be forgotten, a row for each message or memory; marked, what only goes along."""
    ids = [*report.messages, *_beside(report)]
    rests = dict.fromkeys(report.partial, "in part") | dict.fromkeys(report.derived, "wholly")
    rows = [_going(memory.get(id), rests.get(id)) for id in (ids if as_json else ids[:_SHOWN])]
    if as_json:
        write_json({**plain(report), "rows": rows})
        return
    print(f"would delete {_amount(report)}")
    made = table(("id", "what", "when", "text"))
    made.columns[0].no_wrap = True
    for row in rows:
        what = f"{_ALONG} {row['what']}" if row["rests"] else row["what"]
        made.add_row(row["id"], what, minute(row["time"]), first_words(row["text"]))
    show_table(made)
    if len(ids) > len(rows):
        note(f"and {len(ids) - len(rows)} more: --json lists all")
    if rests:
        note(f"{_ALONG} goes along, for it was made of these: {len(rests)}, {len(report.partial)} of them only in part")


def _going(item: Record | Message, rests: str | None) -> dict[str, Any]:
    if isinstance(item, Message):
        return {"id": item.id, "what": item.role, "time": item.created_at, "text": item.content, "rests": rests}
    return {"id": item.id, "what": item.kind, "time": item.time, "text": item.text, "rests": rests}


def _amount(report: ForgetReport) -> str:
    return f"{count(len(report.messages), 'message')} and {count(len(_beside(report)), 'record')}"


def _beside(report: ForgetReport) -> list[str]:
    """Return the records that are not the turns of the messages: as the audit counts, what was said is one thing."""
    spoken = set(report.messages)
    return [id for id in report.records if message_id(id) not in spoken]


def _from_stdin() -> list[dict[str, Any]]:
    if sys.stdin.isatty():
        raise typer.BadParameter("give a text, or messages as JSON Lines on stdin", param_hint="TEXT")
    messages = []
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except ValueError as exc:
            raise InvalidInputError(f"line {number} of stdin is not JSON ({exc}): nothing was stored") from exc
        if not isinstance(message, dict):
            raise InvalidInputError(
                f'line {number} of stdin is not like {{"role": "user", "content": "…"}}: nothing was stored'
            )
        messages.append(message)
    if not messages:
        raise InvalidInputError("stdin held no message: nothing was stored")
    return messages
