"""The command that moves data out: ``export``; ``importing`` has the other way."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ..errors import NotFoundError
from .options import DEFAULT_STORE, AsJson, Embedding, StoreAt, User, Yes, ask, opened
from .output import count, progress, write_json
from .users import has_nothing, nobody


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - is stdout.")] = "-",
    yes: Yes = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Write a user's memory as one JSON Lines file: sessions, memories, their versions and sources.

    \b
    siltstone export alice.jsonl --user alice
    siltstone export | gzip > alice.jsonl.gz

    The file holds every word in plain text and is yours: forget does not reach it. Vectors are not in it. Asks before
    it replaces a file; a user who has nothing is refused.
    """
    if file == "-" and as_json:
        raise typer.BadParameter("--json tells of a file: name one", param_hint="FILE")
    with opened(store, user, embedder, read_only=True, missing_ok=True) as memory:
        if has_nothing(memory):
            raise NotFoundError(f"nothing was written: {nobody(memory)}")
        if not yes and os.path.isfile(file):
            ask(f"The file {file} is there, and will be replaced by the memory of user {user!r}.")
        if file == "-":
            memory.export_to(sys.stdout.buffer)
            return
        with progress("exporting") as advance_to:
            items = memory.export_to(file, progress=advance_to)
    if as_json:
        write_json({"file": file, "items": items})
    else:
        print(f"wrote {count(items, 'item')} to {file}")
