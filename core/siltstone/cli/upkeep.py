"""Commands that change a store for good: ``forget`` and ``reembed``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import NotFoundError
from .options import DEFAULT_STORE, AsJson, Embedding, Kinds, Session, Since, StoreAt, Until, User, Yes, opened
from .output import note, progress, write_json


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

    Conditions are joined by "and". Says what will go and asks first.

    \b
    siltstone forget --session monday --dry-run
    siltstone forget --everything --user alice --yes
    """
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
        gone = f"{len(report.messages)} messages and {len(report.records)} records"
        if not (report.messages or report.records):
            raise NotFoundError(f"user {user!r} has nothing like that in {store}: nothing was deleted")
        if not dry_run:
            if not yes:
                note(f"{gone} of user {user!r} in {store} will be deleted for good.")
                typer.confirm("Go on?", abort=True, err=True)
            report = memory.forget(**chosen)
    if as_json:
        write_json(report)
    else:
        print(f"would delete {gone}" if dry_run else f"deleted {gone}")


def reembed(
    store: StoreAt = DEFAULT_STORE,
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Move a store to another embedding model: every user's vectors are made anew, the texts stay.

    Stopped or killed, it goes on when it is run again; until it is done, memories are found by their words.

    \b
    siltstone reembed --embedder sentence-transformers:BAAI/bge-m3
    """
    from ..memory import TieredMemory

    with progress("embedding") as advance_to:
        made = TieredMemory.reembed(store, embedder=embedder, progress=advance_to)
    if as_json:
        write_json({"vectors": made})
    else:
        print(f"made {made} vectors")
