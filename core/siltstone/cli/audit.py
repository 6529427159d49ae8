"""The command ``audit``: what was done to a store for good, and whether what was made of conversations is true."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .configfile import given
from .options import DEFAULT_STORE, IN_PART, AsJson, Embedding, StoreAt, Yes, ask, opened
from .output import note, progress, show_table, table, write_json
from .trail import show_trail

if TYPE_CHECKING:
    from ..quality import Audit

_READING = "Review of digests: with --sample"
_TICKED = "Review of digests: with --verdicts"


class Language(str, enum.Enum):
    """The languages of the report."""

    en = "en"
    zh = "zh"


def audit(
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample",
            metavar="SHARE",
            help="Draw this share of the digests (0.1 is a tenth) and write a report.",
            rich_help_panel=_READING,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where the report goes: audit.html.", rich_help_panel=_READING),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Another one draws others.", rich_help_panel=_READING)
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="MODEL",
            help="Also ask a language model, e.g. ollama:MODEL or openai:MODEL@URL.",
            rich_help_panel=_READING,
        ),
    ] = None,
    language: Annotated[
        Language | None,
        typer.Option("--language", help="Of the report; that of the items if left out.", rich_help_panel=_READING),
    ] = None,
    embedder: Embedding = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            "--verdicts", metavar="FILE", help="Take in what was ticked in a report.", rich_help_panel=_TICKED
        ),
    ] = None,
    retract: Annotated[
        bool,
        typer.Option(
            "--retract", help="Forget what is wrong, with what rests on it; else it is marked.", rich_help_panel=_TICKED
        ),
    ] = False,
    store: StoreAt = DEFAULT_STORE,
    user: Annotated[
        str | None,
        typer.Option(
            "--user", metavar="NAME", help="Only what concerns this user; of a review, whose memory (default)."
        ),
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """List what was done for good; or review what was made of conversations.

    \b
    siltstone audit
    siltstone audit --sample 0.1
    siltstone audit --verdicts verdicts.json

    Alone: what was forgotten, erased, restored and repaired, when (local time), whose, how much; never the words.

    With --sample: draw digests, check each item against its sources, and write a report to read and tick. Those that
    are queued (stats counts them) come first, then others by chance. The report holds memories in plain text. Exit
    code 4 where the judge failed for a digest.
    """
    if sample is not None and verdicts is not None:
        raise typer.BadParameter("goes without --sample", param_hint="--verdicts")
    if retract and verdicts is None:
        raise typer.BadParameter("goes with --verdicts", param_hint="--retract")
    if sample is None and any(given is not None for given in (out, seed, judge, language)):
        raise typer.BadParameter("go with --sample", param_hint="--out, --seed, --judge, --language")
    out, seed = out or Path("audit.html"), seed or 0
    whose = user or os.environ.get("SILTSTONE_USER") or given().values.get("user") or "default"
    if sample is not None:
        from ..quality.auditing import check_sample

        check_sample(sample)
        if not yes and out.is_file():
            ask(f"The file {out} is there, and will be replaced by the report.")
        _sample(store, whose, embedder, sample, seed, judge, out, language, as_json)
    elif verdicts is not None:
        if retract and not yes:
            ask("What was ticked as wrong will be deleted for good, with what rests on it.")
        _take(store, whose, embedder, verdicts, retract, as_json)
    else:
        show_trail(store, user, as_json)


def _sample(
    store: str,
    user: str,
    embedder: str | None,
    sample: float,
    seed: int,
    judge: str | None,
    out: Path,
    language: Language | None,
    as_json: bool,
) -> None:
    from ..quality import audit, write_report

    with opened(store, user, embedder, read_only=True) as memory, progress("checking") as advance_to:
        drawn = audit(memory, sample=sample, seed=seed, judge=judge, progress=advance_to)
    write_report(drawn, out, language=None if language is None else language.value)
    if as_json:
        write_json({"file": str(out), "audit": drawn})
    else:
        _show(drawn)
        print(f"wrote {out}: {len(drawn.digests)} of {drawn.total} digests, {drawn.waiting} more wait for a review")
    note(f"{out} holds memories in plain text, also of an encrypted store; forget does not reach it")
    failures = [digest for digest in drawn.digests if digest.failure]
    for digest in failures:
        note(f"session {digest.session_id!r} was not judged: {digest.failure}")
    if failures:
        raise typer.Exit(IN_PART)


def _show(drawn: Audit) -> None:
    """Print what has a flag, the least supported first."""
    flagged = sorted((entry for entry in drawn.entries if entry.flags), key=lambda entry: entry.checked.score)
    if flagged:
        made = table(("support", "flags", "kind", "text"), right=("support",))
        for entry in flagged:
            record = entry.record
            made.add_row(f"{entry.checked.score:.2f}", ", ".join(entry.flags), record.kind, record.text)
        show_table(made)
    else:
        print(f"nothing to flag in {sum(1 for _ in drawn.entries)} items")


def _take(store: str, user: str, embedder: str | None, verdicts: Path, retract: bool, as_json: bool) -> None:
    from ..quality import take_verdicts

    with opened(store, user, embedder) as memory:
        report = take_verdicts(memory, verdicts, retract=retract)
    if as_json:
        write_json(report)
        return
    print(
        f"{len(report.right)} right, {len(report.wrong)} wrong, {len(report.unsure)} unsure; "
        f"{report.reviewed} digests reviewed"
    )
    if report.forgotten:
        print(f"forgotten: {len(report.forgotten)} records")
    elif report.wrong:
        note("what is wrong is marked and told in no context any more; --retract forgets it")
    if report.contradicted:
        note(f"{len(report.contradicted)} items have several verdicts: wrong counts before unsure, that before right")
    if report.outdated:
        note(
            f"{len(report.outdated)} items have changed or gone since the report was written: nothing was noted of them"
        )
