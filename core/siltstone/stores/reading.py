"""What the embedded stores share: every verb that reads, over the user's table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from ..errors import EmbedderMismatchError, InvalidInputError, NotFoundError
from ..index.vectors import Halves
from ..protocols import Candidates, Fingerprint, Floats, Query, Stored, StoreStats, Where
from ..records import KINDS, Message, Record, SessionInfo
from ..text.keys import dense_key
from .files.codec import time_of
from .table.plan import halves
from .table.rows import source_term
from .table.table import Table
from .table.view import View


class ReadingStore(ABC):
    """The reading half of a store; see ``protocols.Store`` for the verbs."""

    @abstractmethod
    def _table(self, user_id: str) -> Table:
        """Return the user's table with every acknowledged commit on it; an empty one for a user without a store."""

    @abstractmethod
    def fingerprint(self) -> Fingerprint | None:
        """Return the embedding space that the store was written with, if any yet."""

    def revision(self, user_id: str) -> str:
        """Return a token that changes with every write of this user."""
        return self._table(user_id).view.token

    def fetch(self, user_id: str, ids: Sequence[str]) -> list[Stored | None]:
        """Return items by message id or record id, in order."""
        table = self._table(user_id)
        view = table.view
        return [table.current(row) if row >= 0 else None for row in table.find(ids, view)]

    def candidates(self, user_id: str, query: Query) -> Candidates:
        """Return what the indexes know of a query."""
        table = self._table(user_id)
        view = table.view
        if query.vector is not None:
            same_space(self.fingerprint(), query.space)
        if query.vector is not None and view.vectors is not None:
            check_query_vector(query.vector, view.vectors.dim)
        return view.candidates(query, lambda id: table.row(id, view))

    def resolve(self, user_id: str, keys: Sequence[int]) -> list[Record | None]:
        """Return the records of candidate rows, in order; ``None`` for one that has gone since."""
        table = self._table(user_id)
        return [_record(table, row) if row >= 0 else None for row in table.rows_of(keys)]

    def vectors(self, user_id: str, keys: Sequence[int]) -> Floats:
        """Return the vectors of candidate rows, ``(n, dim)``; a row of nan where there is none."""
        table = self._table(user_id)
        vectors = table.view.vectors
        if vectors is None:
            return np.empty((len(keys), 0), np.float32)
        rows = np.array(table.rows_of(keys), np.int32)
        found = np.full((len(keys), vectors.dim), np.nan, np.float32)
        found[rows >= 0] = vectors.of(rows[rows >= 0])
        return found

    def scan(self, user_id: str, where: Where) -> Iterator[Record]:
        """Yield the live records that are meant, in order of writing."""
        table = self._table(user_id)
        view = table.view
        rows = np.flatnonzero(view.matching(where, lambda id: table.row(id, view)))
        return _records(table, rows[np.argsort(view.rows["origin"][rows], kind="stable")])

    def items(self, user_id: str) -> Iterator[tuple[Stored, ...]]:
        """Yield everything that a user has, in order of first writing: each item's versions, the oldest first."""
        table = self._table(user_id)
        view = table.view
        rows = np.flatnonzero(view.alive)
        for row in rows[np.argsort(view.rows["origin"][rows], kind="stable")].tolist():
            if (newest := table.current(row)) is not None:  # else forgotten meanwhile, or damaged
                yield (*reversed(_older(table, row)), newest)

    def messages(
        self, user_id: str, session_id: str, *, limit: int | None = None, before: str | None = None
    ) -> list[Message]:
        """Return a session's messages in order; with ``limit`` the newest, with ``before`` those before an id.

        Where some were taken out while they were read, all are read again: it is never half of a session.
        """
        while True:
            table = self._table(user_id)
            view = table.view
            rows = _paged(table, view, session_id, limit, before)
            items = [table.current(row) for row in rows.tolist()]
            if None not in items or self._table(user_id).view is view:
                return [item.message for item in items if item is not None and item.message is not None]

    def sessions(self, user_id: str) -> list[SessionInfo]:
        """Return the user's sessions, the one written to last at the end."""
        view = self._table(user_id).view
        rows = np.flatnonzero(view.messages)
        rows = rows[np.argsort(view.rows["session"][rows], kind="stable")]
        if not len(rows):
            return []
        codes, starts, counts = np.unique(view.rows["session"][rows], return_index=True, return_counts=True)
        said = view.rows["said_at"][rows]
        first, last = np.minimum.reduceat(said, starts), np.maximum.reduceat(said, starts)
        written = np.maximum.reduceat(view.rows["origin"][rows], starts)
        return [
            SessionInfo(view.sessions.names[codes[i]], int(counts[i]), time_of(int(first[i])), time_of(int(last[i])))
            for i in np.argsort(written)
        ]

    def dependents(self, user_id: str, ids: Sequence[str]) -> list[Record]:
        """Return the live records, turns aside, that name one of the ids among their sources."""
        table = self._table(user_id)
        view = table.view
        rows = view.postings.rows_of([source_term(id) for id in ids], view.count)
        named = set(ids)
        resting = _records(table, rows[(view.records | view.hidden)[rows]])
        return [record for record in resting if named.intersection(record.source_ids)]

    def versions(self, user_id: str, id: str) -> list[Stored]:
        """Return the earlier versions of an item that are kept, newest first; those behind them wait to be removed."""
        table = self._table(user_id)
        return _older(table, table.row(id, table.view))

    def pending(self, user_id: str, limit: int) -> list[Record]:
        """Return records that have no vector yet, at most ``limit``, in order of writing."""
        table = self._table(user_id)
        view = table.view
        rows = np.flatnonzero(view.records & (view.rows["slot"] < 0))[:limit]
        return list(_records(table, rows))

    def _matched(
        self, table: Table, records: Sequence[Record], vectors: Floats, dim: int | None
    ) -> tuple[list[int], Halves]:
        """Return rows whose text is still that of ``records``, and their vectors as they are kept."""
        check_rows(vectors, records)
        made = halves(list(vectors), dim)
        rows: dict[int, int] = {}
        for position, row in enumerate(table.find([record.id for record in records], table.view)):
            record = records[position]
            present = _record(table, row) if row >= 0 else None
            if present is not None and dense_key(present) == dense_key(record):
                rows[row] = position
        return list(rows), made[list(rows.values())]


