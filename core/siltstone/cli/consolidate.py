"""The command ``consolidate``: what is due is compressed, revised, rolled up and taken out, row by row."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .options import DEFAULT_STORE, IN_PART, AsJson, Embedding, StoreAt, Summarizing, User, embed, opened
from .output import note, progress, show_table, table, write_json

if TYPE_CHECKING:
    from ..memory import TieredMemory
    from ..meter import Call
    from ..records import Stats

_SHOWN: Final = 3
"""Jobs that are told of one by one; ``siltstone stats`` has all."""


def consolidate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen, and why.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try now what waits, and dead letters, too.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    summarizer: Summarizing = None,
    as_json: AsJson = False,
) -> None:
    """Bring a memory up to date: compress what is due, revise what is known, roll up, expire.

    Run it from time to time, e.g. by cron; several at once do everything once. Exit code 4 where a model failed: its
    work stays due, and is tried again by a later run. What is tried, and what waits or has failed, is said on stderr.

    \b
    siltstone consolidate --dry-run
    siltstone consolidate --retry --summarizer ollama:qwen3:4b
    """
    from rich.text import Text

    with opened(store, user, embedder, summarizer=summarizer, read_only=dry_run) as memory:
        with _attempts_told(), _counted(memory):
            report = memory.consolidate(dry_run=dry_run, retry=retry)
        left = memory.stats()
        if as_json:
            write_json(report)
        elif report.rows:
            made = table(("action", "text", "why"))
            for row in report.rows:
                made.add_row(row.action, Text(row.text), Text(row.why))
            show_table(made)
        else:
            print("nothing is due now" if left.jobs else "nothing is due")
        if left.jobs:
            _tell_of_jobs(left)
        if not dry_run:
            embed(memory)
    if report.count("fail") or report.count("skip"):
        raise typer.Exit(IN_PART)


@contextmanager
def _counted(memory: TieredMemory) -> Iterator[None]:
    """Count the digests that are made meanwhile, on a bar, and say which model is asked; how many nobody knows."""
    made = asked = 0
    with progress("digests") as advance_to:

        @contextmanager
        def watch(call: Call) -> Iterator[None]:
            nonlocal made, asked
            asked += call.stage == "ask"
            if call.stage == "ask" and asked == 1:
                note(f"asking {memory.summarizer.name} …")
            yield
            if call.stage == "summarize":
                made += 1
                advance_to(made, None)

        leave = memory.meter.watch(watch)
        try:
            yield
        finally:
            leave()


@contextmanager
def _attempts_told() -> Iterator[None]:
    """Say on stderr when a model's server has not answered, and when it is asked again."""
    logger = logging.getLogger("siltstone.models.http")
    teller = logging.Handler()
    teller.emit = lambda record: note(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(teller)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(teller)


def _tell_of_jobs(left: Stats) -> None:
    """Say what waits, what another worker has, what has failed for good, and how to have it tried now."""
    told = {"waiting": "waiting for another attempt", "leased": "with another worker", "dead": "failed too often"}
    note(f"jobs {'; '.join(f'{told[state]}: {number}' for state, number in left.jobs.items())}. Nothing is lost.")
    lines = [*left.dead_letters, *left.unfinished]
    for line in lines[:_SHOWN]:
        note(f"  {line}")
    if len(lines) > _SHOWN:
        note(f"  and {len(lines) - _SHOWN} more: siltstone stats lists all")
    if left.jobs.keys() & {"waiting", "dead"}:
        note("siltstone consolidate --retry tries them now, with --summarizer MODEL by that model")
