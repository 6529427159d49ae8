"""Commands that look: ``search``, ``context``, ``sessions``, ``show`` and ``history``. None of them writes."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated

import typer

from ..records import Record
from ..wire import plain
from .options import DEFAULT_STORE, AsJson, Embedding, Kinds, Session, Since, StoreAt, Until, User, opened
from .output import day, hits_table, minute, note, records_table, show_table, show_why, table, write_json


def search(
    query: Annotated[str, typer.Argument(help="A question, or words.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", metavar="N", min=1, help="How many.")] = 10,
    why: Annotated[bool, typer.Option("--why", help="Show the parts of each score.")] = False,
    kind: Kinds = None,
    since: Since = None,
    until: Until = None,
    session: Session = None,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Find memories by meaning and by words, best first.

    \b
    siltstone search "Where does Alice work?" --top-k 3 --why
    """
    with opened(store, user, embedder, read_only=True) as memory:
        hits = memory.search(query, top_k=top_k, kinds=kind, since=since, until=until, session_id=session)
    if as_json:
        write_json({"hits": hits})
    elif not hits:
        note("nothing found")
    else:
        show_table(hits_table(hits))
        if why:
            show_why(hits)


def context(
    query: Annotated[str, typer.Argument(help="What the user asks.")],
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="The running conversation.")] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="N", help="Budget in tokens.")] = 2000,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the whole prompt, question included.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Print what would be injected into a prompt, within a token budget.

    \b
    siltstone context "What did we decide on Monday?" --max-tokens 800
    """
    with opened(store, user, embedder, read_only=True) as memory:
        made = memory.context(query, session_id=session, max_tokens=max_tokens)
    if as_json:
        write_json(made)
        return
    print(made.as_prompt(query) if prompt else made.text)
    left_out = ", ".join(f"{count} ({reason})" for reason, count in made.omitted.items() if count)
    note(f"[{made.tokens} of {max_tokens} tokens{'; left out: ' + left_out if left_out else ''}]")


def sessions(
    store: StoreAt = DEFAULT_STORE, user: User = "default", embedder: Embedding = None, as_json: AsJson = False
) -> None:
    """List the conversations, the newest last.

    \b
    siltstone sessions --user alice
    """
    with opened(store, user, embedder, read_only=True) as memory:
        found = memory.sessions()
    if as_json:
        write_json({"sessions": found})
        return
    made = table(("session", "messages", "first", "last"), right=("messages",))
    for info in found:
        made.add_row(info.session_id, str(info.messages), minute(info.started_at), minute(info.ended_at))
    show_table(made)


def show(
    id: Annotated[str | None, typer.Argument(help="A memory or a message; left out: all that match.")] = None,
    kind: Kinds = None,
    since: Since = None,
    until: Until = None,
    session: Session = None,
    current: Annotated[bool, typer.Option("--current", help="Only what holds now.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Show one memory with all it holds, or list memories in the order of writing.

    \b
    siltstone show --session monday
    siltstone show --kind profile --current
    siltstone show turn:0190…
    """
    from ..tiers.standing import holds

    with opened(store, user, embedder, read_only=True) as memory:
        if id is None:
            records = list(memory.records(kinds=kind, since=since, until=until, session_id=session))
            if current:
                now = datetime.now(timezone.utc)
                records = [record for record in records if holds(record, now)]
        else:
            item = memory.get(id)
    if id is None:
        if as_json:
            write_json({"records": records})
        else:
            show_table(records_table(records))
    elif as_json:
        write_json(item)
    else:
        made = table(("field", "value"), title=item.kind if isinstance(item, Record) else "message")
        for name, value in plain(item).items():
            if value not in (None, "", [], {}, False):
                made.add_row(name, _text(value))
        show_table(made)


def history(
    id: Annotated[str, typer.Argument(help="A memory or a message.")],
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Show what a memory was before: its earlier versions, and the statements that it replaced, newest first.

    \b
    siltstone history 0190…
    """
    with opened(store, user, embedder, read_only=True) as memory:
        earlier = memory.history(id)
    if as_json:
        write_json({"id": id, "history": earlier})
    elif not earlier:
        note(f"{id} was never another")
    else:
        made = table(("version", "written", "held until", "id", "text"), right=("version",))
        for record in earlier:
            written = minute(record.updated_at or record.stored_at)
            made.add_row(str(record.version), written, day(record.valid_until), record.id, record.text)
        show_table(made)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