class AsBefore(ReadingStore):
    """One user's table at one moment, to be read like a store."""

    def __init__(self, table: Table) -> None:
        """``table``: see ``Table.with_alive``."""
        self._before = table

    def _table(self, user_id: str) -> Table:
        return self._before

    def fingerprint(self) -> Fingerprint | None:
        """Return nothing: no vectors are asked for."""
        return None

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the rows of the items that are there, by id."""
        found = zip(ids, self._before.find(ids, self._before.view), strict=True)
        return {id: row for id, row in found if row >= 0}


def check_user_id(user_id: str) -> None:
    """Raise ``InvalidInputError`` for an id that cannot name a user."""
    if not isinstance(user_id, str) or not user_id:
        raise InvalidInputError("user_id must be a text that is not empty")
    try:
        user_id.encode()
    except UnicodeEncodeError as exc:
        raise InvalidInputError(f"user_id {user_id!r} is no valid Unicode") from exc


def same_space(present: Fingerprint | None, space: Fingerprint | None) -> None:
    """Raise ``EmbedderMismatchError`` where vectors of one space meet a store that is in another by now."""
    if present is not None and space is not None and space != present and not space.same_space(present):
        raise EmbedderMismatchError(
            f"the store was moved to the embedder {present.name!r} meanwhile, and {space.name!r} makes other vectors; "
            f"nothing was changed: open it again with {present.name!r}"
        )


def check_rows(vectors: Floats, records: Sequence[Record]) -> None:
    """Raise ``InvalidInputError`` where there is not one vector for each record."""
    if len(records) != len(vectors):
        raise InvalidInputError(f"{len(vectors)} vectors for {len(records)} records; nothing was stored")


def check_query_vector(vector: Floats, dim: int) -> None:
    """Raise ``InvalidInputError`` for a vector that cannot be searched with."""
    if np.shape(vector) != (dim,) or not np.isfinite(vector).all():
        raise InvalidInputError(
            f"a query vector must be {dim} finite numbers, as the store has it, not {np.shape(vector)}: "
            "check the embedder"
        )


def stats_of(view: View, *, bytes: Mapping[str, int] | None = None, health: tuple[str, ...] = ()) -> StoreStats:
    """Return what a view counts, with sizes on disk and what is to be known of them."""
    kinds = view.rows["kind"][view.records]
    return StoreStats(
        messages=int(np.count_nonzero(view.messages)),
        records=view.total,
        sessions=view.session_count,
        kinds={KINDS[code]: int(n) for code, n in enumerate(np.bincount(kinds, minlength=len(KINDS))) if n},
        pending_vectors=int(np.count_nonzero(view.records & (view.rows["slot"] < 0))),
        bytes=bytes or {},
        memory={
            "vector_index": 0 if view.vectors is None else view.vectors.memory,
            "word_index": view.postings.memory,
            "rows": sum(column.nbytes for column in view.rows.values()),
        },
        health=health,
    )


def _paged(table: Table, view: View, session_id: str, limit: int | None, before: str | None) -> npt.NDArray[np.int64]:
    """Return the rows of a session's messages; with ``limit`` the newest, with ``before`` those before an id."""
    rows = view.in_session(session_id)
    if before is not None:
        at = np.flatnonzero(rows == table.row(before, view))
        if not len(at):
            raise NotFoundError(f"session {session_id!r} has no message {before!r}")
        rows = rows[: at[0]]
    return rows if limit is None else rows[max(0, len(rows) - limit) :]


def _older(table: Table, row: int) -> list[Stored]:
    """Return the versions before a row's that history shows, newest first."""
    rows = islice(table.lineage(row), 1, 1 + table.history)
    return [item for older in rows if (item := table.item(older)) is not None]


def _record(table: Table, row: int) -> Record | None:
    item = table.current(row)
    return None if item is None else item.record


def _records(table: Table, rows: npt.NDArray[np.int64]) -> Iterator[Record]:
    for row in rows.tolist():
        record = _record(table, row)
        if record is not None:
            yield record
