"""The audit of a store on an SQL engine: a row per deed, with the line that a folder's ``AUDIT`` would have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..files.auditfile import Deed, packed_deed, unpacked_deed
from .dialect import Database, Transaction
from .veil import Veils

_INSERT: Final = "INSERT INTO siltstone_audit (user_id, key, said_at, line) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_PAGE: Final = 1_000


def write_deeds(transaction: Transaction, veils: Veils, deeds: Iterable[Deed]) -> None:
    """Enter deeds, each once, however often they are written."""
    transaction.many(
        _INSERT,
        [
            (veils.user(deed.user_id or ""), deed.key, deed.at, veils.line(deed.key, packed_deed(deed)))
            for deed in deeds
        ],
    )


def read_deeds(database: Database, veils: Veils) -> Iterator[Deed]:
    """Yield the deeds of all users and of the store itself, the oldest first."""
    last = (-1, -1)
    while True:
        page = database.read(
            None,
            lambda t, last=last: t.rows(  # type: ignore[misc]
                "SELECT said_at, key, line FROM siltstone_audit WHERE (said_at, key) > (?, ?) "
                "ORDER BY said_at, key LIMIT ?",
                *last,
                _PAGE,
            ),
        )
        for said_at, key, line in page:
            yield unpacked_deed(int(key), veils.opened_line(int(key), line))
            last = (int(said_at), int(key))
        if len(page) < _PAGE:
            return
