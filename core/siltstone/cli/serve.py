"""The command ``serve``: the memory over HTTP, for applications in any language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .options import DEFAULT_STORE, Embedding, StoreAt, Summarizing, User, opened

TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--tokens",
        metavar="FILE",
        envvar="SILTSTONE_TOKENS",
        help="Who may use it; see siltstone token. Needed where others can reach it.",
    ),
]


def serve(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where it listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65_535, help="Where it listens.")] = 8_000,
    tokens: TokenFile = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A name it goes by, behind a proxy; repeat for several."),
    ] = None,
    rate: Annotated[
        float, typer.Option("--rate", metavar="N", min=0, help="Requests a second of one caller; 0: any number.")
    ] = 100,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, help="Requests that are worked on at once.")
    ] = 64,
    max_body: Annotated[
        int, typer.Option("--max-body", metavar="BYTES", min=1, help="Largest request, but for imports.")
    ] = 8 << 20,
    max_import: Annotated[int, typer.Option("--max-import", metavar="BYTES", min=1, help="Largest import.")] = 1 << 30,
    grace: Annotated[
        int,
        typer.Option(
            "--grace", metavar="SECONDS", min=1, help="How long it may finish what it is at; then it is cut off."
        ),
    ] = 30,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option("--log-level", help="What is logged, to stderr.")
    ] = "info",
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every write.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    summarizer: Summarizing = None,
) -> None:
    """Serve the memories of a store over HTTP: write, query, search, and all the rest. /docs describes it.

    In a browser its address shows what the memory knows, with forms to edit and forget it.

    \b
    siltstone serve --store ~/memory
    siltstone serve --host 0.0.0.0 --tokens tokens.jsonl --allow-host memory.example.com

    It listens to this machine only, and asks nobody for a token, unless --tokens names a file; --user is whose memory
    is meant where a request names nobody. Put a proxy with TLS before it where others reach it. SIGTERM and Ctrl-C end
    it once what it is at is done, or --grace is over: what is cut off goes on when it is begun again. Needs the extra
    http.
    """
    from ..access import Tokens
    from ..http import create_app
    from ..http.limits import Limits
    from ..http.logs import log_to_stderr
    from ..http.serving import check_address, listening
    from ..http.serving import serve as run

    known = None if tokens is None else Tokens(tokens)
    check_address(host, known)
    limits = Limits(
        max_body=max_body,
        max_import=max_import,
        rate=rate or None,
        burst=max(1, round(2 * rate)),
        concurrency=concurrency,
    )
    hosts = None if known is not None and not allow_host else allow_host or ()
    listener = listening(host, port)
    with (
        listener,
        opened(store, user, embedder, summarizer=summarizer, create=not read_only, read_only=read_only) as memory,
    ):
        log_to_stderr(log_level)
        run(create_app(memory, tokens=known, limits=limits, hosts=hosts), listener, grace=grace)
