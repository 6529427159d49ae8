"""The command ``doctor``: what is wrong, and the command that puts it right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from .environment import settings
from .options import DEFAULT_STORE, WRONG, AsJson, Embedding, StoreAt, Summarizing, User
from .output import console, count, write_json
from .vectors import vector_store

if TYPE_CHECKING:
    from ..doctor import Check

_MARKS: Final = {"ok": ("ok", "green"), "hint": ("hint", "yellow"), "wrong": ("WRONG", "bold red")}


def doctor(
    quick: Annotated[bool, typer.Option("--quick", help="Load and ask no model.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    summarizer: Summarizing = None,
    as_json: AsJson = False,
) -> None:
    """Look at the installation, the machine, the models and the store; say what is wrong, and what puts it right.

    \b
    siltstone doctor
    siltstone doctor --user alice --summarizer ollama:qwen3:8b

    Changes nothing. A summarizer that is named is asked for a small digest. Exit code 3 where something is wrong;
    hints are of what works, and might surprise. siltstone verify looks at every file.
    """
    from ..doctor import examine

    checks = []
    for check in examine(
        store,
        user_id=user,
        embedder=embedder,
        summarizer=summarizer,
        settings=settings(),
        vector_store=vector_store(),
        quick=quick,
    ):
        checks.append(check)
        if not as_json:
            _show(check)
    bad = sum(check.state == "wrong" for check in checks)
    if as_json:
        write_json({"checks": checks, "is_well": not bad})
    else:
        hints = sum(check.state == "hint" for check in checks)
        print(f"\n{count(len(checks), 'thing')} looked at: {bad} wrong, {count(hints, 'hint')}")
    if bad:
        raise typer.Exit(WRONG)


def _show(check: Check) -> None:
    """Print what was seen on a line, and what is to be done below it."""
    from rich.table import Table
    from rich.text import Text

    mark, style = _MARKS[check.state]
    row = Table.grid(padding=(0, 2))
    row.add_column(width=5)
    row.add_column(width=15)
    row.add_column(overflow="fold")
    row.add_row(Text(mark, style=style), check.name, Text(check.what))
    if check.fix:
        row.add_row("", "", Text(f"→ {check.fix}"))
    console().print(row)
