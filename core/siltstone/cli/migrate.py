"""The command that moves a whole store into another one: ``siltstone.upkeep.migrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .environment import settings
from .keys import read_key
from .long_work import stopping_between, working
from .options import AsJson, Yes, ask
from .output import count, note, write_json


def migrate(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A folder, sqlite:///FILE or postgresql://SERVER/DB.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The same; it is made where there is none.")],
    from_key_file: Annotated[
        Path | None, typer.Option("--from-key-file", metavar="FILE", help="The key of FROM, if it has its own.")
    ] = None,
    to_key_file: Annotated[
        Path | None, typer.Option("--to-key-file", metavar="FILE", help="The key of TO: it is to be encrypted.")
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="TO is not to be encrypted, although FROM is, or a key is set.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete what TO holds for good first; asks before it does.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be moved, and write nothing.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Move a whole store, all users and all that they have, into another one of any kind; FROM is only read.

    Both are compared in the end, by count and checksum; until then nobody else can open TO. Stopped or killed, it goes
    on when it is run again. What writes to FROM should be stopped before; if it was not, that is noticed.

    \b
    siltstone migrate ./memory postgresql://app@server/memory
    siltstone migrate postgresql://app@server/memory ./memory
    siltstone migrate ./memory ./sealed --to-key-file new.key
    """
    from ..upkeep import migrate

    if plain and to_key_file is not None:
        raise typer.BadParameter("--plain and --to-key-file exclude each other")
    if replace and not dry_run and not yes:
        ask(f"What {target} holds, if anything, is deleted for good.")
    with stopping_between() as check, working("moving") as advance_to:

        def move(done: int, total: int) -> None:
            advance_to(done, total)
            check()

        report = migrate(
            source,
            target,
            key=None if from_key_file is None else read_key(from_key_file),
            target_key=None if to_key_file is None else read_key(to_key_file),
            plain=plain,
            replace=replace,
            dry_run=dry_run,
            settings=settings(),
            progress=move,
        )
    if as_json:
        write_json(report)
        return
    told = {"the same": "was moved before, and is the same:", "half done": "was gone on with, and is the same:"}
    print(
        f"would move to {report.target}, which is {report.target_was}:"
        if dry_run
        else f"{report.target} {told.get(report.target_was, 'is the same now:')}"
    )
    print(
        f"{count(report.users, 'user')}, {count(report.messages, 'message')}, {count(report.records, 'record')}, "
        f"{count(report.versions, 'version')} of them and of {count(report.jobs, 'job')}, "
        f"{count(report.vectors, 'vector')}; {report.refused} refused as forgotten, "
        f"{count(report.audit, 'line')} of the audit; checksum {report.checksum}"
    )
    if not dry_run:
        note(f"{report.source} is as it was; short-term turns are no part of a store")
