"""What a reader sees of one user at one moment: filters, postings and vectors turned into ``Candidates``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...forks import cached
from ...index.distinct import distinct
from ...index.postings import Snapshot
from ...index.vectors import Vectors
from ...protocols import UNKNOWN, Bools, Candidates, Floats, Ints, Query, Where
from ...records import HIDDEN_KINDS, KINDS, micros
from ...text.traits import ASKS
from .rows import FIRST_HIDDEN, MESSAGE, NEVER, RECORD, metadata_term

_LEXICAL_DEPTH: Final = 500
"""Rows matched by words whose cosine is computed too, where not all are; the best by a rough score."""
_ENOUGH: Final = 20_000
"""Postings that the rough score looks at; common words add little to it."""


class Names:
    """Strings and their codes, in order of appearance."""

    def __init__(self, names: Iterable[str | None] = ()) -> None:
        """Begin with ``names`` in order of their codes; ``None`` for a code that nothing uses any more."""
        known = list(names)
        self.names = [name or "" for name in known]
        self._codes = {name: code for code, name in enumerate(known) if name is not None}

    def code(self, name: str | None) -> int:
        """Return the code of a name, new if need be; -1 for none."""
        if name is None:
            return -1
        if (code := self._codes.get(name)) is None:
            self.names.append(name)
            code = self._codes[name] = len(self.names) - 1
        return code

    def known(self, name: str) -> int:
        """Return the code of a name, or -1."""
        return self._codes.get(name, -1)


@dataclass(frozen=True)
class View:
    """Published rows and indexes; everything here stays what it was when it was published.

    ``token`` names the revision to callers, ``revision`` counts publications, ``rows`` are the columns, ``total``
    is the number of live records and ``words`` the sum of their lengths.
    """

    token: str
    revision: int
    rows: Mapping[str, npt.NDArray[Any]]
    postings: Snapshot
    vectors: Vectors | None
    sessions: Names
    speakers: Names
    total: int
    words: float

    @cached
    def count(self) -> int:
        """Number of rows, dead ones included."""
        return len(self.rows["number"])

    @cached
    def alive(self) -> Bools:
        """Whether each row is the present version of an item, ``(n,)``."""
        alive: Bools = self.rows["died"] > self.revision
        return alive

    @cached
    def dead(self) -> Bools:
        """The opposite of ``alive``."""
        return ~self.alive

    @cached
    def records(self) -> Bools:
        """Whether each row is a live record, ``(n,)``."""
        records: Bools = self.alive & ((self.rows["flags"] & RECORD) != 0)
        return records

    def in_session(self, session_id: str) -> npt.NDArray[np.int64]:
        """Return the rows of a session's live messages, by time, then by order of first writing."""
        code = self.sessions.known(session_id)
        rows = np.flatnonzero(self.messages & (self.rows["session"] == code)) if code >= 0 else np.empty(0, np.int64)
        said, origin = self.rows["said_at"][rows], self.rows["origin"][rows]
        return rows[np.lexsort((origin, said))]

    @cached
    def hidden(self) -> Bools:
        """Whether each row is a live record of a hidden kind, ``(n,)``."""
        hidden: Bools = self.alive & (self.rows["kind"] >= FIRST_HIDDEN)
        return hidden

    @cached
    def messages(self) -> Bools:
        """Whether each row is a live message, ``(n,)``."""
        messages: Bools = self.alive & ((self.rows["flags"] & MESSAGE) != 0)
        return messages

    @cached
    def questions(self) -> Bools:
        """Whether each row asks something, ``(n,)``."""
        questions: Bools = (self.rows["traits"] & ASKS) != 0
        return questions

    @cached
    def previous(self) -> Ints:
        """The turn before each row in its session, or -1, ``(n,)``."""
        return self._neighbours("previous")

    @cached
    def following(self) -> Ints:
        """The turn after each row in its session, or -1, ``(n,)``."""
        return self._neighbours("following")

    @cached
    def links(self) -> int:
        """How many rows have a turn before them, and how many one after."""
        return int(np.count_nonzero(self.previous >= 0) + np.count_nonzero(self.following >= 0))

    @cached
    def session_sizes(self) -> Ints:
        """Number of live rows by the codes of ``session``."""
        sessions = self.rows["session"]
        return np.bincount(sessions[self.alive & (sessions >= 0)], minlength=len(self.sessions.names))

    @cached
    def session_count(self) -> int:
        """Number of sessions with live messages."""
        return len(distinct(self.rows["session"][self.messages]))

    @cached
    def _lacking(self) -> Ints:
        """Rows without a vector."""
        return np.flatnonzero(self.rows["slot"] < 0)

    @cached
    def _first_expiry(self) -> int:
        return int(self.rows["expires_at"].min(initial=NEVER))

    @cached
    def speaker_names(self) -> tuple[str, ...]:
        """Names by the codes of ``speaker``."""
        return tuple(self.speakers.names)

    def is_live(self, row: int) -> bool:
        """Return whether a row is the present version of an item."""
        return int(self.rows["died"][row]) > self.revision

    def matching(self, where: Where, find: Callable[[str], int]) -> Bools:
        """Return which rows are live records that are meant, ``(n,)``; ``find`` gives the row of an id."""
        rows = self.rows
        mask: Bools = self.records.copy()
        if where.kinds is not None:
            every = (*KINDS, *HIDDEN_KINDS)
            mask |= self.hidden
            mask &= np.isin(rows["kind"], [every.index(kind) for kind in where.kinds if kind in every])
        if where.session_id is not None:
            code = self.sessions.known(where.session_id)
            mask &= rows["session"] == code if code >= 0 else False
        if where.exclude_session_id is not None and (code := self.sessions.known(where.exclude_session_id)) >= 0:
            mask &= rows["session"] != code
        if where.since is not None or where.until is not None:
            time = np.where(rows["occurred_at"] == UNKNOWN, rows["said_at"], rows["occurred_at"])
            if where.since is not None:
                mask &= time >= micros(where.since)
            if where.until is not None:
                mask &= time <= micros(where.until)
        if where.now is not None and self._first_expiry <= micros(where.now):
            mask &= rows["expires_at"] > micros(where.now)
        if where.expired_by is not None:
            mask &= rows["expires_at"] <= micros(where.expired_by)
        for key, value in (where.metadata or {}).items():
            holding, _ = self.postings.find(metadata_term(key, value), self.count)
            some = np.zeros(self.count, np.bool_)
            some[holding] = True
            mask &= some
        for id in where.exclude_ids:
            if (row := find(id)) >= 0:
                mask[row] = False
        return mask

    def candidates(self, query: Query, find: Callable[[str], int]) -> Candidates:
        """Return what the indexes know of a query; see ``protocols.Candidates``."""
        rows, n = self.rows, self.count
        eligible = self.matching(query.where, find)
        if query.where.kinds is not None:  # which may name hidden ones, too
            eligible &= self.records
        postings = self._postings_of(query.terms)
        if query.near is not None:
            dense = query.near.placed(rows["number"])
        elif query.vector is None or self.vectors is None:
            dense = np.full(n, np.nan, np.float32)
        else:
            vector = self.vectors.whitened(query.vector) if query.whiten else query.vector
            dense = self.vectors.cosines(vector, query.depth, eligible, lambda: self._promising(postings, eligible))
        return Candidates(
            keys=rows["number"],
            eligible=eligible,
            postings=postings,
            document_frequency=np.array([len(found) for found, _ in postings], np.int64),
            total=self.total,
            mean_length=self.words / self.total if self.total else 0.0,
            lengths=rows["lengths"],
            previous=self.previous,
            following=self.following,
            session=rows["session"],
            kind=rows["kind"],
            speaker=rows["speaker"],
            role=rows["role"],
            said_at=rows["said_at"],
            occurred_at=rows["occurred_at"],
            valid_until=rows["valid_until"],
            importance=rows["importance"],
            question=self.questions,
            text_hash=rows["text_hash"],
            dense=dense,
            speakers=self.speaker_names,
            traits=rows["traits"],
            pending=int(np.count_nonzero(eligible[self._lacking])),
            session_sizes=self.session_sizes,
            links=self.links,
        )

    def _postings_of(self, terms: tuple[str, ...]) -> tuple[tuple[Ints, Floats], ...]:
        """Return the live records that hold each term, and the counts of it there."""
        found, counts, sizes = self.postings.find_all(terms)
        live = self._live(found)
        if not live.all():
            sizes = np.bincount(np.repeat(np.arange(len(terms)), sizes)[live], minlength=len(terms))
            found, counts = found[live], counts[live]
        ends = np.cumsum(sizes)
        spans = map(slice, (ends - sizes).tolist(), ends.tolist())
        return tuple((found[span], counts[span]) for span in spans)

    def _live(self, rows: Ints) -> Bools:
        if not self.count:
            return np.zeros(len(rows), np.bool_)
        live: Bools = self.records.take(rows, mode="clip")
        live &= rows < self.count  # the others were appended since
        return live

    def _neighbours(self, side: str) -> Ints:
        """Return the links as they were at this view: rows written since are stepped over."""
        links = self.rows[side].astype(np.int64)
        whole: Any = self.rows[side].base
        late = np.flatnonzero(links >= self.count)
        while len(late):
            links[late] = whole[links[late]]
            late = late[links[late] >= self.count]
        return links

    def _promising(self, postings: tuple[tuple[Ints, Floats], ...], eligible: Bools) -> npt.NDArray[np.int32]:
        """Return the eligible rows that match best by words, roughly: by the rarer terms first."""
        looked_at, told = 0, []
        for found, counts in sorted(postings, key=lambda posting: len(posting[0])):
            if looked_at and looked_at + len(found) > _ENOUGH:
                break
            looked_at += len(found)
            told.append((found, np.log1p(self.total / (len(found) + 1)) * counts / (counts + 1)))
        if not told:
            return np.empty(0, np.int32)
        rows, gains = map(np.concatenate, zip(*told, strict=True))
        score = np.bincount(rows, gains, minlength=self.count)
        best = np.flatnonzero((score > 0) & eligible)
        if len(best) > _LEXICAL_DEPTH:
            best = best[np.argpartition(score[best], -_LEXICAL_DEPTH)[-_LEXICAL_DEPTH:]]
        return best.astype(np.int32)
