"""What the commands have in common: where the store is, whose memory, how times are read, and when it is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BackendUnavailableError
from .environment import settings
from .output import note, progress
from .users import warn_of_nobody

if TYPE_CHECKING:
    from ..memory import TieredMemory

DEFAULT_STORE = "./memory"
IN_PART = 4
"""Exit code of a command that has done what it could, and says what it could not."""


def when(text: str) -> datetime:
    """Read an ISO 8601 time; one without a zone is local, as a person at a keyboard means it."""
    try:
        value = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in "zZ" else text)
    except ValueError as exc:
        raise typer.BadParameter(f"{text!r} is not an ISO 8601 time, e.g. 2024-05-06 or 2024-05-06T09:30") from exc
    return value.astimezone() if value.tzinfo is None else value


StoreAt = Annotated[
    str, typer.Option("--store", metavar="FOLDER", envvar="SILTSTONE_STORE", help="Folder of the store.")
]
User = Annotated[str, typer.Option("--user", metavar="NAME", envvar="SILTSTONE_USER", help="Whose memory.")]
Embedding = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="MODEL",
        envvar="SILTSTONE_EMBEDDER",
        help="Embedding model, e.g. sentence-transformers:MODEL; the embedded one if left out.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Session = Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this conversation.")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", metavar="KIND", help="Only this kind; repeat for several.")]
Since = Annotated[datetime | None, typer.Option("--since", parser=when, metavar="TIME", help="Not before.")]
Until = Annotated[datetime | None, typer.Option("--until", parser=when, metavar="TIME", help="Not after.")]


def ask(warning: str) -> None:
    """Say what is about to happen and go on only if a person agrees; where nobody can be asked, that is a no."""
    note(warning)
    try:
        agreed = typer.confirm("Go on?", err=True)
    except typer.Abort:  # nobody is there, or has had enough
        note("")
        agreed = False
    if not agreed:
        note("nothing was changed; --yes goes on without asking")
        raise typer.Abort


@contextmanager
def opened(
    store: str,
    user: str,
    embedder: str | None,
    *,
    summarizer: str | None = None,
    create: bool = False,
    read_only: bool = False,
    missing_ok: bool = False,
) -> Iterator[TieredMemory]:
    """Give the block an open memory. A store that is not there is an error unless ``create`` is set.

    Unless then or with ``missing_ok``, a user who has nothing is told on stderr.
    """
    from ..memory import TieredMemory

    with TieredMemory.open(
        store,
        user_id=user,
        embedder=embedder,
        summarizer=summarizer,
        settings=settings(),
        create=create,
        read_only=read_only,
    ) as memory:
        if not create and not missing_ok:
            warn_of_nobody(memory)
        yield memory


def embed(memory: TieredMemory) -> None:
    """Wait until everything can be found by meaning; it is stored, whatever becomes of that."""
    total = memory.stats().pending_vectors
    with progress("embedding") as advance_to:
        while left := memory.stats().pending_vectors:
            advance_to(total - left, total)
            try:
                memory.flush(timeout=0.5)
            except BackendUnavailableError as exc:
                if memory.stats().last_error is not None:
                    note(f"siltstone: everything is stored, but found by its words only until it is embedded: {exc}")
                    return
