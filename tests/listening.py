"""A transaction that is listened to, for tests of what statements say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

NAMELESS = ("SELECT user_id FROM siltstone_users ORDER BY", "SELECT user_id FROM siltstone_due WHERE due_at")
"""Beginnings of the statements that are about all users: they read one table, and lock nothing."""


class Listening:
    """Passes every statement on, and tells it, with the rows of parameters that it is carried out for."""

    def __init__(self, inner: Any, tell: Callable[[str, Sequence[Sequence[Any]]], None]) -> None:
        self._inner, self._tell = inner, tell
        self.tag = inner.tag

    def rows(self, statement: str, *parameters: Any) -> Any:
        """Tell it, and pass it on."""
        self._tell(statement, [parameters])
        return self._inner.rows(statement, *parameters)

    def each(self, *asked: tuple[str, Sequence[Any]], last: bool = False) -> Any:
        """Tell them, and pass them on."""
        for statement, parameters in asked:
            self._tell(statement, [parameters])
        return self._inner.each(*asked, last=last)

    def send(self, statement: str, *parameters: Any) -> None:
        """Tell it, and pass it on."""
        self._tell(statement, [parameters])
        self._inner.send(statement, *parameters)

    def run(self, statement: str, *parameters: Any) -> int:
        """Tell it, and pass it on."""
        self._tell(statement, [parameters])
        return int(self._inner.run(statement, *parameters))

    def many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Tell it, and pass it on."""
        prepared = list(rows)
        self._tell(statement, prepared)
        self._inner.many(statement, prepared)
