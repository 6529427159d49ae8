"""Who is in a store: the list of its users, and what to say of one who has nothing in it."""

from __future__ import annotations

import itertools
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from .output import note, progress, show_table, table, write_json

if TYPE_CHECKING:
    from ..memory import TieredMemory

_LOOKED_AT: Final = 2_000
"""Names among which the nearest are looked for: more would keep a person waiting."""
_NAMED: Final = 4
_LIKE: Final = 0.5
"""How much of two names must be the same: of two Chinese characters one."""


def has_nothing(memory: TieredMemory) -> bool:
    """Return whether a user has nothing in a store."""
    return next(iter(memory.records()), None) is None and not memory.sessions() and not memory.stats().records


def nobody(memory: TieredMemory) -> str:
    """Return what is to be said of a user who has nothing: the nearest names, where the store does not hide them."""
    from ..opening import is_folder
    from ..upkeep import is_encrypted, users

    store = memory.location
    missing = f"user {memory.user_id!r} has nothing in {store}"
    if not is_folder(store):
        return missing
    listed = f"siltstone stats --users --store {store} lists who has"
    if is_encrypted(store):  # names are nobody's to see unasked
        return f"{missing}; it is encrypted, so no other name is told: {listed}"
    names = [name for name in itertools.islice(users(store), _LOOKED_AT) if name != memory.user_id]
    if not names:
        return missing
    folded = {name.casefold(): name for name in names}
    near = [folded[name] for name in get_close_matches(memory.user_id.casefold(), folded, _NAMED, _LIKE)]
    if near := [name for name in near if not has_nothing(memory.for_user(name))]:
        return f"{missing}; did you mean {' or '.join(map(repr, near))}?"
    if len(names) > _NAMED:
        return f"{missing}: {listed}"
    there = [repr(name) for name in sorted(names) if not has_nothing(memory.for_user(name))]
    return f"{missing}; whose there is something: {', '.join(there)} (pass --user)" if there else missing


def warn_of_nobody(memory: TieredMemory) -> None:
    """Say on stderr that a user has nothing in a store, if it is so: a name is soon mistyped."""
    if has_nothing(memory):
        note(nobody(memory))


def show_users(memory: TieredMemory, store: str, *, as_json: bool) -> None:
    """Print everybody who has something in a store, and how much."""
    from ..upkeep import users

    with progress("users") as advance_to:
        names = sorted(users(store))
        found = []
        for done, name in enumerate(names, 1):
            counted = memory.for_user(name).stats()
            if counted.messages or counted.records:
                found.append(counted)
            advance_to(done, len(names))
    if as_json:
        write_json({"users": found})
    elif not found:
        note(f"nobody has anything in {memory.location}")
    else:
        numbers = ("messages", "records", "sessions", "to be embedded", "kB on disk")
        made = table(("user", *numbers), right=numbers)
        for counted in found:
            own = sum(counted.own_bytes.values())
            figures = (counted.messages, counted.records, counted.sessions, counted.pending_vectors)
            made.add_row(counted.user_id, *map(str, figures), f"{own / 1000:.1f}")
        show_table(made)
