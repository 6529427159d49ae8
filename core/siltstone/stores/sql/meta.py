"""What belongs to a store and to no user: the rows of ``siltstone_meta``, which are texts by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import orjson

from ...protocols import Fingerprint
from .dialect import Transaction

MOVING: Final = "moving"
"""Has a value while a migration into the store has not come to its end."""
_SEALED: Final = "sealed:"
_DOOMED: Final = "doomed:"


def read_value(transaction: Transaction, name: str) -> str | None:
    """Return the value of a name, if it has one yet."""
    found = transaction.rows("SELECT value FROM siltstone_meta WHERE name = ?", name)
    return str(found[0][0]) if found else None


def held_value(transaction: Transaction, name: str, otherwise: str) -> str:
    """Return the value of a name, ``otherwise`` at first, that no other transaction changes before this one ends."""
    transaction.run(
        "INSERT INTO siltstone_meta (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = siltstone_meta.value",
        name,
        otherwise,
    )
    return read_value(transaction, name) or otherwise


def write_value(transaction: Transaction, name: str, value: str) -> None:
    """Give a name its value, instead of the one that it may have."""
    transaction.run(
        "INSERT INTO siltstone_meta (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )


def read_fingerprint(transaction: Transaction) -> Fingerprint | None:
    """Return the embedding space of the store, if it has one yet."""
    return as_fingerprint(read_value(transaction, "fingerprint"))


@lru_cache(maxsize=8)
def as_fingerprint(value: str | None) -> Fingerprint | None:
    """Return the embedding space that a value of the name ``fingerprint`` stands for."""
    if value is None:
        return None
    name, dim, engine, probe = orjson.loads(value)
    return Fingerprint(name, dim, engine, tuple(probe))


def write_fingerprint(transaction: Transaction, present: Fingerprint) -> None:
    """Note the embedding space of the store."""
    value = [present.name, present.dim, present.engine, list(present.probe)]
    write_value(transaction, "fingerprint", orjson.dumps(value).decode())


# --- the secret of a store's hashes: plain, or sealed, which tells that all is encrypted


def is_sealed(secret: str) -> bool:
    """Return whether this is the secret of an encrypted store."""
    return secret.startswith(_SEALED)


def as_sealed(id: str, sealed: str) -> str:
    """Return a sealed secret as it is kept; by ``id`` the folder of its keys knows the store."""
    return f"{_SEALED}{id}:{sealed}"


def sealed_parts(secret: str) -> tuple[str, str]:
    """Return what ``as_sealed`` was given."""
    id, _, sealed = secret.removeprefix(_SEALED).partition(":")
    return id, sealed


def origin(secret: str | None) -> str | None:
    """Return what of a secret is the same in all copies of a store, and in no other store."""
    return sealed_parts(secret)[0] if secret is not None and is_sealed(secret) else secret


# --- keys of users who are gone, which are to be destroyed


def doom(transaction: Transaction, key_id: str) -> None:
    """Note with the removal of a user that their key is to be destroyed."""
    write_value(transaction, _DOOMED + key_id, "")


def doomed(transaction: Transaction) -> list[str]:
    """Return the ids of keys that are to be destroyed."""
    found = transaction.rows("SELECT name FROM siltstone_meta WHERE name LIKE ?", f"{_DOOMED}%")
    return [str(name).removeprefix(_DOOMED) for (name,) in found]


def spent(transaction: Transaction, key_ids: Sequence[str]) -> None:
    """Note that keys have been destroyed."""
    for key_id in key_ids:
        transaction.run("DELETE FROM siltstone_meta WHERE name = ?", _DOOMED + key_id)
