"""What a store on SQL has of the items that a commit touches, for planning it."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocols import Put, Stored
from ..table.plan import Present, Refusals, same_text
from .conditions import item_id
from .dialect import Database, Transaction
from .reading import stored_of
from .veil import Veil


class SqlKnown:
    """``table.plan.Known``, from one query for the items and one for what was forgotten."""

    def __init__(
        self, database: Database, transaction: Transaction, veil: Veil, puts: Sequence[Put], refusals: Refusals
    ) -> None:
        """Look up what ``puts`` could be recognised by as forgotten."""
        self._database, self._transaction, self._veil = database, transaction, veil
        self.user_id = veil.user_id
        hashes = sorted({hash for put in puts for hash in refusals.known_by(put, new=True)})
        part, parameter = database.among("hash", hashes)
        found = (
            transaction.rows(f"SELECT hash FROM siltstone_refused WHERE user_id = ? AND {part}", veil.user, parameter)
            if hashes
            else []
        )
        self.refused = {str(hash) for (hash,) in found}

    def present(self, ids: Sequence[str]) -> list[Present | None]:
        """Return the stored versions of items, in order."""
        if not ids:
            return []
        names = [self._veil.name(item_id(id)) for id in ids]
        part, parameter = self._database.among("id", sorted(set(names)))
        found = self._transaction.rows(
            "SELECT id, number, version, origin, is_message FROM siltstone_rows "
            f"WHERE user_id = ? AND alive AND {part}",
            self._veil.user,
            parameter,
        )
        known = {id: Present(number, version, origin, bool(spoken)) for id, number, version, origin, spoken in found}
        return [known.get(name) for name in names]

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
