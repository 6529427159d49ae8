"""How small users are read: whole in one journey, or what is new of them."""

from __future__ import annotations

from typing import Final

import numpy as np

from ...protocols import Floats, Ints
from .dialect import Database, Row, Statement, Transaction
from .small import COLUMNS, MOST_WORDS, Outgrown, SmallUser
from .veil import Veil
from .writing import SPACE_AND_COUNTS, as_space_and_counts

_ARE_FEW: Final = "(SELECT u.records <= ? AND u.words <= ? FROM siltstone_users u WHERE u.user_id = ?)"
"""Nothing more is read of a user who has outgrown being kept."""


def read_small(
    database: Database, transaction: Transaction, veil: Veil, known: SmallUser | None, *, most: int
) -> SmallUser | Outgrown | None:
    """Return a user of up to ``most`` records, and end the transaction. One journey.

    ``known`` is what was read before; ``None`` is returned where that is of no use any more.
    """
    since = 0 if known is None else known.counts.number
    few = (_ARE_FEW, (most, MOST_WORDS, veil.user))
    asked = [_counted(veil), _rows(veil, since, few, most), _terms(veil, since, few)]
    asked.append(_vectors(database, veil, since, few, [] if known is None else known.pending))
    if known is not None:
        asked.append(_alive(veil, since, few))
    counted, rows, terms, vectors, *alive = transaction.each(*asked, last=True)
    space, counts = as_space_and_counts(counted)
    if known is not None and not known.precedes(space, counts):
        return None
    if counts is None:
        return Outgrown(0)
    left = np.array([number for (number,) in alive[0]], np.int64) if alive else None
    if counts.records > most or counts.words > MOST_WORDS or len(rows) + (0 if left is None else len(left)) > 2 * most:
        return Outgrown(counts.records)
    veil.told(counts.key_id)
    return (known or SmallUser.nobody()).renewed(
        space,
        counts,
        veil.hashing(),
        alive=left,
        rows=_shown(veil, rows),
        terms=terms,
        vectors=_opened(veil, vectors),
    )


def _counted(veil: Veil) -> Statement:
    return SPACE_AND_COUNTS, (veil.user,)


def _rows(veil: Veil, since: int, few: Statement, most: int) -> Statement:
    part, parameters = few
    return (
        f"SELECT {', '.join(f'r.{name}' for name in COLUMNS)} FROM siltstone_rows r "
        f"WHERE r.user_id = ? AND r.number >= ? AND r.alive AND {part} ORDER BY r.number LIMIT ?",
        (veil.user, since, *parameters, 2 * most + 1),
    )


def _terms(veil: Veil, since: int, few: Statement) -> Statement:
    part, parameters = few
    return (
        f"SELECT t.number, t.term, t.held FROM siltstone_terms t WHERE t.user_id = ? AND t.number >= ? AND {part}",
        (veil.user, since, *parameters),
    )


def _vectors(database: Database, veil: Veil, since: int, few: Statement, pending: list[int]) -> Statement:
    """Return what finds the vectors of new rows, and of those that had none."""
    part, parameters = few
    new, numbers = "v.number >= ?", [since]
    if pending:
        late, parameter = database.among("v.number", pending)
        new, numbers = f"({new} OR {late})", [since, parameter]
    return (
        f"SELECT v.number, v.vector FROM {veil.vectors} v WHERE v.user_id = ? AND {new} AND {part} ORDER BY v.number",
        (veil.user, *numbers, *parameters),
    )


def _alive(veil: Veil, since: int, few: Statement) -> Statement:
    """Return what finds which of the rows that were read before are left."""
    part, parameters = few
    return (
        f"SELECT r.number FROM siltstone_rows r WHERE r.user_id = ? AND r.number < ? AND r.alive AND {part}",
        (veil.user, since, *parameters),
    )


def _shown(veil: Veil, rows: list[Row]) -> list[Row]:
    """Return rows with what was sealed in them but for the document, and the names of their sessions."""
    at = COLUMNS.index("session")
    texts = {row[at]: None if row[at] is None else veil.text(row[at]) for row in rows}
    return [(*row[:at], texts[row[at]], *row[at + 1 :]) for row in veil.shown(COLUMNS, rows)]


def _opened(veil: Veil, found: list[Row]) -> tuple[Ints, Floats]:
    if not found:
        return np.empty(0, np.int64), np.empty((0, 0), np.float32)
    numbers, values = zip(*found, strict=True)
    return np.array(numbers, np.int64), veil.halves(numbers, values).astype(np.float32)
