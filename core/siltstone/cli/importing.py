"""The command that moves data in: ``import``."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigurationError, InvalidInputError, MissingDependencyError, NotFoundError, SiltstoneError
from .environment import settings
from .long_work import stopping_between, working
from .options import DEFAULT_STORE, IN_PART, AsJson, Embedding, StoreAt, User, embed, opened
from .output import count, day, first_words, minute, note, show_table, table, write_json

if TYPE_CHECKING:
    from ..memory import TieredMemory
    from ..records import ImportPreview, ImportReport
    from ..reports import EmbedReport

_SHOWN = 20
"""Failures that are printed of each file; the file of failures has all, ``--json`` a thousand."""
_RIGHTS = (
    "Please make sure that you have the right to store this: what others wrote may need their consent. "
    "siltstone forget takes any of it out again."
)
_REFUSALS = (ConfigurationError, InvalidInputError, MissingDependencyError, NotFoundError)


def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, folders, zip archives; - is stdin.")],
    format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="What they are; found by looking inside.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what is understood and would come of it.")
    ] = False,
    vectors: Annotated[
        str | None,
        typer.Option(
            "--vectors", metavar="PATH", help="A file of vectors to use and fill; FILE.vectors if it is there."
        ),
    ] = None,
    embed_only: Annotated[
        bool, typer.Option("--embed-only", help="Store nothing: only make the file of vectors, e.g. where a GPU is.")
    ] = False,
    failed: Annotated[
        str | None, typer.Option("--failed", metavar="PATH", help="Where to keep what fails; FILE.failed.jsonl.")
    ] = None,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Take over chats, documents and other memories, found by looking inside.

    \b
    siltstone import conversations.json --dry-run
    siltstone import chats.zip "WhatsApp Chat with Ann.txt" notes/ --user alice
    siltstone import conversations.json.failed.jsonl          # what failed, once more
    siltstone import big.json --embed-only && siltstone import big.json

    Reads exports of ChatGPT, Claude, Telegram, WhatsApp, WeChat, ChatLab, ShareGPT, OpenAI messages, LangChain,
    LlamaIndex, siltstone; {"id", "text"} lists; Markdown and text. Twice changes nothing; stopped or killed, it goes on
    when it is run again. What was forgotten stays forgotten. Exit code 4 when something failed; the rest is stored. A
    missing store is made.
    """
    from ..opening import is_service

    if failed is not None and len(files) > 1:
        raise typer.BadParameter("several files cannot have one place for what fails", param_hint="--failed")
    if embed_only and dry_run:
        raise typer.BadParameter("--dry-run and --embed-only exclude each other", param_hint="--embed-only")
    if embed_only:
        _embed(files, format=format, vectors=vectors, embedder=embedder, as_json=as_json)
        return
    reports: dict[str, ImportReport] = {}
    refused: dict[str, SiltstoneError] = {}
    with _opened(store, user, embedder, dry_run=dry_run) as memory:
        with stopping_between() as check:
            for file in files:
                options = {"format": format, "dry_run": dry_run, "vectors": vectors, "failures": failed}
                if not is_service(memory.location):  # that has no file beside ours
                    options |= {"vectors": _vectors(file, vectors), "failures": failed or _kept(file)}
                try:
                    reports[file] = _imported(memory, file, check, **options)
                except _REFUSALS as exc:
                    if len(files) == 1:
                        raise
                    refused[file] = exc
                    note(f"{file}: {exc}")
                    continue
                if not as_json:
                    _show(file, reports[file])
        if as_json:
            told = [{"file": file, "report": report} for file, report in reports.items()]
            write_json({"files": [*told, *({"file": file, "error": str(exc)} for file, exc in refused.items())]})
        if not dry_run:
            embed(memory)
    if not dry_run and any(report.added for report in reports.values()):
        note(_RIGHTS)
    if not reports:
        raise typer.Exit(1)
    if refused or any(report.failed for report in reports.values()):
        raise typer.Exit(IN_PART)


@contextmanager
def _opened(store: str, user: str, embedder: str | None, *, dry_run: bool) -> Iterator[TieredMemory]:
    """Give the block the memory to import into; for a dry run as it is, or empty where there is none yet."""
    with ExitStack() as held:
        if not dry_run:
            memory = held.enter_context(opened(store, user, embedder, create=True))
        else:
            try:
                memory = held.enter_context(opened(store, user, embedder, read_only=True, missing_ok=True))
            except NotFoundError:
                memory = held.enter_context(opened(":memory:", user, embedder, create=True))
        yield memory


