"""Commands that look: ``search``, ``context``, ``sessions``, ``show`` and ``stats``. None of them writes."""

from __future__ import annotations

from typing import Annotated

import typer

from ..records import Record
from .options import DEFAULT_STORE, AsJson, Embedding, Kinds, Session, Since, StoreAt, Until, User, opened
from .output import hits_table, minute, note, plain, records_table, show_table, show_why, table, write_json
from .users import show_users


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
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Show one memory with all it holds, or list memories in the order of writing.

    \b
    siltstone show --session monday
    siltstone show turn:0190…
    """
    with opened(store, user, embedder, read_only=True) as memory:
        if id is None:
            records = list(memory.records(kinds=kind, since=since, until=until, session_id=session))
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


def stats(
    users: Annotated[bool, typer.Option("--users", help="List all users instead, and what each has.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Count what is stored and what it takes on disk: of one user, or who has what.

    \b
    siltstone stats --user alice
    siltstone stats --users --json
    """
    with opened(store, user, embedder, read_only=True, missing_ok=users) as memory:
        if users:
            show_users(memory, as_json=as_json)
            return
        found = memory.stats()
    if as_json:
        write_json(found)
        return
    made = table(("what", "value"))
    for name, value in plain(found).items():
        if isinstance(value, dict):
            for part, amount in value.items():
                made.add_row(f"{name}: {part}", _text(amount))
        elif value not in (None, []):
            made.add_row(name.replace("_", " "), _text(value))
    show_table(made)
    if found.health:
        note(f"siltstone verify --store {store} says what its health is about, and what to do")


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
