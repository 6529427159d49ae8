"""Messages, records and vectors for tests of the store, short to write."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from siltstone.protocols import Fingerprint, Floats, Put, Query, Where
from siltstone.records import Message, Record, replace, turn_of

DIM = 16
NOON = datetime(2024, 5, 8, 12, tzinfo=timezone.utc)


def vector(seed: int, dim: int = DIM) -> Floats:
    """Return a unit vector that the seed decides."""
    values = np.random.default_rng(seed).standard_normal(dim).astype(np.float32)
    return values / np.linalg.norm(values)


def said(
    id: str,
    text: str,
    *,
    minute: float = 0,
    session: str = "s",
    role: str = "user",
    user: str = "u",
    seed: int | None = None,
    version: int = 1,
    **message: Any,
) -> Put:
    """Return a message with its turn, said ``minute`` minutes after noon; with a vector where ``seed`` is given."""
    said = Message(role, text, id=id, session_id=session, created_at=NOON + timedelta(minutes=minute), **message)
    turn = turn_of(said, user, NOON)
    if turn is not None:
        turn = replace(turn, version=version)
    return Put(turn, said, None if seed is None else vector(seed), supplied_id=id)


def known(id: str, text: str, *, seed: int | None = None, user: str = "u", **fields: Any) -> Put:
    """Return a record that is not a turn."""
    values = {"created_at": NOON, "stored_at": NOON, **fields}
    return Put(Record(id=id, text=text, user_id=user, **values), None, None if seed is None else vector(seed))


def asked(*terms: str, seed: int | None = None, depth: int = 10, **where: Any) -> Query:
    """Return a query by terms and perhaps by a vector."""
    return Query(terms, None if seed is None else vector(seed), Where(**where), depth)


def space(name: str = "test", dim: int = DIM, seed: int = 0) -> Fingerprint:
    """Return an embedding space."""
    return Fingerprint(name, dim, "fake", tuple(vector(seed, dim).tolist()))
