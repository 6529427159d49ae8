"""The verbs that read a store on an SQL engine, each in one snapshot. Every statement names the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import orjson

from ...errors import NotFoundError
from ...protocols import Candidates, Fingerprint, Floats, Query, Stored, StoreStats, Where
from ...records import KINDS, Message, Record, SessionInfo
from ..files.codec import decode, time_of
from ..reading import check_query_vector, check_user_id, same_space
from ..spaces import Spaces
from ..table.rows import source_term
from ..table.table import HISTORY
from .candidates import Search, sample
from .conditions import item_id, meant
from .dialect import Condition, Database, Row, Transaction
from .meta import read_fingerprint
from .small import MOST, Outgrown, SmallUser, SmallUsers
from .small_reading import read_small
from .veil import PlainVeils, Veil, Veils
from .writing import SPACE_AND_COUNTS, Counts, as_space_and_counts, read_counts, read_space_and_counts

R = TypeVar("R")
EMPTY: Final = "empty"
"""The revision of a user who has nothing."""
_PAGE: Final = 500
"""Documents that are read at once."""


class SqlReading:
    """The reading half of a ``Store`` on a database; see ``protocols.Store`` for the verbs."""

    def __init__(
        self, database: Database, *, history: int = HISTORY, veils: Veils | None = None, small: int = MOST
    ) -> None:
        """``history``: how many earlier versions of an item are kept; ``veils``: of an encrypted store.

        ``small``: users of up to so many records are kept in memory once they were searched.
        """
        self._database = database
        self._veils = veils or PlainVeils(database)
        self._history = history
        self._spaces = Spaces()
        self._most, self._small = small, SmallUsers()

    def revision(self, user_id: str) -> str:
        """Return a token that changes with every write of this user."""
        return self._read(user_id, lambda t, veil: _token(t, veil, last=True))

    def fetch(self, user_id: str, ids: Sequence[str]) -> list[Stored | None]:
        """Return items by message id or record id, in order."""
        return self._read(user_id, lambda t, veil: self._fetch(t, veil, ids, last=True))

    def candidates(self, user_id: str, query: Query) -> Candidates:
        """Return the rows that match best, by words and by nearness, and their neighbours; all rows of a small user."""

        def of_small(user: SmallUser, veil: Veil) -> Candidates:
            counts, floats = user.counts, user.vectors
            vector = self._compared(user_id, query, user.space, counts, floats.shape[1], lambda: floats)
            return user.candidates(query, vector, lambda id: veil.name(item_id(id)))

        def work(transaction: Transaction, veil: Veil) -> Candidates:
            space, present = read_space_and_counts(transaction, veil)
            counts = present or Counts("")
            self._small.shrunk(user_id, counts.records)
            dim = 0 if query.vector is None else self._dim(transaction, veil, space) or 0
            vector = self._compared(
                user_id, query, space, counts, dim, lambda: sample(transaction, veil, counts.vectors)
            )
            return Search(self._database, transaction, veil, counts, query, vector).candidates()

        found = self._of_small(user_id, of_small, read=True)
        return self._read_near(user_id, work) if found is None else found

    def _compared(
        self,
        user_id: str,
        query: Query,
        space: Fingerprint | None,
        counts: Counts,
        dim: int,
        some: Callable[[], Floats],
    ) -> Floats | None:
        """Return what a user's vectors are multiplied with, if anything; ``some`` gives some of these."""
        vector = query.vector
        if vector is None:
            return None
        same_space(space, query.space)
        if not counts.vectors:
            return None
        check_query_vector(vector, dim)
        return self._spaces.whitened(user_id, counts.vectors, vector, some) if query.whiten else vector

    def resolve(self, user_id: str, keys: Sequence[int]) -> list[Record | None]:
        """Return the records of candidate rows, in order; ``None`` for one that has gone since."""

        def of_small(user: SmallUser, veil: Veil) -> list[Record | None] | None:
            documents = user.documents(keys)
            if documents is None:
                return None
            return [stored_of(row, veil).record for row in zip(keys, documents, strict=True)]

        def work(transaction: Transaction, veil: Veil) -> list[Record | None]:
            part, parameter = self._database.among("r.number", [int(key) for key in keys])
            found = self._documents(transaction, veil, f"r.user_id = ? AND {part}", parameter, last=True)
            known = {stored.row: stored.record for stored in found}
            return [known.get(int(key)) for key in keys]

        found = self._of_small(user_id, of_small)
        return self._read(user_id, work) if found is None else found

    def vectors(self, user_id: str, keys: Sequence[int]) -> Floats:
        """Return the vectors of candidate rows, ``(n, dim)``; a row of nan where there is none."""

        def of_small(user: SmallUser, _: Veil) -> Floats | None:
            return user.vectors_of(keys)

        def work(transaction: Transaction, veil: Veil) -> Floats:
            dim = self._dim(transaction, veil, read_fingerprint(transaction)) or 0
            out = np.full((len(keys), dim), np.nan, np.float32)
            part, parameter = self._database.among("number", [int(key) for key in keys])
            found: dict[int, Any] = dict(
                transaction.rows(
                    f"SELECT number, vector FROM {veil.vectors} WHERE user_id = ? AND {part}",
                    veil.user,
                    parameter,
                )
            )
            there = [at for at, key in enumerate(keys) if int(key) in found]
            if there:
                numbers = [int(keys[at]) for at in there]
                out[there] = veil.halves(numbers, [found[number] for number in numbers])
            return out

        kept = self._of_small(user_id, of_small)
        return self._read(user_id, work) if kept is None else kept

    def scan(self, user_id: str, where: Where) -> Iterator[Record]:
        """Yield the live records that are meant, in order of writing."""
        for stored in self._paged(user_id, lambda veil: meant(self._database, veil, where)):
            if stored.record is not None:
                yield stored.record

    def items(self, user_id: str) -> Iterator[tuple[Stored, ...]]:
        """Yield everything that a user has, in order of first writing: each item's versions, the oldest first."""
        for newest in self._paged(user_id, lambda veil: ("r.user_id = ? AND r.alive", (veil.user,))):
            yield (*reversed(self.versions(user_id, newest.id)), newest)

    def messages(
        self, user_id: str, session_id: str, *, limit: int | None = None, before: str | None = None
    ) -> list[Message]:
        """Return a session's messages in order; with ``limit`` the newest, with ``before`` those before an id."""

        def work(transaction: Transaction, veil: Veil) -> list[Message]:
            condition = "r.user_id = ? AND r.alive AND r.is_message AND r.session = ?"
            parameters: list[Any] = [veil.name(session_id)]
            if before is not None:
                at = transaction.rows(
                    f"SELECT r.said_at, r.origin FROM siltstone_rows r WHERE {condition} AND r.id = ?",
                    veil.user,
                    *parameters,
                    veil.name(item_id(before)),
                )
                if not at:
                    raise NotFoundError(f"session {session_id!r} has no message {before!r}")
                condition += " AND (r.said_at, r.origin) < (?, ?)"
                parameters += at[0]
            condition += " ORDER BY r.said_at DESC, r.origin DESC"
            if limit is not None:
                condition += " LIMIT ?"
                parameters.append(limit)
            found = self._documents(transaction, veil, condition, *parameters, last=True)
            return [stored.message for stored in reversed(found) if stored.message is not None]

        return self._read(user_id, work)

    def sessions(self, user_id: str) -> list[SessionInfo]:
        """Return the user's sessions, the one written to last at the end."""

        def work(transaction: Transaction, veil: Veil) -> list[SessionInfo]:
            found = transaction.rows(
                "SELECT session, COUNT(*), MIN(said_at), MAX(said_at) FROM siltstone_rows "
                "WHERE user_id = ? AND alive AND is_message GROUP BY session ORDER BY MAX(origin)",
                veil.user,
            )
            return [
                SessionInfo(veil.text(session), int(count), time_of(int(first)), time_of(int(last)))
                for session, count, first, last in found
            ]

        return self._read(user_id, work)

    def dependents(self, user_id: str, ids: Sequence[str]) -> list[Record]:
        """Return the live records, turns aside, that name one of the ids among their sources."""

        def work(transaction: Transaction, veil: Veil) -> list[Record]:
            part, parameter = self._database.among("t.term", sorted({veil.term(source_term(id)) for id in ids}))
            found = self._documents(
                transaction,
                veil,
                "r.user_id = ? AND r.alive AND r.number IN (SELECT t.number FROM siltstone_terms t "
                f"WHERE t.user_id = ? AND {part}) ORDER BY r.number",
                veil.user,
                parameter,
                last=True,
            )
            named = set(ids)
            records = [stored.record for stored in found if stored.record is not None]
            return [record for record in records if named.intersection(record.source_ids)]

        return self._read(user_id, work)

    def versions(self, user_id: str, id: str) -> list[Stored]:
        """Return the earlier versions of an item that are kept, newest first."""
        return self._read(
            user_id,
            lambda t, veil: self._documents(
                t,
                veil,
                "r.user_id = ? AND NOT r.alive AND r.origin IN (SELECT l.origin FROM siltstone_rows l "
                "WHERE l.user_id = ? AND l.alive AND l.id = ?) ORDER BY r.version DESC LIMIT ?",
                veil.user,
                veil.name(item_id(id)),
                self._history,
                last=True,
            ),
        )

    def users(self) -> Iterator[str]:
        """Yield the ids of all users that have a store."""
        found = self._database.read(None, lambda t: t.rows("SELECT user_id FROM siltstone_users ORDER BY user_id"))
        return iter([self._veils.user_id(user) for (user,) in found])

    def pending(self, user_id: str, limit: int) -> list[Record]:
        """Return records that have no vector yet, at most ``limit``, in order of writing."""
        found = self._read(
            user_id,
            lambda t, veil: self._documents(
                t,
                veil,
                "r.user_id = ? AND r.alive AND r.searchable AND NOT r.embedded ORDER BY r.number LIMIT ?",
                limit,
                last=True,
            ),
        )
        return [stored.record for stored in found if stored.record is not None]

    def fingerprint(self) -> Fingerprint | None:
        """Return the embedding space that the store was written with, if any yet."""
        return self._database.glance(read_fingerprint)

    def stats(self, user_id: str) -> StoreStats:
        """Return counts and sizes of one user."""

        def work(transaction: Transaction, veil: Veil) -> StoreStats:
            kinds = transaction.rows(
                "SELECT kind, COUNT(*), SUM(CASE WHEN embedded THEN 0 ELSE 1 END) FROM siltstone_rows "
                "WHERE user_id = ? AND alive AND searchable GROUP BY kind",
                veil.user,
            )
            ((messages, sessions),) = transaction.rows(
                "SELECT COUNT(*), COUNT(DISTINCT session) FROM siltstone_rows "
                "WHERE user_id = ? AND alive AND is_message",
                veil.user,
            )
            ((documents,),) = transaction.rows(
                "SELECT COALESCE(SUM(LENGTH(document)), 0) FROM siltstone_rows WHERE user_id = ?", veil.user
            )
            counts = read_counts(transaction, veil.user) or Counts("")
            dim = self._dim(transaction, veil, read_fingerprint(transaction)) or 0
            return StoreStats(
                messages=int(messages),
                records=sum(int(count) for _, count, _ in kinds),
                sessions=int(sessions),
                kinds={KINDS[kind]: int(count) for kind, count, _ in sorted(kinds)},
                pending_vectors=sum(int(lacking) for _, _, lacking in kinds),
                bytes={"documents": int(documents), "vectors": counts.vectors * 2 * dim},
                whole=self._database.size(transaction),
            )

        return self._read(user_id, work)

    def remains(self, user_id: str) -> tuple[str, ...]:
        """Return where the engine keeps what was deleted of a user, and how to end that, a sentence each."""
        return self._read(user_id, lambda t, veil: self._database.remains(t, veil.user))

    # --- how the verbs read

    def _read(self, user_id: str, work: Callable[[Transaction, Veil], R]) -> R:
        check_user_id(user_id)
        return self._database.read(self._veils.user(user_id), lambda t: work(t, self._veils.of(t, user_id)))

    def _of_small(self, user_id: str, use: Callable[[SmallUser, Veil], R | None], *, read: bool = False) -> R | None:
        """Return what ``use`` makes of a small user as they are now; ``None`` where they are not kept.

        With ``read`` they are read, and kept, unless they have outgrown that.
        """
        known = self._small.get(user_id)
        if isinstance(known, Outgrown) or (known is None and not read):
            return None

        def of_known(transaction: Transaction, veil: Veil) -> tuple[R | None] | None:
            assert isinstance(known, SmallUser)
            (found,) = transaction.each((SPACE_AND_COUNTS, (veil.user,)), last=True)
            if not known.is_of(*as_space_and_counts(found)):
                return None
            veil.told(known.counts.key_id)
            return (use(known, veil),)

        if known is not None and (used := self._read(user_id, of_known)) is not None:
            return used[0]
        return self._use_read(user_id, use, known) if read else None

    def _use_read(self, user_id: str, use: Callable[[SmallUser, Veil], R | None], known: SmallUser | None) -> R | None:
        """Return what ``use`` makes of a small user once what is new of them was read."""
        drops = self._small.drops

        def work(transaction: Transaction, veil: Veil) -> tuple[SmallUser | Outgrown, R | None] | None:
            user = read_small(self._database, transaction, veil, known, most=self._most)
            return user if user is None else (user, use(user, veil) if isinstance(user, SmallUser) else None)

        found = self._read_near(user_id, work)
        if found is None:  # what was known is of no use
            known = None
            found = self._read_near(user_id, work)
        assert found is not None
        self._small.put(user_id, found[0], drops=drops)
        return found[1]

    def _read_near(self, user_id: str, work: Callable[[Transaction, Veil], R]) -> R:
        """Return what ``work`` reads, of a replica where that has everything of the user that the primary has.

        That is told by their revision, which the primary is asked for: so what was written is read, whichever process
        and machine has written it, and what was forgotten is not.
        """
        if self._database.has_replica:
            present = self.revision(user_id)

            def caught_up(transaction: Transaction) -> tuple[R] | None:
                veil = self._veils.of(transaction, user_id)
                return (work(transaction, veil),) if _token(transaction, veil) == present else None

            found = self._database.read_replica(self._veils.user(user_id), caught_up)
            if found is not None:
                return found[0]
        return self._read(user_id, work)

    def _fetch(
        self, transaction: Transaction, veil: Veil, ids: Sequence[str], *, last: bool = False
    ) -> list[Stored | None]:
        names = [item_id(id) for id in ids]
        part, parameter = self._database.among("r.id", [veil.name(name) for name in sorted(set(names))])
        found = self._documents(transaction, veil, f"r.user_id = ? AND r.alive AND {part}", parameter, last=last)
        known = {stored.id: stored for stored in found}
        return [known.get(name) for name in names]

    def _documents(
        self, transaction: Transaction, veil: Veil, condition: str, *parameters: Any, last: bool = False
    ) -> list[Stored]:
        """Return the items of rows; the condition's first parameter is the user. ``last`` ends the transaction."""
        veil.ready()
        asked = (f"SELECT r.number, r.document FROM siltstone_rows r WHERE {condition}", (veil.user, *parameters))
        (found,) = transaction.each(asked, last=last)
        return [stored_of(row, veil) for row in found]

    def _paged(self, user_id: str, which: Callable[[Veil], Condition]) -> Iterator[Stored]:
        """Yield the items that are meant in order of first writing, page by page."""
        last = 0

        def work(transaction: Transaction, veil: Veil) -> list[tuple[int, Stored]]:
            condition, parameters = which(veil)
            found = transaction.rows(
                f"SELECT r.number, r.document, r.origin FROM siltstone_rows r WHERE {condition} AND r.origin > ? "
                "ORDER BY r.origin LIMIT ?",
                *parameters,
                last,
                _PAGE,
            )
            return [(int(origin), stored_of((number, document), veil)) for number, document, origin in found]

        while True:
            page = self._read(user_id, work)
            yield from (stored for _, stored in page)
            if len(page) < _PAGE:
                return
            last, _ = page[-1]

    def _dim(self, transaction: Transaction, veil: Veil, fingerprint: Fingerprint | None) -> int | None:
        """Return the width of vectors, if set yet."""
        if fingerprint is not None:
            return fingerprint.dim
        found = transaction.rows(f"SELECT number, vector FROM {veil.vectors} WHERE user_id = ? LIMIT 1", veil.user)
        return len(veil.halves([int(found[0][0])], [found[0][1]])[0]) if found else None


def stored_of(row: Row, veil: Veil) -> Stored:
    """Return the item of a row of ``number`` and ``document``."""
    number, document = row
    return decode(orjson.loads(veil.opened(int(number), document)), veil.user_id, int(number))


def _token(transaction: Transaction, veil: Veil, *, last: bool = False) -> str:
    counts = read_counts(transaction, veil.user, last=last)
    return EMPTY if counts is None else counts.token
