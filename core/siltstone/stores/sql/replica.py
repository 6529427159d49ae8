"""A streaming replica of PostgreSQL that searches may read. Whether it has caught up is its reader's to check."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from ...errors import ConfigurationError
from ...text.addresses import shown_address
from .connections import Connections, errors, psycopg
from .dialect import Transaction
from .meta import origin, read_value
from .postgres_refusals import check_address
from .postgres_transaction import PostgresTransaction, begin_reading, finish

logger = logging.getLogger("siltstone")
R = TypeVar("R")
REST: Final = 5.0
"""Seconds for which a replica that does not answer is left alone."""


class Replica:
    """A standby, by URL. What it does not answer, the primary does: it is never waited for."""

    def __init__(self, url: str, connections: int, lock_timeout: float) -> None:
        check_address(url)
        self.location = shown_address(url)
        self.served = 0
        """How many reads it has answered with something."""
        self._connections = Connections(url, connections, patience=2)
        self._lock_timeout = lock_timeout
        self._rests_until = 0.0
        self._silent = False

    def read(self, user: str | None, work: Callable[[Transaction], R]) -> R | None:
        """Return what ``work`` reads in one snapshot; ``None`` where the replica does not answer, as the log says.

        ``work`` returns ``None`` where the replica is of no use to it.
        """
        if time.monotonic() < self._rests_until:
            return None
        try:
            with self._connections.one() as connection:
                try:
                    found = work(PostgresTransaction(connection, begin_reading(user, self._lock_timeout)))
                finally:
                    finish(connection)
        except (errors.SerializationFailure, errors.QueryCanceled):  # what it replays got in the way
            return None
        except psycopg.ProgrammingError:  # it has not got the tables yet
            return None
        except psycopg.Error as exc:
            self._rests_until = time.monotonic() + REST
            if not self._silent:
                logger.warning("the replica at %s does not answer (%s): the primary does instead", self.location, exc)
            self._silent = True
            return None
        self._silent = False
        self.served += found is not None
        return found

    def check(self, primary: str, secret: str | None) -> None:
        """Raise ``ConfigurationError`` where this is a copy of another database, by the secret that each has."""
        own = self.read(None, lambda t: (read_value(t, "secret"),))
        if secret is not None and own is not None and origin(own[0]) not in (None, origin(secret)):
            raise ConfigurationError(f"{self.location} is no replica of {primary}: nothing was changed")

    def close(self) -> None:
        """Close the connections of this process."""
        self._connections.close()
