"""A store on an SQL engine as one side of a migration; see ``moving``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

import numpy as np
import numpy.typing as npt

from ...errors import NotFoundError
from ..files.auditfile import Deed
from ..moving import Kept, changed, check_place
from ..table.kept import order_of, planned_as_kept
from .audit import read_deeds, write_deeds
from .dialect import Transaction
from .due import note_due
from .known import SqlKnown
from .meta import MOVING, doom, read_value, write_value
from .reading import stored_of
from .schema import BY_USER
from .store import SqlStore
from .veil import Veil
from .writing import Writer

_PAGE: Final = 1_000
_ROWS: Final = 50_000
"""Rows of which the numbers are read at once; 32 bytes each are kept."""


class MovableSql(SqlStore):
    """An ``SqlStore`` that can be moved as a whole, or into which another store is moved."""

    @property
    def secret(self) -> bytes:
        """What keys the hashes of the store; ``NotFoundError`` where nothing was ever written."""
        secret = self._database.glance(lambda t: read_value(t, "secret"))
        if secret is None:
            raise NotFoundError(f"nothing was ever written to {self.location}: there is nothing to move")
        return self._veils.opened_secret(secret)

    @property
    def is_half_done(self) -> bool:
        """Whether a migration into it has not come to its end."""
        return self._database.glance(lambda t: read_value(t, MOVING)) is not None

    @property
    def is_empty(self) -> bool:
        """Whether nobody has anything in it."""
        return self._database.read(
            None, lambda t: not any(t.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in BY_USER)
        )

    # --- reading

    def everybody(self) -> Iterator[str]:
        """Yield all who have anything, or to whom anything is refused."""
        found = self._database.read(
            None,
            lambda t: t.rows(
                "SELECT user_id FROM siltstone_users UNION SELECT user_id FROM siltstone_refused ORDER BY user_id"
            ),
        )
        return iter([self._veils.user_id(user) for (user,) in found])

    def kept_count(self, user_id: str) -> int:
        """Return how many versions ``kept`` yields. O(rows)."""
        return len(self._order(user_id))

    def kept(self, user_id: str) -> Iterator[Kept]:
        """Yield every version of every item, in the order in which they are to be written, page by page."""
        numbers = self._order(user_id)
        for first in range(0, len(numbers), _PAGE):
            some = numbers[first : first + _PAGE].tolist()
            page = self._read(user_id, lambda t, veil, some=some: self._page(t, veil, some))  # type: ignore[misc]
            for number in some:
                if number not in page:
                    raise changed(self.location, user_id)
                yield page[number]

    def _order(self, user_id: str) -> npt.NDArray[np.int64]:
        """Return the numbers of the versions that are moved, in order."""
        pieces = [np.empty((0, 4), np.int64)]
        last = 0
        while True:
            rows = self._read(
                user_id,
                lambda t, veil, last=last: t.rows(  # type: ignore[misc]
                    "SELECT number, origin, version, alive FROM siltstone_rows WHERE user_id = ? AND number > ? "
                    "ORDER BY number LIMIT ?",
                    veil.user,
                    last,
                    _ROWS,
                ),
            )
            if not rows:
                break
            pieces.append(np.array(rows, np.int64))
            last = int(rows[-1][0])
        number, origin, version, alive = np.concatenate(pieces).T
        order: npt.NDArray[np.int64] = number[order_of(number, origin, version, alive != 0, self._history)]
        return order

    def _page(self, transaction: Transaction, veil: Veil, numbers: Sequence[int]) -> dict[int, Kept]:
        part, parameter = self._database.among("r.number", numbers)
        found = transaction.rows(
            f"SELECT r.number, r.document, r.alive, v.vector FROM siltstone_rows r LEFT JOIN {veil.vectors} v "
            f"ON v.user_id = r.user_id AND v.number = r.number WHERE r.user_id = ? AND {part}",
            veil.user,
            parameter,
        )
        return {
            int(number): Kept(
                stored_of((number, document), veil),
                bool(live),
                veil.halves([int(number)], [vector])[0] if live and vector is not None else None,
            )
            for number, document, live, vector in found
        }

    def refusing(self, user_id: str) -> set[str]:
        """Return the hashes of all that is refused to a user."""
        found = self._read(
            user_id, lambda t, veil: t.rows("SELECT hash FROM siltstone_refused WHERE user_id = ?", veil.user)
        )
        return {str(hash) for (hash,) in found}

    def deeds(self) -> Iterator[Deed]:
        """Yield the lines of the audit, the oldest first."""
        return read_deeds(self._database, self._veils)

    # --- writing

    def begin(self, secret: bytes) -> None:
        """Make an empty store the half-done copy of the one that has this secret."""

        def work(transaction: Transaction) -> None:
            write_value(transaction, "secret", self._veils.secret(secret))
            write_value(transaction, MOVING, "yes")

        self._database.write(None, work)
        self._secret = None

    def load(self, user_id: str, kept: Sequence[Kept], after: int) -> None:
        """Write versions all or none, behind the ``after`` versions that are there."""
        refusals = self._refusals(user_id)

        def work(transaction: Transaction, veil: Veil) -> int:
            writer = Writer(self._database, transaction, veil)
            check_place(writer.counts.number - 1, after, user_id)
            known = SqlKnown(self._database, transaction, veil, (), refusals)
            writer.add(planned_as_kept(known, kept, first=writer.counts.number), self._history)
            note_due(self._database, transaction, veil.user)  # whatever waits to be consolidated waits here, too
            writer.finish()
            return writer.counts.vectors

        count = self._write(user_id, work)
        if widths := {len(each.vector) for each in kept if each.vector is not None}:
            self._veils.grown(user_id, count, widths.pop())

    def refuse(self, user_id: str, hashes: Set[str]) -> None:
        """Refuse from now on what the hashes stand for."""

        def work(transaction: Transaction, veil: Veil) -> None:
            writer = Writer(self._database, transaction, veil)
            writer.refuse(sorted(hashes))
            if writer.is_new:
                writer.finish()  # so that the user is one of those who are known

        if hashes:
            self._write(user_id, work)

    def note(self, deeds: Iterable[Deed]) -> None:
        """Write lines of the audit that are not there yet."""
        deeds = list(deeds)
        for first in range(0, len(deeds), _PAGE):
            some = deeds[first : first + _PAGE]
            self._database.write(None, lambda t, some=some: write_deeds(t, self._veils, some))  # type: ignore[misc]

    def discard(self, user_id: str) -> None:
        """Take out all that a user has, as if it had never been written."""

        def work(transaction: Transaction, veil: Veil) -> None:
            Writer(self._database, transaction, veil).remove_everything()
            transaction.run("DELETE FROM siltstone_refused WHERE user_id = ?", veil.user)

        self._write(user_id, work)
        self._drop_kept(user_id)
        self.shred()

    def settle(self) -> None:
        """Let others open the store."""
        self._database.write(None, lambda t: t.run("DELETE FROM siltstone_meta WHERE name = ?", MOVING))

    def wipe(self) -> None:
        """Delete all that the store holds, for good."""

        def work(transaction: Transaction) -> None:
            kept = "'format', 'secret'" if self.encrypted else "'format'"  # by that one its keys are known
            keys = transaction.rows("SELECT key_id FROM siltstone_users WHERE key_id <> ''")
            for table in BY_USER:
                transaction.run(f"DELETE FROM {table}")
            transaction.run(f"DELETE FROM siltstone_meta WHERE name NOT IN ({kept})")
            for (key_id,) in keys:
                doom(transaction, key_id)

        self._database.write(None, work)
        self._secret = None
        self._small.clear()
        self.shred()
