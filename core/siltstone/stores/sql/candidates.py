"""What an engine knows of a query, gathered in a few statements and ranked by ``recall.rank`` like everybody's.

The rows that match best by words (roughly, the rarer terms first) and those that are nearest, then the turns around
them, two before and one after. O(postings of the rarer terms + rows), whatever else the user has.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log1p
from typing import Final

import numpy as np

from ...index.whitening import SAMPLE
from ...protocols import SESSION_TOP, Candidates, Floats, Ints, Query
from ...text.traits import ASKS
from ..table.view import Names
from .conditions import TURN, meant
from .dialect import Condition, Database, Row, Transaction
from .schema import CELLS
from .veil import Veil
from .writing import Counts

_DEPTH: Final = 500
"""Rows that are taken for the words they hold; the best by a rough score."""
_ENOUGH: Final = 20_000
"""Postings that the rough score looks at; common words add little to it."""
_COLUMNS: Final = ("number", "session", "speaker", *CELLS, "sealed")
_BESIDE: Final = f"""
    SELECT p.number FROM siltstone_rows p WHERE p.user_id = ? AND p.session = r.session AND p.alive
    AND p.kind = {TURN} AND (p.said_at, p.origin)"""
_BEFORE: Final = f"{_BESIDE} < (r.said_at, r.origin) ORDER BY p.said_at DESC, p.origin DESC LIMIT 2"
_AFTER: Final = f"{_BESIDE} > (r.said_at, r.origin) ORDER BY p.said_at, p.origin LIMIT 2"
"""The two turns before, and after, a turn ``r``; the nearest first."""
_PROBES: Final = 8
"""Rows of a session that are read in order for what it costs to look up the turns around one row of it."""


def sample(transaction: Transaction, veil: Veil, count: int) -> Floats:
    """Return ``SAMPLE`` of the user's ``count`` vectors, or all."""
    step = max(1, count // SAMPLE)
    found = transaction.rows(
        f"SELECT number, vector FROM {veil.vectors} WHERE user_id = ? AND number % ? = 0 ORDER BY number LIMIT ?",
        veil.user,
        step,
        SAMPLE,
    )
    return veil.halves(*zip(*found, strict=True)).astype(np.float32) if found else np.empty((0, 0), np.float32)


class Search:
    """One query of one user, in one snapshot."""

    def __init__(
        self,
        database: Database,
        transaction: Transaction,
        veil: Veil,
        counts: Counts,
        query: Query,
        vector: Floats | None,
    ) -> None:
        """``vector``: what stored vectors are multiplied with, if anything."""
        self._database, self._transaction = database, transaction
        self._veil, self._user = veil, veil.user
        self._counts, self._query, self._vector = counts, query, vector
        self._terms = [veil.term(term) for term in query.terms]
        condition, parameters = meant(database, veil, query.where)
        self._meant: Condition = (f"{condition} AND r.searchable", parameters)

    def candidates(self) -> Candidates:
        """Return the rows and what is known of them; see ``protocols.Candidates``."""
        frequency = self._frequencies()
        chosen = self._by_words(frequency)
        if self._vector is not None:
            nearest = self._veil.nearest(
                self._vector,
                self._meant,
                self._query.depth,
                count=self._counts.vectors,
                revision=self._counts.token,
            )
            chosen |= set(nearest)
        if self._query.near is not None:
            chosen |= self._all_meant(self._query.near.keys)
        elif not chosen and not self._terms and self._vector is None:
            chosen = self._all_meant()
        found = self._rows(chosen)
        # a session of fewer rows is cheaper to read in order than to look into for each of its chosen ones
        most = _PROBES * len(chosen) // len({row[1] for row in found}) + SESSION_TOP if found else 0
        sizes = self._sizes(chosen, most)
        links = self._linked(chosen, sizes, most)
        found += self._rows((set(links) | _ends(links)) - chosen)
        return self._gathered(sorted(found), chosen, links, sizes, frequency)

    def _frequencies(self) -> dict[int, int]:
        """Return how many live rows hold each term."""
        part, parameter = self._database.among("term", sorted(set(self._terms)))
        found = self._transaction.rows(
            f"SELECT term, COUNT(*) FROM siltstone_terms WHERE user_id = ? AND {part} GROUP BY term",
            self._user,
            parameter,
        )
        return {int(term): int(count) for term, count in found}

    def _by_words(self, frequency: dict[int, int]) -> set[int]:
        """Return the rows that are meant and match best by words, roughly."""
        rarest: list[int] = []
        looked_at = 0
        for term in sorted(frequency, key=frequency.__getitem__):
            if rarest and looked_at + frequency[term] > _ENOUGH:
                break
            rarest.append(term)
            looked_at += frequency[term]
        if not rarest:
            return set()
        gains = [log1p(self._counts.records / (frequency[term] + 1)) for term in rarest]
        case = " ".join("WHEN ? THEN ?" for _ in rarest)
        part, parameter = self._database.among("t.term", rarest)
        condition, parameters = self._meant
        # scored first, so that only the rows of the best are looked at, not all that the user has;
        # "+ 0": grouped in the order of an index, SQLite would read all words of the user
        found = self._transaction.rows(
            "SELECT s.number FROM (SELECT MIN(t.number) AS number, "
            f"SUM(CASE t.term {case} END * t.held / (t.held + 1.0)) AS score FROM siltstone_terms t "
            f"WHERE t.user_id = ? AND {part} GROUP BY t.number + 0 ORDER BY 2 DESC, 1 DESC) s "
            f"JOIN siltstone_rows r ON r.user_id = ? AND r.number = s.number WHERE {condition} "
            "ORDER BY s.score DESC, s.number DESC LIMIT ?",
            *(value for pair in zip(rarest, gains, strict=True) for value in pair),
            self._user,
            parameter,
            self._user,
            *parameters,
            _DEPTH,
        )
        return {int(number) for (number,) in found}

    def _all_meant(self, among: Ints | None = None) -> set[int]:
        """Return the rows that are meant, all or ``among`` some."""
        condition, parameters = self._meant
        if among is not None:
            part, parameter = self._database.among("r.number", among.tolist())
            condition, parameters = f"{condition} AND {part}", (*parameters, parameter)
        found = self._transaction.rows(f"SELECT r.number FROM siltstone_rows r WHERE {condition}", *parameters)
        return {int(number) for (number,) in found}

    def _linked(self, chosen: set[int], sizes: dict[str, int], most: int) -> dict[int, tuple[int, int]]:
        """Return for rows, and for the turns next to them, which turns stand before and after, -1 for none.

        ``sizes`` are those of the rows' sessions: ones of less than ``most`` rows are read in order, else each row is
        looked up.
        """
        links = dict.fromkeys(chosen, (-1, -1))
        if all(size < most for size in sizes.values()):
            links.update(self._in_order(chosen, list(sizes)))
            return links
        for number, (before, further_before), (after, further_after) in self._looked_up(chosen):
            links[number] = (before, after)
            if before >= 0 and before not in chosen:
                links[before] = (further_before, number)
            if after >= 0 and after not in chosen:
                links[after] = (number, further_after)
        return links

    def _in_order(self, chosen: set[int], sessions: list[str]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the links of the turns that are chosen or next to one, from reading sessions once."""
        if not sessions:
            return
        within, names = self._database.among("r.session", sessions)
        numbers = sorted(chosen)
        part, parameter = self._database.among("l.number", numbers)
        before, after = (self._database.among(f"l.{column}", numbers)[0] for column in ("before", "after"))
        found = self._transaction.rows(
            "SELECT l.number, l.before, l.after FROM (SELECT r.number, LAG(r.number) OVER w AS before, "
            f"LEAD(r.number) OVER w AS after FROM siltstone_rows r WHERE r.user_id = ? AND r.alive AND {within} "
            f"AND r.kind = {TURN} WINDOW w AS (PARTITION BY r.session ORDER BY r.said_at, r.origin)) l "
            f"WHERE {part} OR {before} OR {after}",
            self._user,
            names,
            *(3 * [parameter]),
        )
        for number, left, right in found:
            yield number, (-1 if left is None else left, -1 if right is None else right)

    def _looked_up(self, numbers: set[int]) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
        """Yield those of the rows that are turns with the two turns before and the two after each, -1 for none."""
        part, parameter = self._database.among("r.number", sorted(numbers))
        before, after = (f"(SELECT {self._database.listed} FROM ({beside}) AS beside)" for beside in (_BEFORE, _AFTER))
        found = self._transaction.rows(
            f"SELECT r.number, {before}, {after} FROM siltstone_rows r WHERE r.user_id = ? AND r.kind = {TURN} "
            f"AND {part}",
            self._user,
            self._user,
            self._user,
            parameter,
        )
        for number, *beside in found:
            left, right = ([*map(int, listed.split(",")), -1] if listed else [-1, -1] for listed in beside)
            yield number, (left[0], left[1]), (right[0], right[1])

    def _gathered(
        self,
        found: list[Row],
        chosen: set[int],
        links: dict[int, tuple[int, int]],
        sizes: dict[str, int],
        frequency: dict[int, int],
    ) -> Candidates:
        """Return what was found: ``_COLUMNS`` of the rows in order, and whether each is meant."""
        n = len(found)
        columns = list(zip(*found, strict=True)) or [()] * (len(_COLUMNS) + 1)
        rows = dict(zip(_COLUMNS, columns, strict=False))
        numbers = rows["number"]
        keys = np.array(numbers, np.int64)
        at = {number: place for place, number in enumerate(numbers)} | {-1: -1}
        sessions, speakers = Names(), Names()
        session = [sessions.code(name) for name in rows["session"]]
        beside = [links.get(number, (-1, -1)) for number in numbers]
        linked = [(left >= 0) + (right >= 0) for number, (left, right) in links.items() if number in chosen]
        dense = np.full(n, np.nan, np.float32)
        if self._query.near is not None:
            dense = self._query.near.placed(keys)
        elif self._vector is not None and n:
            dense = self._veil.products(self._vector, keys, revision=self._counts.token)
        total = self._counts.records
        traits = np.array(rows["traits"], np.int64)
        return Candidates(
            keys=keys,
            eligible=np.array(columns[-1], np.bool_),
            postings=self._postings(at),
            document_frequency=np.array([frequency.get(term, 0) for term in self._terms], np.int64),
            total=total,
            mean_length=self._counts.words / total if total else 0.0,
            lengths=np.array(rows["lengths"], np.float32),
            previous=np.array([at.get(left, -1) for left, _ in beside], np.int64),
            following=np.array([at.get(right, -1) for _, right in beside], np.int64),
            session=np.array(session, np.int64),
            kind=np.array(rows["kind"], np.int64),
            speaker=np.array([speakers.code(name) for name in rows["speaker"]], np.int64),
            role=np.array(rows["role"], np.int64),
            said_at=np.array(rows["said_at"], np.int64),
            occurred_at=np.array(rows["occurred_at"], np.int64),
            valid_until=np.array(rows["valid_until"], np.int64),
            importance=np.array([np.nan if one is None else one for one in rows["importance"]], np.float32),
            question=(traits & ASKS) != 0,
            text_hash=np.array(rows["text_hash"], np.int64),
            dense=dense,
            speakers=tuple(speakers.names),
            traits=traits,
            pending=self._pending(),
            session_sizes=np.array([sizes[name] for name in sessions.names], np.int64),
            links=round(sum(linked) / len(linked) * n) if linked else 0,
        )

    def _rows(self, numbers: set[int]) -> list[Row]:
        """Return ``_COLUMNS`` of rows, and of each whether it is meant."""
        if not numbers:
            return []
        part, parameter = self._database.among("r.number", sorted(numbers))
        condition, parameters = self._meant
        found = self._transaction.rows(
            f"SELECT {', '.join(f'r.{name}' for name in _COLUMNS)}, CASE WHEN {condition} THEN 1 ELSE 0 END "
            f"FROM siltstone_rows r WHERE r.user_id = ? AND {part}",
            *parameters,
            self._user,
            parameter,
        )
        return self._veil.shown(_COLUMNS, found)

    def _postings(self, at: dict[int, int]) -> tuple[tuple[Ints, Floats], ...]:
        """Return per term the places of the rows that hold it, and how often."""
        terms, parameter = self._database.among("term", sorted(set(self._terms)))
        rows, numbers = self._database.among("number", [number for number in at if number >= 0])
        held: dict[int, list[tuple[int, int]]] = {}
        for term, number, count in self._transaction.rows(
            f"SELECT term, number, held FROM siltstone_terms WHERE user_id = ? AND {terms} AND {rows} ORDER BY number",
            self._user,
            parameter,
            numbers,
        ):
            held.setdefault(int(term), []).append((at[int(number)], int(count)))
        return tuple(
            (
                np.array([place for place, _ in held.get(term, ())], np.int64),
                np.array([count for _, count in held.get(term, ())], np.float32),
            )
            for term in self._terms
        )

    def _pending(self) -> int:
        if self._counts.vectors >= self._counts.records:
            return 0
        condition, parameters = self._meant
        ((count,),) = self._transaction.rows(
            f"SELECT COUNT(*) FROM siltstone_rows r WHERE {condition} AND NOT r.embedded", *parameters
        )
        return int(count)

    def _sizes(self, numbers: set[int], most: int) -> dict[str, int]:
        """Return how many live rows the sessions of some rows have, each counted up to ``most``."""
        if not numbers:
            return {}
        part, parameter = self._database.among("q.number", sorted(numbers))
        return dict(
            self._transaction.rows(
                "SELECT s.session, (SELECT COUNT(*) FROM (SELECT 1 FROM siltstone_rows r WHERE r.user_id = ? "
                "AND r.session = s.session AND r.alive LIMIT ?) AS counted) FROM (SELECT DISTINCT q.session "
                f"FROM siltstone_rows q WHERE q.user_id = ? AND q.session IS NOT NULL AND {part}) s",
                self._user,
                most,
                self._user,
                parameter,
            )
        )


def _ends(links: dict[int, tuple[int, int]]) -> set[int]:
    """Return the rows that stand before or after some."""
    return {number for pair in links.values() for number in pair if number >= 0}
