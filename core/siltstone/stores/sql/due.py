"""Who is due to be consolidated: a queue with leases, in the database that all workers share.

A row per user who was written to, noted with the write. A lease is a time in the row, by the database's clock, so that
no transaction stays open while a model is at work, and a killed worker's users fall to others. A write meanwhile turns
the row, so that no worker takes for done what it has not seen.
"""

from __future__ import annotations

from typing import Final

from ...protocols import Claim
from .dialect import Database, Transaction
from .veil import Veils

_MICROS: Final = 1_000_000
_LOOKED_AT: Final = 32
"""So many of those who have waited longest are looked at; the first whom nobody else has is taken."""


def note_due(database: Database, transaction: Transaction, user: str) -> None:
    """Note that a user has been written to."""
    transaction.send(
        "INSERT INTO siltstone_due (user_id, written_at, due_at, turn, owner, leased_until) "
        f"VALUES (?, {database.clock}, {database.clock}, 1, '', 0) ON CONFLICT (user_id) DO UPDATE "
        "SET written_at = excluded.written_at, turn = siltstone_due.turn + 1, due_at = CASE "
        "WHEN siltstone_due.due_at < excluded.due_at THEN siltstone_due.due_at ELSE excluded.due_at END",
        user,
    )


def take_due(
    database: Database, transaction: Transaction, veils: Veils, owner: str, pause: float, lease: float
) -> Claim | None:
    """Take a user for ``lease`` seconds; see ``protocols.SharesWork``."""
    free = f"due_at <= {database.clock} - ? AND leased_until <= {database.clock}"
    waited = int(pause * _MICROS)
    for (user,) in transaction.rows(
        f"SELECT user_id FROM siltstone_due WHERE {free} ORDER BY due_at LIMIT ?", waited, _LOOKED_AT
    ):
        for turn, silence in transaction.rows(
            f"SELECT turn, {database.clock} - written_at FROM siltstone_due WHERE user_id = ? AND {free} "
            f"{database.skip_locked}",
            user,
            waited,
        ):
            transaction.run(
                f"UPDATE siltstone_due SET owner = ?, leased_until = {database.clock} + ? WHERE user_id = ?",
                owner,
                int(lease * _MICROS),
                user,
            )
            return Claim(veils.user_id(user), owner, int(turn), silence / _MICROS)
    return None


def give_back(database: Database, transaction: Transaction, user: str, claim: Claim, again: float | None) -> None:
    """Give a user back; see ``protocols.SharesWork``."""
    if again is None:
        transaction.run(
            "DELETE FROM siltstone_due WHERE user_id = ? AND owner = ? AND turn = ?", user, claim.owner, claim.turn
        )
    else:
        transaction.run(
            f"UPDATE siltstone_due SET due_at = {database.clock} + ? WHERE user_id = ? AND owner = ? AND turn = ?",
            int(again * _MICROS),
            user,
            claim.owner,
            claim.turn,
        )
    transaction.run(
        "UPDATE siltstone_due SET owner = '', leased_until = 0 WHERE user_id = ? AND owner = ?", user, claim.owner
    )
