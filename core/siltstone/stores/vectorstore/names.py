"""Names of vectors that lie elsewhere, in the place where the store would keep the vector itself.

Each vector that is sent gets a name of its own, drawn at random, never used again: what is sent twice, or sent and then
not noted by a killed process, has a name that the store does not know, and is never served. A store takes rows of
numbers, scales them to unit length and rounds them to float16; a name is a row that survives this: after a first
number that gives the scale, each stands for seven bits.
"""

from __future__ import annotations

import secrets
import uuid
from hashlib import blake2b
from typing import Final

import numpy as np

from ...errors import ConfigurationError
from ...protocols import Fingerprint, Floats, Store

WIDTH: Final = 14
"""Numbers to a name, 28 bytes: a scale, and 13 times 7 bits."""
_LEVELS: Final = 128
_SCALE: Final = np.float32(_LEVELS)  # numbers lie between it and twice as much, so that float16 tells them apart
_MARK: Final = " (vectors elsewhere)"


def fresh(count: int) -> Floats:
    """Return rows that name new vectors, ``(count, WIDTH)``."""
    drawn = np.frombuffer(secrets.token_bytes(count * WIDTH), np.uint8)
    rows = drawn.reshape(count, WIDTH).astype(np.float32) % _LEVELS + _SCALE
    rows[:, 0] = _SCALE
    scaled: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


def names_of(rows: Floats) -> list[str | None]:
    """Return the names that rows of a store stand for, as UUIDs; ``None`` for a row of nan."""
    if not rows.size:
        return [None] * len(rows)
    there = ~np.isnan(rows[:, 0])
    levels = np.rint(np.where(there[:, None], rows / rows[:, :1] * _SCALE, _SCALE)).astype(np.int64) - _LEVELS
    return [_name(row) if known else None for row, known in zip(levels.tolist(), there.tolist(), strict=True)]


def _name(levels: list[int]) -> str:
    number = 0
    for level in levels[1:]:
        number = number * _LEVELS + level
    return str(uuid.UUID(int=number, version=4))


def elsewhere(fingerprint: Fingerprint, scope: str) -> Fingerprint:
    """Return what a store is told of an embedding space whose vectors lie elsewhere, under ``scope``."""
    engine = f"{scope} {fingerprint.dim} {fingerprint.engine}"
    return Fingerprint(fingerprint.name + _MARK, WIDTH, engine, fingerprint.probe)


def is_elsewhere(fingerprint: Fingerprint) -> bool:
    """Return whether a store with this fingerprint has its vectors elsewhere."""
    return fingerprint.name.endswith(_MARK)


def told_of(fingerprint: Fingerprint) -> tuple[str, Fingerprint]:
    """Return the scope, and the space, that a store was told with ``elsewhere``."""
    scope, dim, engine = fingerprint.engine.split(" ", 2)
    return scope, Fingerprint(fingerprint.name.removesuffix(_MARK), int(dim), engine, fingerprint.probe)


def user_of(user_id: str, scope: str) -> str:
    """Return what an engine knows a user by: a hash, of the store's scope, so that stores may share an engine."""
    return blake2b(user_id.encode(), key=scope.encode(), digest_size=16).hexdigest()


def check_kept_here(store: Store) -> None:
    """Raise ``ConfigurationError`` where a store that has its vectors elsewhere is opened without their engine."""
    stored = store.fingerprint()
    if stored is not None and is_elsewhere(stored):
        raise ConfigurationError(
            f"the vectors of the store at {store.location} are in a vector store of yours: nothing was changed; open "
            f"it with vector_store=…, or move them back: TieredMemory.reembed({store.location!r})"
        )
