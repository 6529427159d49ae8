"""Sources whose parts are known by their place and that have become shorter: what stood behind the end goes."""

from __future__ import annotations

from itertools import count
from typing import Final

from ..importers.reader import Whole
from ..lifecycle.update import made_of
from ..protocols import Store, Stored
from .reads import Ahead

_AT_ONCE: Final = 100


def behind(store: Store, user_id: str, whole: Whole, ahead: Ahead | None = None) -> list[str]:
    """Return the ids of the parts behind the end of a source, as an earlier reading stored them."""
    found: list[str] = []
    for start in count(whole.count + 1, _AT_ONCE):
        ids = [f"{whole.prefix}{number}" for number in range(start, start + _AT_ONCE)]
        present = [item for item in store.fetch(user_id, ids) if item is not None and _is_imported(item)]
        found += [item.id for item in present if ahead is None or not ahead.is_gone(item.id)]
        if len(present) < _AT_ONCE:
            return found
    return found


def take_out(store: Store, user_id: str, ids: list[str]) -> None:
    """Remove parts that are no longer in their source, and what siltstone made of them; they may come again."""
    store.remove(user_id, [*made_of(store, user_id, ids), *ids])


def _is_imported(item: Stored) -> bool:
    """Return whether an item came from a source: a message under its own id, or a record that an importer made."""
    if item.message is not None:
        return item.supplied_id == item.message.id
    return item.record is not None and item.record.made_by.startswith("import:")
