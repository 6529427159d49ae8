"""Connections to one PostgreSQL server, kept open and lent to one thread at a time.

A pool of our own: psycopg's waits longer and longer before it connects anew, also once the server is back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

from ...errors import MissingDependencyError
from ...forks import ForkSafeLock
from .dialect import Row

try:
    import psycopg
    from pgvector import HalfVector
    from pgvector.psycopg import register_vector
    from psycopg import errors, sql
except ModuleNotFoundError as exc:
    raise MissingDependencyError.extra(exc.name or "psycopg", "a postgresql:// store", "postgres") from exc

__all__ = ["Connections", "HalfVector", "errors", "psycopg", "sql"]

_of_parents: list[psycopg.Connection[Any]] = []
"""Connections that were open when this process was forked: to be neither used nor closed here."""


class Connections:
    """At most ``size`` connections at once; a forked child has its own."""

    def __init__(self, url: str, size: int, *, patience: int = 5) -> None:
        """``patience``: for how many seconds a server may keep a new connection waiting."""
        self._url, self._size, self._patience = url, size, patience
        self._idle: list[tuple[int, psycopg.Connection[Row]]] = []
        self._guard = ForkSafeLock()
        self._free = (os.getpid(), BoundedSemaphore(size))

    @contextmanager
    def one(self) -> Iterator[psycopg.Connection[Row]]:
        """Give the block a connection of its own; when one breaks, the idle ones are given up with it."""
        with self._turn():
            connection = self._taken() or self._connected()
            try:
                yield connection
            finally:
                if connection.closed or connection.broken:
                    connection.close()
                    self.close()
                else:
                    with self._guard:
                        self._idle.append((os.getpid(), connection))

    def close(self) -> None:
        """Close those of this process that nobody uses."""
        with self._guard:
            idle, self._idle = self._idle, []
        for pid, connection in idle:
            if pid == os.getpid():
                connection.close()
            else:
                _of_parents.append(connection)

    def _turn(self) -> BoundedSemaphore:
        """Return what lets so many connections be used at once."""
        if self._free[0] != os.getpid():
            self._free = (os.getpid(), BoundedSemaphore(self._size))
        return self._free[1]

    def _taken(self) -> psycopg.Connection[Row] | None:
        with self._guard:
            while self._idle:
                pid, connection = self._idle.pop()
                if pid == os.getpid():
                    return connection
                _of_parents.append(connection)
        return None

    def _connected(self) -> psycopg.Connection[Row]:
        connection = psycopg.connect(
            self._url, autocommit=True, connect_timeout=self._patience, application_name="siltstone"
        )
        try:
            register_vector(connection)
        except BaseException:
            connection.close()
            raise
        return connection
