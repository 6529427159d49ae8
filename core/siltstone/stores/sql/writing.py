"""How a plan becomes rows, and how rows go. Everything here happens inside one transaction of one user."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...index.vectors import Halves
from ...protocols import Fingerprint
from ..table.plan import Planned
from ..table.rows import MESSAGE, RECORD
from ..table.rows import Row as ItemRow
from .conditions import item_id
from .dialect import Database, Row, Statement, Transaction
from .meta import as_fingerprint, doom, read_fingerprint
from .receipts import noted
from .schema import CELLS, COLUMNS, OF_ITEMS
from .veil import Veil

_INSERT_ROW: Final = f"INSERT INTO siltstone_rows ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"
_COUNTED: Final = ("born", "revision", "number", "records", "words", "vectors", "receipts", "key_id")
"""The columns of ``siltstone_users``, as ``Counts`` names them."""


@dataclass
class Counts:
    """What is counted of a user: their row of ``siltstone_users``.

    As long as ``born`` stays, rows of lower numbers than ``number`` change in nothing but that they die, or get the
    vector that they lacked.
    """

    born: str
    revision: int = 0
    number: int = 1
    records: int = 0
    words: int = 0
    vectors: int = 0
    receipts: str = ""
    key_id: str = ""

    @property
    def token(self) -> str:
        """The revision, as callers see it."""
        return f"{self.born}-{self.revision:x}"


def read_counts(transaction: Transaction, user: str, *, last: bool = False) -> Counts | None:
    """Return what is counted of a user, if there is one; ``last`` ends the transaction."""
    asked = (f"SELECT {', '.join(_COUNTED)} FROM siltstone_users WHERE user_id = ?", (user,))
    (found,) = transaction.each(asked, last=last)
    return Counts(*found[0]) if found else None


SPACE_AND_COUNTS: Final = (
    f"SELECT (SELECT value FROM siltstone_meta WHERE name = 'fingerprint'), {', '.join(_COUNTED)} "
    "FROM siltstone_users WHERE user_id = ?"
)
"""Finds the embedding space of the store and what is counted of a user; neither where there is no such user."""


def as_space_and_counts(found: Sequence[Row]) -> tuple[Fingerprint | None, Counts | None]:
    """Return what ``SPACE_AND_COUNTS`` has found."""
    return (as_fingerprint(found[0][0]), Counts(*found[0][1:])) if found else (None, None)


def read_space_and_counts(transaction: Transaction, veil: Veil) -> tuple[Fingerprint | None, Counts | None]:
    """Return the embedding space of the store and what is counted of a user, in one statement where there is one."""
    space, counts = as_space_and_counts(transaction.rows(SPACE_AND_COUNTS, veil.user))
    return (read_fingerprint(transaction), None) if counts is None else (space, counts)


class Writer:
    """One transaction's writes of one user, who is locked from the beginning."""

    def __init__(
        self,
        database: Database,
        transaction: Transaction,
        veil: Veil,
        asked: Callable[[], Sequence[Statement]] = tuple,
    ) -> None:
        """``asked``: what else is to be asked at once; ``answers`` are what was found."""
        self._database, self._transaction = database, transaction
        self._veil, self._user = veil, veil.user
        database.lock(transaction, self._user)  # first: what is read holds until the end, the embedding space, too
        counted, *self.answers = transaction.each((SPACE_AND_COUNTS, (self._user,)), *asked())
        self.space, self._before = as_space_and_counts(counted)
        if self._before is None:
            self.space = read_fingerprint(transaction)
        self.counts = self._before or Counts(secrets.token_hex(4))

    @property
    def is_new(self) -> bool:
        """Whether the user has no store yet."""
        return self._before is None

    # --- adding

    def add(self, items: Sequence[Planned], history: int) -> None:
        """Enter the items of a plan, replace what they are versions of, and drop what no history shows. O(items)."""
        last = {item.stored.id: item for item in items}
        alive = [item for item in items if last[item.stored.id] is item]
        replaced = self._live([item.stored.id for item in alive if item.stored.version > 1])
        kept = {item.reuse: item.number for item in alive if item.reuse >= 0}
        self._move_vectors(kept)
        self._take_out([number for number, _ in replaced], keep_rows=True)
        self._transaction.many(
            _INSERT_ROW, [self._row(item, last[item.stored.id] is item, item.reuse in kept) for item in items]
        )
        self.enter_terms([(item.number, item.row) for item in alive])
        self._enter_vectors({item.number: item.vector for item in alive if item.vector is not None})
        found = [item for item in alive if _is_searchable(item)]
        self.counts.records += len(found)
        self.counts.words += sum(int(item.row.cells["lengths"]) for item in found)
        self.counts.number = items[-1].number + 1
        for item in alive:
            if item.stored.version > history + 1:
                self._transaction.send(
                    "DELETE FROM siltstone_rows WHERE user_id = ? AND origin = ? AND version < ?",
                    self._user,
                    item.origin,
                    item.stored.version - history,
                )

    def enter_terms(self, rows: Iterable[tuple[int, ItemRow]]) -> None:
        """Enter the terms of rows, by number."""
        held = [(term, number, count) for number, row in rows for term, count in self._terms(row).items()]
        if held:
            columns = zip(*sorted(held), strict=True)  # as the index has them
            self._database.insert(
                self._transaction,
                "siltstone_terms",
                self._user,
                dict(zip(("term", "number", "held"), columns, strict=True)),
            )

    def _enter_vectors(self, made: Mapping[int, Halves]) -> None:
        """Enter the vectors of rows, by number."""
        self._transaction.many(
            f"INSERT INTO {self._veil.vectors} (user_id, number, vector) VALUES (?, ?, ?)",
            [(self._user, number, self._veil.vector(number, half)) for number, half in made.items()],
        )
        self.counts.vectors += len(made)

    def _terms(self, row: ItemRow) -> Counter[int]:
        """Return the hashed terms of a row and how often it holds each."""
        held: Counter[int] = Counter()
        for term, count in row.terms.items():
            held[self._veil.term(term)] += count
        return held

    def _row(self, item: Planned, alive: bool, keeps: bool) -> tuple[Any, ...]:
        cells = item.row.cells
        row = {name: cells[name] for name in CELLS} | {
            "user_id": self._user,
            "number": item.number,
            "origin": item.origin,
            "id": self._veil.name(item.stored.id),
            "version": item.stored.version,
            "alive": alive,
            "searchable": _is_searchable(item),
            "is_message": bool(cells["flags"] & MESSAGE),
            "embedded": alive and (item.vector is not None or keeps),
            "session": None if item.row.session is None else self._veil.name(item.row.session),
            "speaker": item.row.speaker,
            "importance": None if math.isnan(cells["importance"]) else float(cells["importance"]),
            "document": self._veil.document(item.number, item.document),
        }
        row = dict(self._veil.row(item.number, row))
        return tuple(row[name] for name in COLUMNS)

    def _live(self, ids: Sequence[str]) -> list[tuple[int, int]]:
        """Return number and origin of the present versions of items."""
        if not ids:
            return []
        part, parameter = self._database.among("id", [self._veil.name(item_id(id)) for id in ids])
        return [
            (number, origin)
            for number, origin in self._transaction.rows(
                f"SELECT number, origin FROM siltstone_rows WHERE user_id = ? AND alive AND {part}",
                self._user,
                parameter,
            )
        ]

    def _move_vectors(self, kept: Mapping[int, int]) -> None:
        """Give vectors of replaced versions, by number, to those that replace them."""
        if not kept:
            return
        self._veil.moved(kept)
        part, parameter = self._database.among("number", list(kept))
        self._transaction.send(
            f"UPDATE siltstone_rows SET embedded = ? WHERE user_id = ? AND {part}", False, self._user, parameter
        )

    # --- removing

    def remove(self, ids: Sequence[str]) -> int:
        """Delete items in all their versions; return how many those were. O(items)."""
        there = self._live(ids)
        if not there:
            return 0
        self._take_out([number for number, _ in there], keep_rows=False)
        part, parameter = self._database.among("origin", [origin for _, origin in there])
        return self._transaction.run(f"DELETE FROM siltstone_rows WHERE user_id = ? AND {part}", self._user, parameter)

    def _take_out(self, numbers: Sequence[int], *, keep_rows: bool) -> None:
        """Take live rows out of the indexes and the counts; what they were stays as history with ``keep_rows``."""
        if not numbers:
            return
        part, parameter = self._database.among("number", numbers)
        ((records, words),) = self._transaction.rows(
            "SELECT COUNT(*), COALESCE(SUM(lengths), 0) FROM siltstone_rows "
            f"WHERE user_id = ? AND alive AND searchable AND {part}",
            self._user,
            parameter,
        )
        self.counts.records -= int(records)
        self.counts.words -= int(words)
        self._drop_vectors(part, parameter)
        self._transaction.send(f"DELETE FROM siltstone_terms WHERE user_id = ? AND {part}", self._user, parameter)
        if keep_rows:
            self._transaction.send(
                f"UPDATE siltstone_rows SET alive = ?, embedded = ? WHERE user_id = ? AND {part}",
                False,
                False,
                self._user,
                parameter,
            )

    def remove_everything(self) -> None:
        """Delete all that the user has, but for what is refused."""
        for table in OF_ITEMS:
            self._transaction.send(f"DELETE FROM {table} WHERE user_id = ?", self._user)
        self._database.gone(self._transaction, self._user)
        if self.counts.key_id:
            doom(self._transaction, self.counts.key_id)
        self._before, self.counts = None, Counts(secrets.token_hex(4))

    def refuse(self, hashes: Sequence[str]) -> None:
        """Remember what is to be refused from now on."""
        self._transaction.many(
            "INSERT INTO siltstone_refused (user_id, hash) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [(self._user, hash) for hash in hashes],
        )

    # --- vectors

    def attach(self, numbers: Sequence[int], made: Halves) -> None:
        """Give rows their vectors, instead of those that they may have."""
        if not numbers:
            return
        part, parameter = self._database.among("number", numbers)
        if self._drop_vectors(part, parameter):
            self._begin_anew()
        self._enter_vectors(dict(zip(numbers, made, strict=True)))
        self._transaction.send(
            f"UPDATE siltstone_rows SET embedded = ? WHERE user_id = ? AND {part}", True, self._user, parameter
        )

    def _drop_vectors(self, part: str, parameter: Any) -> int:
        """Delete the vectors of the rows that meet a condition; return how many those were."""
        dropped = self._transaction.run(
            f"DELETE FROM {self._veil.vectors} WHERE user_id = ? AND {part}", self._user, parameter
        )
        self.counts.vectors -= dropped
        return dropped

    def drop_vectors(self) -> None:
        """Delete every vector of the user."""
        self._transaction.send(f"DELETE FROM {self._veil.vectors} WHERE user_id = ?", self._user)
        self._transaction.send(
            "UPDATE siltstone_rows SET embedded = ? WHERE user_id = ? AND embedded", False, self._user
        )
        self.counts.vectors = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Let readers begin anew: a row has another vector, which neither its number nor its being there tells."""
        self.counts.born = secrets.token_hex(4)

    # --- ending

    def finish(self) -> str:
        """Write what is counted, under the next revision, which is returned."""
        counts, tag = self.counts, self._transaction.tag
        counts.revision += 1
        counts.key_id = self._veil.key_id(counts.key_id)
        if tag:
            counts.receipts = noted(counts.receipts, tag)
        values = (*(getattr(counts, name) for name in _COUNTED), self._user)
        if self.is_new:
            self._transaction.send(
                f"INSERT INTO siltstone_users ({', '.join(_COUNTED)}, user_id) "
                f"VALUES ({', '.join('?' for _ in values)})",
                *values,
            )
        else:
            changed = ", ".join(f"{name} = ?" for name in _COUNTED)
            self._transaction.send(f"UPDATE siltstone_users SET {changed} WHERE user_id = ?", *values)
        return counts.token


def _is_searchable(item: Planned) -> bool:
    return bool(item.row.cells["flags"] & RECORD)
