"""Who keeps what an open store could not take yet: asked to store it before a flush, a forgetting and the close.

The store knows no adapter: they register here what it calls.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

logger = logging.getLogger("siltstone")

Keeper: TypeAlias = Callable[[Any, bool], None]
"""Called with the memory, and whether it is about to be closed."""


class Handle(Protocol):
    """What all views of one open store share."""

    @property
    def keepers(self) -> Keepers:
        """Who keeps what the store could not take yet."""


class Keepers:
    """The keepers of one open store."""

    def __init__(self) -> None:
        self._all: list[Keeper] = []

    def join(self, keeper: Keeper) -> None:
        """Have a keeper asked from now on."""
        self._all.append(keeper)

    def ask(self, memory: Any, *, closing: bool = False) -> None:
        """Have each keeper store what it can. Never raises: what a keeper fails with is logged."""
        for keeper in list(self._all):
            try:
                keeper(memory, closing)
            except Exception:
                logger.exception("siltstone could not store what was kept until now")