@contextmanager
def _stoppable(file: str, check: Callable[[], None]) -> Iterator[Callable[[int, int], None]]:
    """Give the block what to call as work goes on with a file, and what it may be stopped by."""
    with working(file) as move:

        def progress(done: int, total: int) -> None:
            move(done, total)
            check()

        yield progress


def _imported(memory: TieredMemory, file: str, check: Callable[[], None], **options: Any) -> ImportReport:
    with _stoppable(file, check) as progress:
        return memory.import_from(sys.stdin.buffer if file == "-" else file, progress=progress, **options)


def _embed(files: Sequence[str], *, vectors: str | None, as_json: bool, **options: Any) -> None:
    """Make files of vectors, and store nothing."""
    from ..transfer.vector_cache import ENDING
    from ..upkeep import embed_source

    reports: dict[str, EmbedReport] = {}
    with stopping_between() as check:
        for file in files:
            with _stoppable(file, check) as progress:
                source = sys.stdin.buffer if file == "-" else file
                kept = vectors or _beside(file, ENDING)
                report = embed_source(source, kept, settings=settings(), progress=progress, **options)
            reports[file] = report
            if not as_json:
                print(
                    f"{file}: {count(report.texts, 'text')}: {report.embedded} embedded, {report.known} known, "
                    f"{report.failed} failed; the vectors are in {report.path}"
                )
            if report.failed:
                note(f"{file}: {report.error}; run it again to try the rest")
    if as_json:
        write_json({"files": [{"file": file, "report": report} for file, report in reports.items()]})
    if any(report.failed for report in reports.values()):
        raise typer.Exit(IN_PART)


def _beside(file: str, ending: str) -> str:
    return ("stdin" if file == "-" else os.path.abspath(file) if os.path.isdir(file) else file) + ending


def _kept(file: str) -> str:
    """Return where failures are kept: what is tried again takes the place of what failed before."""
    from ..importers.failed import ENDING

    return file if file.endswith(ENDING) else _beside(file, ENDING)


def _vectors(file: str, given: str | None) -> str | None:
    """Return the file of vectors to use, if any."""
    from ..importers import failed
    from ..transfer import vector_cache

    if given is not None:
        return given
    beside = _beside(file.removesuffix(failed.ENDING), vector_cache.ENDING)
    return beside if file != "-" and os.path.isfile(beside) else None


# --- what is shown


def _show(file: str, report: ImportReport) -> None:
    print(
        f"{file} ({report.format}): {report.read} read: {'would be ' if report.dry_run else ''}{report.added} added, "
        f"{report.updated} updated, {report.unchanged} unchanged, {report.skipped} skipped, {report.failed} failed"
    )
    if report.dry_run and report.preview is not None:
        _show_preview(report.preview)
    for sentence in report.notes:
        note(sentence if sentence.startswith(file) else f"{file}: {sentence}")
    skipped = [problem for problem in report.problems if problem.outcome == "skipped"]
    for reason, number in Counter(problem.reason for problem in skipped).items():
        where = next(problem.where for problem in skipped if problem.reason == reason)
        note(f"{file}, {where}{f' and {number - 1} more' if number > 1 else ''}: skipped: {reason}")
    if (more := report.skipped - len(skipped)) > 0:
        note(f"{file}: and {more} more skipped")
    failures = [problem for problem in report.problems if problem.outcome == "failed"]
    for problem in failures[:_SHOWN]:
        note(f"{file}, {problem.where}: failed: {problem.reason}")
    if (more := report.failed - _SHOWN) > 0:
        note(f"{file}: and {more} more failed")
    if report.failed_file is not None:
        note(f"{file}: what failed is in {report.failed_file}; once mended: siltstone import {report.failed_file}")


def _show_preview(preview: ImportPreview) -> None:
    """Print the first items, and what there is in all."""
    from ..records import Message

    parts = [count(preview.sessions, "conversation")] if preview.sessions else []
    if preview.speakers:
        parts.append(", ".join(preview.speakers))
    if preview.since is not None and preview.until is not None:
        parts.append(f"{day(preview.since)} to {day(preview.until)}")
    shown = table(("session", "time", "who", "text"), title="; ".join(parts) or None)
    for item in preview.items:
        if isinstance(item, Message):
            said = minute(item.created_at), item.name or item.role, first_words(item.content)
        else:
            said = "", item.topic or item.kind, first_words(item.text)
        shown.add_row(item.session_id or "", *said)
    show_table(shown)
