"""What a store on SQL has of the items that a commit touches, for planning it."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocols import Put, Stored
from ..table.plan import Present, Refusals, same_text
from .conditions import item_id
from .dialect import Database, Row, Statement, Transaction
from .reading import stored_of
from .veil import Veil


class SqlKnown:
    """``table.plan.Known``, from one query for the items and one for what was forgotten."""

    def __init__(
        self, database: Database, transaction: Transaction, veil: Veil, puts: Sequence[Put], refusals: Refusals
    ) -> None:
        """Begin with what ``puts`` could be recognised by as forgotten; see ``hear``."""
        self._database, self._transaction, self._veil = database, transaction, veil
        self.user_id = veil.user_id
        self._ids = [put.id for put in puts]
        self._hashes = sorted({hash for put in puts for hash in refusals.known_by(put, new=True)})
        self._found: dict[str, Present | None] = {}
        self.refused: set[str] = set()

    def asked(self) -> list[Statement]:
        """Return the questions whose answers ``hear`` takes."""
        part, parameter = self._database.among("hash", self._hashes)
        refused = (f"SELECT hash FROM siltstone_refused WHERE user_id = ? AND {part}", (self._veil.user, parameter))
        return [refused, self._items(self._names(self._ids))]

    def hear(self, refused: Sequence[Row], items: Sequence[Row]) -> SqlKnown:
        """Take the answers."""
        self.refused = {str(hash) for (hash,) in refused}
        self._found = dict.fromkeys(self._names(self._ids)) | _present(items)
        return self

    def present(self, ids: Sequence[str]) -> list[Present | None]:
        """Return the stored versions of items, in order."""
        names = self._names(ids)
        if lacking := [name for name in names if name not in self._found]:
            statement, parameters = self._items(lacking)
            self._found |= dict.fromkeys(lacking) | _present(self._transaction.rows(statement, *parameters))
        return [self._found[name] for name in names]

    def _names(self, ids: Sequence[str]) -> list[str]:
        return [self._veil.name(item_id(id)) for id in ids]

    def _items(self, names: Sequence[str]) -> Statement:
        part, parameter = self._database.among("id", sorted(set(names)))
        return (
            "SELECT id, number, version, origin, is_message FROM siltstone_rows "
            f"WHERE user_id = ? AND alive AND {part}",
            (self._veil.user, parameter),
        )

    def size(self, session_id: str) -> int:
        """Return how many messages a session has."""
        ((count,),) = self._transaction.rows(
            "SELECT COUNT(*) FROM siltstone_rows WHERE user_id = ? AND alive AND is_message AND session = ?",
            self._veil.user,
            self._veil.name(session_id),
        )
        return int(count)

    def vector_fits(self, present: Present, item: Stored) -> bool:
        """Return whether a version has a vector, made of the same text as the item's."""
        found = self._transaction.rows(
            "SELECT document FROM siltstone_rows WHERE user_id = ? AND number = ? AND embedded",
            self._veil.user,
            present.row,
        )
        return any(same_text(stored_of((present.row, document), self._veil), item) for (document,) in found)


def _present(found: Sequence[Row]) -> dict[str, Present | None]:
    return {id: Present(number, version, origin, bool(spoken)) for id, number, version, origin, spoken in found}
