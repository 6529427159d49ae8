"""Commands on a whole store, all users of it: those of ``siltstone.upkeep``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..wire import plain
from .environment import settings
from .keys import VARIABLE, read_key
from .options import DEFAULT_STORE, WRONG, AsJson, Embedding, StoreAt, Yes, ask
from .output import count, minute, note, progress, show_table, size, table, write_json
from .vectors import vector_store

if TYPE_CHECKING:
    from ..reports import Finding, VerifyReport


def reembed(
    store: StoreAt = DEFAULT_STORE,
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Move a store to another embedding model: every user's vectors are made anew, the texts stay.

    They go into the vector store that siltstone --vector-store names, and without it back into the store.

    Stopped or killed, it goes on when it is run again; until it is done, memories are found by their words.

    \b
    siltstone reembed --embedder sentence-transformers:BAAI/bge-m3
    """
    from ..upkeep import reembed

    with progress("embedding") as advance_to:
        made = reembed(store, embedder=embedder, settings=settings(), progress=advance_to, vector_store=vector_store())
    if as_json:
        write_json({"vectors": made})
    else:
        print(f"made {made} vectors")


def verify(
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended; damaged pieces are kept.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="An id to try where a folder does not name its user.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every file of the store: documents, vectors, caches, audit, leftovers, modes. Others may go on writing.

    Exit code 0: sound; 3: something is lost, exposed or must be made anew (with --repair: still is).

    \b
    siltstone verify
    siltstone verify --repair --json
    """
    from ..upkeep import verify

    with progress("users") as advance_to:
        report = verify(store, repair=repair, user_id=user, progress=advance_to)
    if as_json:
        write_json({**plain(report), "is_sound": report.is_sound})
    else:
        for title, findings in (("mended", report.repaired), ("found", report.findings)):
            if findings:
                _show_findings(title, findings, repair=not repair)
        print(
            f"{count(report.users, 'user')}, {count(report.documents, 'document')}, {count(report.vectors, 'vector')}, "
            f"{report.pending_vectors} to be embedded: {'sound' if report.is_sound else 'damaged'}"
        )
        if report.quarantine is not None:
            note(f"copies of the damaged pieces are in {report.quarantine}")
        for sentence in _what_next(report, store):
            note(sentence)
    if not report.is_sound:
        raise typer.Exit(WRONG)


def _show_findings(title: str, findings: Sequence[Finding], *, repair: bool) -> None:
    """Print findings, what and whose first, where it lies below: paths are long."""
    made = table(("how bad", "what"), title=title)
    for finding in findings:
        whose = "" if finding.user_id is None else f"user {finding.user_id!r}: "
        does = [f"--repair {finding.repair or 'can do nothing'}"] if repair else []
        made.add_row(finding.severity, "\n".join([whose + finding.what, f"in {finding.path}", *does]))
    show_table(made)


def _what_next(report: VerifyReport, store: str) -> Iterator[str]:
    """Yield what is safe where something is not, and the command to go on with."""
    if any(finding.severity == "lost" for finding in (*report.findings, *report.repaired)):
        yield f"safe: {count(report.documents, 'document')} that could be read; lost is what is named above"
        yield f"a backup may hold it: siltstone restore DIR --store {store} (what was written since the backup goes)"
    elif not report.is_sound:
        yield f"safe: {count(report.documents, 'document')}, that could be read: no text is lost"
    if not report.is_sound and any(finding.is_repairable for finding in report.findings):
        yield f"next: siltstone verify --repair --store {store}"


def compact(
    store: StoreAt = DEFAULT_STORE,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only this user's files.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take dead weight out of the files: versions behind the history, their vectors, notes of what is finished.

    The store does that by itself where it is much; others read and write meanwhile.

    \b
    siltstone compact
    siltstone --set history=3 compact --user alice
    """
    from ..upkeep import compact

    with progress("users") as advance_to:
        freed = compact(store, user_id=user, settings=settings(), progress=advance_to)
    if as_json:
        write_json({"bytes": freed})
    else:
        print(f"gave back {size(freed)}")


def backup(
    target: Annotated[str, typer.Argument(metavar="DIR", help="An empty folder, or an earlier backup of this store.")],
    store: StoreAt = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Copy the store while others write; only what has changed since the last time. Keys are not in it.

    \b
    siltstone backup /mnt/backup/memory
    """
    from ..upkeep import backup

    with progress("users") as advance_to:
        report = backup(store, target, progress=advance_to)
    if as_json:
        write_json(report)
        return
    print(
        f"backed up {count(report.users, 'user')} to {report.target}: {count(report.files, 'file')}, "
        f"{report.copied} of them copied now"
    )
    if report.damaged:
        note(f"pieces do not check in {count(len(report.damaged), 'file')}: siltstone verify --store {store} says more")


_WAITING = frozenset(("KEYS", "AUDIT", "LOCK"))
"""What is put where a store is to be, or is left of one: a restore keeps it."""


def restore(
    source: Annotated[str, typer.Argument(metavar="DIR", help="The backup.")],
    store: StoreAt = DEFAULT_STORE,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of the store, without what was forgotten since it was taken.

    What was written since goes; asks first where there is a store.

    \b
    siltstone restore /mnt/backup/memory --store ./memory
    """
    from ..upkeep import backed_up_at, restore

    if not yes and os.path.isdir(store) and set(os.listdir(store)) - _WAITING:
        ask(
            f"What is in {store} will be replaced by the backup of {minute(backed_up_at(source))}; "
            "what was written since is deleted for good."
        )
    with progress("users") as advance_to:
        report = restore(source, store, progress=advance_to)
    if report.knew == "nothing":
        note("nothing was left of the store, so what was forgotten after the backup was taken comes back with it")
    if report.knew == "part":
        note("AUDIT does not name all that was forgotten since the backup, so some of it may be back")
    for user_id, ids in report.doubtful.items():
        note(
            f"back, though they say the same as what {user_id} has forgotten under other ids, which AUDIT alone cannot "
            f"tell apart: {' '.join(ids)}; siltstone forget ID --store {store} --user {user_id} removes one"
        )
    if as_json:
        write_json(report)
        return
    print(f"restored {count(report.users, 'user')} to {report.location}, as of {minute(report.taken_at)}")
    if report.forgotten or report.erased:
        gone = f"{count(report.forgotten, 'item')} and {count(len(report.erased), 'user')}"
        print(f"forgotten since and not brought back: {gone}")
    if report.unreadable:
        shut = count(len(report.unreadable), "user")
        note(f"no key in KEYS opens {shut} of the backup: siltstone verify --store {store} says who was forgotten")


def rekey(
    new_key_file: Annotated[
        Path | None, typer.Option("--new-key-file", metavar="FILE", help="The new key; asked for if left out.")
    ] = None,
    data_keys: Annotated[
        bool, typer.Option("--data-keys", help="Encrypt everything anew, each user under another key.")
    ] = False,
    same_key: Annotated[bool, typer.Option("--same-key", help="Only with --data-keys: keep the store's key.")] = False,
    store: StoreAt = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Give an encrypted store another key.

    Without --data-keys one small file changes, and other processes go on. With it everything is written anew; backups
    from before can then be read only with the old key and a copy of KEYS from before. Killed, it goes on when it is run
    again. Copy KEYS anew after each rekey.

    \b
    siltstone rekey --new-key-file new.key
    """
    from ..upkeep import is_encrypted, rekey

    if same_key and (new_key_file is not None or not data_keys):
        raise typer.BadParameter("--same-key goes with --data-keys, and without --new-key-file")
    key = new = None
    asks = is_encrypted(store)  # else it is refused, whatever the keys
    if asks and not os.environ.get(VARIABLE):
        key = _asked("Present key", "--key-file FILE before the command")
    if asks and not same_key:
        new = read_key(new_key_file) if new_key_file is not None else _asked("New key", "--new-key-file", twice=True)
    with progress("users") as advance_to:
        report = rekey(store, key=key, new_key=new, data_keys=data_keys, progress=advance_to)
    if as_json:
        write_json(report)
        return
    if report.master_key:
        print("the store has the new key")
    if data_keys:
        print(f"new keys for {count(report.users, 'user')}")
        note("take a new backup: those from before can only be read with the old key and a copy of KEYS from before")
    note("copy KEYS anew: a copy from before goes with the old key")


def _asked(what: str, option: str, *, twice: bool = False) -> str:
    """Return a key that a person types, which nobody sees; where there is no terminal an option is to give it."""
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"{what.lower()}: there is no terminal to type it at; give {option}")
    return str(typer.prompt(what, hide_input=True, confirmation_prompt=twice, err=True))
