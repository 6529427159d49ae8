"""What a store under test is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from work import Turn

Found = list[tuple[list[str], str]]
"""Results, best first: the rows in each, and its text."""


class CannotError(Exception):
    """The store has no documented way to do this; the message says what it has instead."""


class Store:
    """Opens the store in ``folder``. What is not overridden, it cannot do.

    ``documentation`` is where the setting is described, and
    ``persistent`` whether another process finds anything at all.
    """

    documentation: str = ""
    persistent: bool = True

    def __init__(self, folder: Path, embedder: Any) -> None:
        raise NotImplementedError

    def add(self, turn: Turn) -> None:
        """Add one turn; return when it is stored as the documentation stores it."""
        raise CannotError

    def fill(self, turns: Sequence[Turn]) -> None:
        """Add many, and store once: not measured."""
        for turn in turns:
            self.add(turn)

    def prepare(self, turns: Sequence[Turn]) -> None:
        """Look up what ``update`` and ``delete`` need beside the rows, e.g. own ids: not measured."""

    def search(self, user: str, question: str, k: int) -> Found:
        """Return the ``k`` best of this user alone."""
        raise CannotError

    def update(self, turn: Turn) -> None:
        """Give the turn's row this text."""
        raise CannotError

    def delete(self, turns: Sequence[Turn]) -> None:
        """Delete these turns of one user."""
        raise CannotError

    def rows(self) -> list[str]:
        """Return all rows that can be read, each as often as it is there."""
        raise CannotError

    def texts(self) -> dict[str, str]:
        """Return the text of each row, where the store can tell."""
        raise CannotError

    def close(self) -> None:
        """Close as the documentation says, if it says anything."""
