"""Commands that move data: ``export`` and ``import``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigurationError, InvalidInputError, MissingDependencyError, NotFoundError, SiltstoneError
from .options import DEFAULT_STORE, IN_PART, AsJson, Embedding, StoreAt, User, Yes, ask, embed, opened
from .output import count, note, progress, write_json
from .users import has_nothing, nobody

if TYPE_CHECKING:
    from ..records import ImportReport

_SHOWN = 20
"""Problems that are printed of each file; ``--json`` has more."""


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


def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files or folders; - is stdin.")],
    format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="What they are; found by looking inside.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would come of it.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Take over exports of siltstone, and stores of LlamaIndex and LangChain.

    \b
    siltstone import alice.jsonl --user alice --dry-run
    siltstone import ./storage chat_store.json monday.json --user alice

    Twice changes nothing; stopped or killed, it goes on when it is run again. What was forgotten stays forgotten.
    Each source is tried. Exit code 4 when something could not be read; the rest is stored. A missing store is made.
    """
    reports: dict[str, ImportReport] = {}
    failures: dict[str, SiltstoneError] = {}
    there = os.path.exists(store)
    place = ":memory:" if dry_run and not there else store
    with opened(place, user, embedder, create=True, read_only=dry_run and there) as memory:
        for file in files:
            source = sys.stdin.buffer if file == "-" else file
            try:
                with progress(file) as advance_to:
                    reports[file] = memory.import_from(source, format=format, dry_run=dry_run, progress=advance_to)
            except (ConfigurationError, InvalidInputError, MissingDependencyError, NotFoundError) as exc:
                if len(files) == 1:
                    raise
                failures[file] = exc
                note(f"{file}: {exc}")
                continue
            if not as_json:
                _show(file, reports[file])
        if as_json:
            told = [{"file": file, "report": report} for file, report in reports.items()]
            failed = [{"file": file, "error": str(exc)} for file, exc in failures.items()]
            write_json({"files": [*told, *failed]})
        if not dry_run:
            embed(memory)
    if not reports:
        raise typer.Exit(1)
    if failures or any(report.failed for report in reports.values()):
        raise typer.Exit(IN_PART)


def _show(file: str, report: ImportReport) -> None:
    print(
        f"{file} ({report.format}): {'would be ' if report.dry_run else ''}{report.added} added, "
        f"{report.updated} updated, {report.unchanged} unchanged, {report.skipped} skipped, {report.failed} failed"
    )
    for sentence in report.notes:
        note(f"{file}: {sentence}")
    for problem in report.problems[:_SHOWN]:
        note(f"{file}, {problem.where}: {problem.outcome}: {problem.reason}")
    if (more := report.skipped + report.failed - _SHOWN) > 0:
        note(f"{file}: and {more} more")
