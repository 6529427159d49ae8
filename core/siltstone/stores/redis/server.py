"""A Redis server, or a cluster: how it is reached, what its failures mean, and that it holds nothing of an earlier run.

What a server that was started again has from its disk may be older than what was dropped since, so that all of it goes
first: copies are made anew.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ...errors import BackendUnavailableError, ConfigurationError, MissingDependencyError
from ...text.addresses import shown_address
from . import keys

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.exceptions import NoScriptError, RedisError, ResponseError
    from redis.retry import Retry
except ModuleNotFoundError as exc:
    raise MissingDependencyError.extra(exc.name or "redis", "a short-term tier in Redis", "redis") from exc

logger = logging.getLogger("siltstone")

R = TypeVar("R")
SCHEMES: Final = ("redis", "rediss", "unix")
PATIENCE: Final = {"socket_connect_timeout": 2.0, "socket_timeout": 2.0}
"""Seconds; the address may say otherwise: ``redis://host?socket_timeout=5``."""
_AT_ONCE: Final = 1_000
"""Keys that are looked at in one step."""
_RUNS_KEPT: Final = 30 * 86_400
"""Seconds for which it is known that nothing of an earlier run is left."""


class ForeignKeyError(Exception):
    """A key of ours holds what is none of ours."""


class RedisServer:
    """A server by its address: ``redis://``, ``rediss://`` (TLS) or ``unix://``; a cluster is found out by asking.

    Thread-safe, and good in a forked child. ``location`` is the address without what is secret in it.
    """

    def __init__(self, url: str, prefix: str) -> None:
        """Connect to nothing yet. Raises ``ConfigurationError`` for what is no address of a Redis server."""
        self.location = shown_address(url)
        self._prefix = prefix
        self._fresh = True
        self._client: Any = None
        if not isinstance(url, str) or not url.lower().startswith(tuple(f"{scheme}://" for scheme in SCHEMES)):
            raise ConfigurationError(
                "the address of a short-term tier is redis://HOST:PORT/0, rediss:// for TLS, or unix:///SOCKET, not "
                f"{self.location!r}; nothing was opened"
            )
        try:
            alone = redis.Redis.from_url(url, **self._options(self._greets_alone))
        except (ValueError, TypeError, RedisError):  # what it says may repeat a password
            raise ConfigurationError(
                f"{self.location!r} is no address that redis-py takes; nothing was opened: see its from_url"
            ) from None
        self._alone = alone
        self._cluster: Callable[[], Any] = lambda: redis.RedisCluster.from_url(url, **self._options(self._connected))

    def run(self, script: str, names: Sequence[str], *arguments: object) -> Any:
        """Return what a script does with the keys of one user."""
        return self.call(lambda client: self._evaluated(client, script, names, arguments))

    def call(self, work: Callable[[Any], R]) -> R:
        """Return what ``work`` does with the client.

        Raises ``BackendUnavailableError`` where the server does not do its part, ``ForeignKeyError`` for a key that
        holds something else.
        """
        try:
            client = self._ready()
            return work(client)
        except ResponseError as exc:
            if "WRONGTYPE" in str(exc):
                raise ForeignKeyError(str(exc)) from exc
            raise self._failure(exc) from exc
        except (RedisError, OSError) as exc:
            raise self._failure(exc) from exc

    def persistence(self) -> str | None:
        """Return how the server writes to its disk, in its own words; ``None`` where it does not, or won't say."""

        def work(client: Any) -> str | None:
            kept = []
            for name, off in (("appendonly", "no"), ("save", "")):
                found = client.config_get(name) or {}
                if (value := found.get(name, found.get(name.encode(), off))) not in (off, off.encode()):
                    kept.append(f"{name} {value!r}")
            return ", ".join(kept) or None

        try:
            return self.call(work)
        except (BackendUnavailableError, ForeignKeyError):  # a managed server has no CONFIG
            return None

    def evicts(self) -> bool:
        """Return whether the server has ever thrown out a key to make room, or won't say."""

        def work(client: Any) -> bool:
            try:
                return any(int(found.get("evicted_keys", 1)) for found in self._infos(client, "stats"))
            except ResponseError:
                return True

        return self.call(work)

    def unlink_all(self, user: str) -> None:
        """Remove all keys of a user, also those that nothing knows of any more; O(keys of the server)."""

        def work(client: Any) -> None:
            where = {} if client is self._alone else {"target_nodes": client.get_node_from_key(user)}
            for name in client.scan_iter(match=f"{user}:*", count=_AT_ONCE, **where):
                client.unlink(name)
            client.unlink(user)

        self.call(work)

    def clear(self) -> None:
        """Remove all that the deployment has."""
        self.call(lambda client: self._sweep(client, None))

    def close(self) -> None:
        """Give the connections back."""
        for client in (self._alone, self._client):
            if client is not None:
                client.close()
        self._client, self._fresh = None, True

    # --- connections

    def _options(self, connected: Callable[[Any], None]) -> dict[str, Any]:
        return {**PATIENCE, "retry": Retry(NoBackoff(), 1), "redis_connect_func": connected}

    def _greets_alone(self, connection: Any) -> None:
        connection.on_connect()
        self._fresh = True

    def _connected(self, connection: Any) -> None:
        self._fresh = True

    def _ready(self) -> Any:
        """Return the client; after a new connection, of servers that have nothing of an earlier run."""
        if self._client is None:
            clustered = self._alone.info("cluster").get("cluster_enabled")
            self._client = self._cluster() if clustered else self._alone
        if self._fresh:
            self._fresh = False
            try:
                self._greet(self._client)
            except BaseException:
                self._fresh = True
                raise
        return self._client

    def _greet(self, client: Any) -> None:
        runs = keys.of_runs(self._prefix)
        for node, found in zip(self._nodes(client), self._infos(client, "server"), strict=True):
            run = str(found["run_id"])
            if not client.hexists(runs, run):
                self._sweep(client, node)
                client.hset(runs, run, 1)
            client.expire(runs, _RUNS_KEPT)

    def _sweep(self, client: Any, node: Any) -> None:
        """Remove what there is of all users, on one node of a cluster or everywhere."""
        where = {} if node is None else {"target_nodes": node}
        for name in client.scan_iter(match=f"{self._prefix}:{{*", count=_AT_ONCE, **where):
            client.unlink(name)

    def _nodes(self, client: Any) -> list[Any]:
        return [None] if client is self._alone else list(client.get_primaries())

    def _infos(self, client: Any, section: str) -> list[dict[str, Any]]:
        return [
            client.info(section) if node is None else client.info(section, target_nodes=node)
            for node in self._nodes(client)
        ]

    def _evaluated(self, client: Any, script: str, names: Sequence[str], arguments: Sequence[object]) -> Any:
        try:
            return client.evalsha(_sha(script), len(names), *names, *arguments)
        except NoScriptError:
            return client.eval(script, len(names), *names, *arguments)

    def _failure(self, exc: BaseException) -> BackendUnavailableError:
        told = " ".join(str(exc).split()) or type(exc).__name__
        return BackendUnavailableError(f"Redis at {self.location} does not do its part ({told})")

    def __repr__(self) -> str:
        return f"RedisServer({self.location!r})"


def _sha(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
