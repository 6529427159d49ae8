"""Giving an encrypted store on an SQL engine another master key, and its users other keys; see ``encryption.rekey``.

A user is moved in one transaction: all that they have is read with the old key and written with a fresh one, whose id
then stands in their row. What belongs to no user follows in another one. Killed at any moment, everything can be read
with the new master key, and the next run goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from ...protocols import Progress
from ..encryption.rekey import turned
from ..files.auditfile import Deed
from ..files.codec import decode
from ..table.rows import Row, row_of
from .audit import write_deeds
from .dialect import Database, Transaction
from .meta import read_value, write_value
from .sealed import SealedVeil, SealedVeils
from .store import SqlStore
from .vector_cache import sealed_pages
from .veil import Veil
from .writing import Writer, read_counts

_AT_ONCE: Final = 500
"""Rows that are sealed anew at once."""


class Rekeying(SqlStore):
    """An encrypted ``SqlStore`` whose keys can be changed."""

    def __init__(self, database: Database, veils: SealedVeils) -> None:
        super().__init__(database, veils=veils)
        self._sealed, self._ring = veils, veils.ring

    def rekey(self, opened: bytes | str, new: bytes | str | None, *, data_keys: bool, progress: Progress | None) -> int:
        """Put the master key ``new`` in the place of ``opened``; return how many users got other keys."""
        going_on = turned(self._ring, opened, new, data_keys=data_keys)
        moved = self._move_all(progress) if data_keys or going_on else 0
        self._database.write(None, lambda t: write_deeds(t, self._veils, [Deed("rekey", counts={"users": moved})]))
        return moved

    def _move_all(self, progress: Progress | None) -> int:
        moved: set[str] = set()
        while True:
            users = list(self.users())
            for done, user_id in enumerate(users, 1):
                if self._move(user_id):
                    moved.add(user_id)
                if progress is not None:
                    progress(done, len(users))
            self._database.write(None, self._reseal)
            if self._database.write(None, self._let_go):
                return len(moved)

    # --- a user

    def _move(self, user_id: str) -> bool:
        """Bring all that a user has under a fresh key; false if that was done, or there is nothing."""

        def work(transaction: Transaction) -> str:
            veil = self._sealed.of(transaction, user_id)
            fresh = self._sealed.under_fresh_key(transaction, user_id)
            writer = Writer(self._database, transaction, fresh)
            before = read_counts(transaction, veil.user)
            if before is None or not before.key_id or not self._is_old(before.key_id):
                return ""
            transaction.run("DELETE FROM siltstone_terms WHERE user_id = ?", veil.user)
            for page in self._rows(transaction, veil):
                self._reseal_rows(transaction, writer, veil, fresh, page)
            self._reseal_vectors(transaction, veil, fresh)
            writer.finish()
            return before.key_id

        old = self._database.write(self._veils.user(user_id), work)
        if old:
            self._drop_kept(user_id)
            self._ring.drop([old])
        return bool(old)

    def _is_old(self, key_id: str) -> bool:
        """Return whether a key is of an older store key than the newest; one that is gone is not."""
        return self._ring.wrapped_by(key_id) not in (None, self._ring.newest().ids[0])

    def _rows(self, transaction: Transaction, veil: Veil) -> Iterator[list[tuple[Any, ...]]]:
        last = 0
        while True:
            page = transaction.rows(
                "SELECT number, id, session, document, sealed, alive FROM siltstone_rows "
                "WHERE user_id = ? AND number > ? ORDER BY number LIMIT ?",
                veil.user,
                last,
                _AT_ONCE,
            )
            if not page:
                return
            yield page
            last = int(page[-1][0])

    def _reseal_rows(
        self, transaction: Transaction, writer: Writer, old: SealedVeil, fresh: SealedVeil, page: list[tuple[Any, ...]]
    ) -> None:
        changed: list[tuple[Any, ...]] = []
        terms: list[tuple[int, Row]] = []
        for number, id, session, sealed, cells, alive in page:
            document = old.opened(number, sealed)
            changed.append(
                (
                    fresh.name(old.text(id)),
                    None if session is None else fresh.name(old.text(session)),
                    fresh.document(number, document),
                    fresh.sealed_cells(number, old.opened_cells(number, cells)),
                    old.user,
                    number,
                )
            )
            if alive:
                terms.append((number, row_of(decode(orjson.loads(document), old.user_id, number))))
        transaction.many(
            "UPDATE siltstone_rows SET id = ?, session = ?, document = ?, sealed = ? WHERE user_id = ? AND number = ?",
            changed,
        )
        writer.enter_terms(terms)

    def _reseal_vectors(self, transaction: Transaction, veil: Veil, fresh: Veil) -> None:
        for numbers, values in sealed_pages(transaction, veil.user, _AT_ONCE):
            opened = veil.halves(numbers, values)
            transaction.many(
                "UPDATE siltstone_sealed SET vector = ? WHERE user_id = ? AND number = ?",
                [(fresh.vector(n, half), veil.user, n) for n, half in zip(numbers, opened, strict=True)],
            )

    # --- what belongs to no user

    def _reseal(self, transaction: Transaction) -> None:
        """Bring the secret, the pages and the audit under the newest store key. No writer is at work meanwhile."""
        self._database.lock_space(transaction)
        veils = self._veils
        secret = read_value(transaction, "secret") or ""
        write_value(transaction, "secret", veils.secret(veils.opened_secret(secret)))
        for name in ("usage", "owed"):
            page = read_value(transaction, name)
            if page is not None:
                write_value(transaction, name, veils.page(name, veils.opened_page(name, page)))
        last = ("", -1)
        while True:
            page_of_audit = transaction.rows(
                "SELECT user_id, key, line FROM siltstone_audit WHERE (user_id, key) > (?, ?) "
                "ORDER BY user_id, key LIMIT ?",
                *last,
                _AT_ONCE,
            )
            if not page_of_audit:
                return
            transaction.many(
                "UPDATE siltstone_audit SET line = ? WHERE user_id = ? AND key = ?",
                [
                    (veils.line(int(key), veils.opened_line(int(key), line)), user, key)
                    for user, key, line in page_of_audit
                ],
            )
            user, key, _ = page_of_audit[-1]
            last = (user, int(key))

    def _let_go(self, transaction: Transaction) -> bool:
        """Let older store keys go, and the keys that no user has; false where a user has an older key meanwhile."""
        self._database.lock_space(transaction)
        named = {str(id) for (id,) in transaction.rows("SELECT key_id FROM siltstone_users WHERE key_id <> ''")}
        with self._ring.locked():
            newest = self._ring.renewed().newest_only()
            if any(self._ring.wrapped_by(id) not in (None, newest.ids[0]) for id in named):
                return False
            self._ring.drop(id for id in list(self._ring.all()) if id not in named)
            self._ring.replace(newest)
            return True
