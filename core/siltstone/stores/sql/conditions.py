"""Which rows are meant, as SQL."""

from __future__ import annotations

from typing import Any, Final

from ...protocols import UNKNOWN, Where
from ...records import HIDDEN_KINDS, KINDS, TURN_PREFIX, micros
from ..table.rows import metadata_term
from .dialect import Condition, Database
from .veil import Veil

_EVERY: Final = (*KINDS, *HIDDEN_KINDS)
"""What the numbers in the column ``kind`` stand for."""
_TIME: Final = f"(CASE WHEN r.occurred_at = {UNKNOWN} THEN r.said_at ELSE r.occurred_at END)"
TURN: Final = _EVERY.index("turn")


def item_id(id: str) -> str:
    """Return the id under which an item is kept, of a message's or record's."""
    return id.removeprefix(TURN_PREFIX)


def meant(database: Database, veil: Veil, where: Where) -> Condition:
    """Return the condition on ``siltstone_rows r`` that a live record is meant; see ``protocols.Where``."""
    parts = ["r.user_id = ? AND r.alive"]
    found: list[Any] = [veil.user]

    def also(part: str, *parameters: Any) -> None:
        parts.append(part)
        found.extend(parameters)

    if where.kinds is None:
        also("r.searchable")
    else:
        also(*database.among("r.kind", [_EVERY.index(kind) for kind in where.kinds if kind in _EVERY]))
    if where.session_id is not None:
        also("r.session = ?", veil.name(where.session_id))
    if where.exclude_session_id is not None:
        also("(r.session IS NULL OR r.session <> ?)", veil.name(where.exclude_session_id))
    if where.since is not None:
        also(f"{_TIME} >= ?", micros(where.since))
    if where.until is not None:
        also(f"{_TIME} <= ?", micros(where.until))
    if where.now is not None:
        also("r.expires_at > ?", micros(where.now))
    if where.expired_by is not None:
        also("r.expires_at <= ?", micros(where.expired_by))
    for key, value in (where.metadata or {}).items():
        also(
            "EXISTS (SELECT 1 FROM siltstone_terms m WHERE m.user_id = ? AND m.term = ? AND m.number = r.number)",
            veil.user,
            veil.term(metadata_term(key, value)),
        )
    if where.exclude_ids:
        part, parameter = database.among("r.id", [veil.name(item_id(id)) for id in where.exclude_ids])
        also(f"NOT ({part})", parameter)
    return " AND ".join(parts), tuple(found)
