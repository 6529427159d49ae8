"""The command ``consolidate``: what is due is compressed, revised, rolled up and taken out, row by row."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import DEFAULT_STORE, IN_PART, AsJson, Embedding, StoreAt, User, embed, opened
from .output import show_table, table, write_json

Summarizing = Annotated[
    str | None,
    typer.Option(
        "--summarizer",
        metavar="MODEL",
        envvar="SILTSTONE_SUMMARIZER",
        help="Language model, e.g. ollama:MODEL or openai:MODEL@URL; none if left out.",
    ),
]


def consolidate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen, and why.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try dead letters again, too.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    summarizer: Summarizing = None,
    as_json: AsJson = False,
) -> None:
    """Bring a memory up to date: compress what is due, revise what is known, roll up, expire.

    Run it from time to time, e.g. by cron; several at once do everything once. Exit code 4 where a model failed: its
    work stays due, and is tried again by a later run.

    \b
    siltstone consolidate --dry-run
    siltstone consolidate --retry --summarizer ollama:qwen3:4b
    """
    from rich.text import Text

    with opened(store, user, embedder, summarizer=summarizer, read_only=dry_run) as memory:
        report = memory.consolidate(dry_run=dry_run, retry=retry)
        if as_json:
            write_json(report)
        elif report.rows:
            made = table(("action", "text", "why"))
            for row in report.rows:
                made.add_row(row.action, Text(row.text), Text(row.why))
            show_table(made)
        else:
            print("nothing is due")
        if not dry_run:
            embed(memory)
    if report.count("fail") or report.count("skip"):
        raise typer.Exit(IN_PART)
