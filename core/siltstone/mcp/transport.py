"""How a client reaches the server: over standard input and output, or over streamable HTTP with a token."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from mcp.server.mcpserver import MCPServer

from ..errors import ConfigurationError
from ..text.hosts import is_loopback

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH: Final = "/mcp"
SHORTEST_TOKEN: Final = 16
"""Characters: a shorter token could be guessed."""


def run_stdio(server: MCPServer[None]) -> None:
    """Serve one client over standard input and output until it hangs up. Logs go to standard error."""
    logging.captureWarnings(True)  # standard output is the protocol's alone
    server.run("stdio")


def run_http(server: MCPServer[None], *, host: str, port: int, token: str | None) -> None:
    """Serve clients over streamable HTTP at ``http://host:port/mcp`` until the process is told to end.

    Raises ``ConfigurationError`` for an address that others can reach without a token, and for a token that is short.
    """
    import uvicorn

    uvicorn.run(http_app(server, host=host, token=token), host=host, port=port, log_level="warning")


def http_app(server: MCPServer[None], *, host: str, token: str | None) -> App:
    """Return the server as an ASGI application, which asks each request for the token if there is one."""
    if token is None and not is_loopback(host):
        raise ConfigurationError(
            f"{host} can be reached from other machines, and no token is set: nothing was started. Set "
            "SILTSTONE_MCP_TOKEN, or stay on 127.0.0.1"
        )
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise ConfigurationError(f"a token has at least {SHORTEST_TOKEN} characters: nothing was started")
    app: App = server.streamable_http_app(streamable_http_path=PATH, host=host)
    return app if token is None else _guarded(app, token)


def _guarded(app: App, token: str) -> App:
    """Return the application behind a bearer token, which is compared in constant time."""
    wanted = token.encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            scheme, _, credentials = given.partition(b" ")
            if scheme.lower() != b"bearer" or not secrets.compare_digest(credentials.strip(), wanted):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b"a bearer token is needed\n"})
                return
        await app(scope, receive, send)

    return guarded
