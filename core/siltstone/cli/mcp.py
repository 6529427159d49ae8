"""The command ``mcp``: the memory for assistants that speak the Model Context Protocol."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from ..errors import MissingDependencyError
from .options import DEFAULT_STORE, Embedding, StoreAt, User, opened

TOKEN = "SILTSTONE_MCP_TOKEN"


def mcp(
    transport: Annotated[
        Literal["stdio", "http"],
        typer.Option("--transport", help="stdio: one client, which starts it; http: many."),
    ] = "stdio",
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where http listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Where http listens.")] = 8001,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer no tools that write.")] = False,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
) -> None:
    """Serve a user's memory to assistants over MCP: search, recall, remember and forget.

    \b
    siltstone mcp --store ~/memory --user alice
    siltstone mcp --transport http --port 8001

    Over http the address is http://127.0.0.1:8001/mcp. Other addresses than this machine's own need a token, of 16
    characters or more, in SILTSTONE_MCP_TOKEN, which clients send as "Authorization: Bearer …". Needs the extra mcp.
    """
    try:
        from ..mcp.server import create_server
        from ..mcp.transport import run_http, run_stdio
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise MissingDependencyError.extra("mcp", "siltstone mcp", "mcp") from exc

    with opened(store, user, embedder, create=not read_only, read_only=read_only) as memory:
        server = create_server(memory, read_only=read_only)
        if transport == "stdio":
            run_stdio(server)
        else:
            run_http(server, host=host, port=port, token=os.environ.get(TOKEN) or None)
