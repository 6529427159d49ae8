"""What some stores can do beyond the contract, done by the store under an arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from ...protocols import Claim, KeepsOwed, KeepsUsage, SharesWork, Store
from .arm import VectorStoreArm
from .engine import VectorEngine


class _Usage:
    _store: Any

    def usage(self) -> Mapping[str, Any]:
        """Return the page of what language models were used for; see ``protocols.KeepsUsage``."""
        page: Mapping[str, Any] = self._store.usage()
        return page

    def turn_usage(self, turn: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        """Replace the page by what ``turn`` makes of it."""
        self._store.turn_usage(turn)


class _Work:
    _store: Any

    def claim(self, owner: str, *, pause: float, lease: float) -> Claim | None:
        """Take a user who is due to be consolidated; see ``protocols.SharesWork``."""
        taken: Claim | None = self._store.claim(owner, pause=pause, lease=lease)
        return taken

    def release(self, claim: Claim, again: float | None) -> None:
        """Give a user back."""
        self._store.release(claim, again)


class _Owed:
    _store: Any

    def owed(self) -> Mapping[str, str]:
        """Return what is owed by users' copies; see ``protocols.KeepsOwed``."""
        owed: Mapping[str, str] = self._store.owed()
        return owed

    def turn_owed(self, turn: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """Replace what is owed by what ``turn`` makes of it."""
        self._store.turn_owed(turn)


_PASSED: Final = ((KeepsUsage, _Usage), (SharesWork, _Work), (KeepsOwed, _Owed))


def arm_over(store: Store, engine: VectorEngine, **options: Any) -> VectorStoreArm:
    """Return an arm over a store, that can do what the store can; ``options`` are those of ``VectorStoreArm``."""
    parts = tuple(part for contract, part in _PASSED if isinstance(store, contract))
    arm: VectorStoreArm = _kind(parts)(store, engine, **options)
    return arm


@cache
def _kind(parts: tuple[type, ...]) -> Any:
    return type("VectorStoreArm", (*parts, VectorStoreArm), {})
