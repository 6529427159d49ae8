"""What the commands have in common: where the store is, whose memory, how times are read, and when it is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BackendUnavailableError, ConfigurationError
from .environment import DEFAULT, chosen, settings
from .long_work import working
from .output import note
from .users import warn_of_nobody
from .vectors import vector_store

if TYPE_CHECKING:
    from ..memory import TieredMemory

DEFAULT_STORE = "./memory"
WRONG = 3
"""Exit code where ``verify`` or ``doctor`` found something that is to be put right."""
IN_PART = 4
"""Exit code of a command that has done what it could, and says what it could not."""


def when(text: str) -> datetime:
    """Read an ISO 8601 time; one without a zone is local, as a person at a keyboard means it."""
    try:
        value = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in "zZ" else text)
    except ValueError as exc:
        raise typer.BadParameter(f"{text!r} is not an ISO 8601 time, e.g. 2024-05-06 or 2024-05-06T09:30") from exc
    return value.astimezone() if value.tzinfo is None else value


def _at_home(store: str) -> str:
    """Return where a store is, with the home that ``~`` stands for: shells leave it in ``--store=~/memory``."""
    return os.path.expanduser(store)


StoreAt = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="FOLDER",
        envvar="SILTSTONE_STORE",
        callback=_at_home,
        help="Folder of the store; or sqlite:///FILE, postgresql://…, the http://… of a service.",
    ),
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
Summarizing = Annotated[
    str | None,
    typer.Option(
        "--summarizer",
        metavar="MODEL",
        envvar="SILTSTONE_SUMMARIZER",
        help="Language model, e.g. ollama:MODEL or openai:MODEL@URL; none if left out.",
    ),
]
ShortTerm = Annotated[
    str | None,
    typer.Option(
        "--short-term",
        metavar="URL",
        envvar="SILTSTONE_SHORT_TERM",
        help="Where recent turns are kept, e.g. redis://HOST:PORT/0; in the store itself if left out.",
    ),
]
_short_term: ContextVar[str | None] = ContextVar("short_term", default=None)


def use_short_term(url: str | None) -> None:
    """Let the commands of this run keep recent turns there."""
    _short_term.set(url or None)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FOLDER", help="Also draw the figures, as PNG (needs matplotlib).")
]
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

    Unless then or with ``missing_ok``, a user who has nothing is told on stderr. A service has settings of its own, and
    keeps what is only read as it is: it is told neither.
    """
    from ..memory import TieredMemory
    from ..opening import is_service

    served = is_service(store)
    if served and (set_here := [f"{name} ({one.source})" for name, one in chosen().items() if one.source != DEFAULT]):
        raise ConfigurationError(
            f"{', '.join(set_here)}: the service at {store} has settings of its own, where it is started; nothing was "
            "opened: leave it out"
        )
    with TieredMemory.open(
        store,
        user_id=user,
        embedder=embedder,
        summarizer=summarizer,
        short_term=_short_term.get(),
        vector_store=vector_store(),
        settings=None if served else settings(),
        create=create,
        read_only=read_only and not served,
    ) as memory:
        if not create and not missing_ok:
            warn_of_nobody(memory)
        yield memory


def embed(memory: TieredMemory) -> None:
    """Wait until everything can be found by meaning; it is stored, whatever becomes of that."""
    total = memory.stats().pending_vectors
    with working("embedding") as advance_to:
        while left := memory.stats().pending_vectors:
            advance_to(total - left, total)
            try:
                memory.flush(timeout=0.5)
            except BackendUnavailableError as exc:
                if memory.stats().last_error is not None:
                    note(f"siltstone: everything is stored, but found by its words only until it is embedded: {exc}")
                    return
