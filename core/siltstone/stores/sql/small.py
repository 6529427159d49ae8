"""Users of few rows, kept in memory as a search needs them, and searched by the code that searches a folder.

The engine is asked whether they are still what they were, in one short statement; after a write, for what is new and
which rows are left. What the engine has no more is dropped then, at the latest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...forks import ForkSafeLock, cached
from ...index.postings import Block, Snapshot, merge, renumbered
from ...index.products import products
from ...protocols import Bools, Candidates, Fingerprint, Floats, Ints, Near, Query
from ..table.rows import ALIVE, MESSAGE, RECORD, SPEC
from ..table.view import Names, View
from .conditions import TURN
from .schema import CELLS
from .writing import Counts

MOST: Final = 2_000
"""Records of a user who is kept. Reading them for the first time takes twice as long as having the engine search."""
MOST_WORDS: Final = 100_000
"""Words of all their records."""
_ROOM: Final = 128 << 20
"""Bytes that are kept, of all users of a store together."""
COLUMNS: Final = (
    *("number", "origin", "id", "searchable", "is_message", "session", "speaker"),
    *CELLS,
    *("document", "sealed"),
)
"""What is read of a row."""
_TYPES: Final = {name: SPEC.get(name, "O") for name in COLUMNS if name != "sealed"} | {
    **dict.fromkeys(("searchable", "is_message"), "?"),
    **dict.fromkeys(("session", "speaker"), "O"),
}
"""Texts are objects; an id and a document are as the engine has them."""


@dataclass(frozen=True, eq=False, repr=False)
class SmallUser:
    """The live rows of a user at one moment.

    ``space``, ``counts``  of that moment
    ``cells``     ``(n,)`` by column, in the order of ``number``
    ``block``     the terms, and at which places in ``cells`` they are held; ``hashed`` gives the hash of one
    ``embedded``  ``(m,)`` the numbers of the rows that have a vector, ascending;  ``vectors`` ``(m, dim)``
    """

    space: Fingerprint | None
    counts: Counts
    cells: Mapping[str, npt.NDArray[Any]]
    block: Block
    hashed: Callable[[str], int]
    embedded: Ints
    vectors: Floats

    @classmethod
    def nobody(cls) -> SmallUser:
        """Return one who has nothing, to begin with."""
        cells = {name: np.empty(0, type) for name, type in _TYPES.items()}
        none = np.empty(0, np.int64)
        return cls(None, Counts("", number=0), cells, Block.of(none, none, none), hash, none, np.empty((0, 0), "f4"))

    def is_of(self, space: Fingerprint | None, counts: Counts | None) -> bool:
        """Return whether this is what the engine has now."""
        return self.counts == counts and self.space == space

    def precedes(self, space: Fingerprint | None, counts: Counts | None) -> bool:
        """Return whether what the engine has now was made of this by writes that leave rows as they are.

        That is so while ``born`` stays, unless a standby was promoted that had not got the last writes: then the last
        one's receipt is missing.
        """
        if counts is None or self.space != space:
            return False
        same = (counts.born, counts.key_id) == (self.counts.born, self.counts.key_id)
        last = self.counts.receipts.split()[:1]
        return same and counts.revision >= self.counts.revision and all(tag in counts.receipts.split() for tag in last)

    @property
    def pending(self) -> list[int]:
        """The numbers of the records without a vector."""
        lacking = ~np.isin(self.cells["number"], self.embedded) & self.cells["searchable"]
        numbers: list[int] = self.cells["number"][lacking].tolist()
        return numbers

    @cached
    def memory(self) -> int:
        """Bytes that it takes, roughly."""
        texts = 8_000 + sum(len(text) + 50 for name in ("id", "document") for text in self.cells[name])
        block = self.block.hashes.nbytes + self.block.starts.nbytes + self.block.packed.nbytes
        return texts + block + self.vectors.nbytes + 2 * sum(column.nbytes for column in self.cells.values())

    def renewed(
        self,
        space: Fingerprint | None,
        counts: Counts,
        hashed: Callable[[str], int],
        *,
        alive: Ints | None,
        rows: Sequence[Sequence[Any]],
        terms: Sequence[Sequence[int]],
        vectors: tuple[Ints, Floats],
    ) -> SmallUser:
        """Return the user with new rows (of ``COLUMNS``), their terms (number, term, count) and new vectors.

        ``alive``: the numbers of the present rows that are left; ``None``: all.
        """
        columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(COLUMNS, ())
        cells = {
            name: np.concatenate([self.cells[name], _column(columns[name], type)]) for name, type in _TYPES.items()
        }
        numbers: Ints = cells["number"]
        holding, term, held = np.array(terms, np.int64).reshape(-1, 3).T
        fresh = Block.of(term, np.searchsorted(numbers, holding), held)
        gone = np.zeros(len(numbers), np.bool_)
        if alive is not None:
            before = len(self.cells["number"])
            gone[:before] = ~np.isin(self.cells["number"], alive)
        block = merge([self.block, fresh], gone) if len(self.block.packed) else fresh
        if gone.any():
            cells = {name: column[~gone] for name, column in cells.items()}
            block = renumbered(block, np.cumsum(~gone) - 1)
        there = np.isin(self.embedded, cells["number"])
        embedded = np.concatenate([self.embedded[there], vectors[0]])
        order = np.argsort(embedded)
        pieces = [some for some in (self.vectors[there], vectors[1]) if len(some)]
        floats = np.concatenate(pieces) if pieces else vectors[1]
        return SmallUser(space, counts, cells, block, hashed, embedded[order], floats[order])

    # --- what searches ask

    def candidates(self, query: Query, vector: Floats | None, name_of: Callable[[str], str]) -> Candidates:
        """Return what is known of a query.

        ``vector``: what vectors are multiplied with; ``name_of``: what gives an id as the engine has it.
        """
        near = query.near
        if near is None and vector is not None:
            near = Near(self.embedded, products(self.vectors, vector))
        return self._view.candidates(replace(query, vector=None, near=near), lambda id: self._find(name_of(id)))

    def documents(self, numbers: Sequence[int]) -> list[Any] | None:
        """Return the documents of rows as the engine has them; ``None`` where one is not among the live rows."""
        keys = self.cells["number"]
        at = np.searchsorted(keys, numbers)
        if not len(keys) or (keys.take(at, mode="clip") != numbers).any():
            return None
        documents: list[Any] = self.cells["document"][at].tolist()
        return documents

    def vectors_of(self, numbers: Sequence[int]) -> Floats | None:
        """Return the vectors of rows, ``(n, dim)``, nan where there is none; ``None`` as ``documents`` does."""
        if self.documents(numbers) is None:
            return None
        dim = self.vectors.shape[1] if self.space is None else self.space.dim
        out = np.full((len(numbers), dim), np.nan, np.float32)
        if there := [at for at, number in enumerate(numbers) if number in self.embedded]:
            out[there] = self.vectors[np.searchsorted(self.embedded, [numbers[at] for at in there])]
        return out

    def _find(self, name: str) -> int:
        found = np.flatnonzero(self.cells["id"] == name)
        return int(found[0]) if len(found) else -1

    @cached
    def _view(self) -> View:
        cells, n = self.cells, len(self.cells["number"])
        sessions, speakers = Names(), Names()
        session = np.array([sessions.code(name) for name in cells["session"]], np.int32)
        previous, following = _links(session, cells["kind"] == TURN, cells["said_at"], cells["origin"])
        rows = {name: column for name, column in cells.items() if name in SPEC} | {
            "died": np.full(n, ALIVE),
            "flags": (cells["searchable"] * RECORD | cells["is_message"] * MESSAGE).astype(np.uint8),
            "session": session,
            "speaker": np.array([speakers.code(name) for name in cells["speaker"]], np.int32),
            "previous": previous,
            "following": following,
            "slot": np.where(np.isin(cells["number"], self.embedded), 0, -1),
        }
        postings = Snapshot((self.block,), {}, self.hashed)
        counts = self.counts
        return View(counts.token, 0, rows, postings, None, sessions, speakers, counts.records, float(counts.words))


def _column(values: Sequence[Any], type: str) -> npt.NDArray[Any]:
    column = np.empty(len(values), type)
    column[:] = values  # None becomes nan
    return column


def _links(session: npt.NDArray[np.int32], turns: Bools, said_at: Ints, origin: Ints) -> tuple[Ints, Ints]:
    """Return the turn before and after each row in its session, -1 for none."""
    previous, following = np.full((2, len(session)), -1)
    rows = np.flatnonzero(turns & (session >= 0))
    rows = rows[np.lexsort((origin[rows], said_at[rows], session[rows]))]
    beside = session[rows[1:]] == session[rows[:-1]]
    previous[rows[1:][beside]], following[rows[:-1][beside]] = rows[:-1][beside], rows[1:][beside]
    return previous, following


@dataclass(frozen=True)
class Outgrown:
    """Stands for a user who is not kept: one of so many ``records``, and of more rows than are kept, or of none."""

    records: int
    memory: int = 200


class SmallUsers:
    """Those who were searched last, as long as there is room. For any number of threads."""

    def __init__(self, room: int = _ROOM) -> None:
        self._room = room
        self._lock = ForkSafeLock()
        self._kept: OrderedDict[str, SmallUser | Outgrown] = OrderedDict()
        self._bytes = 0
        self.drops = 0
        """How often something was dropped that must not be kept: whoever began to read before that keeps nothing."""

    @property
    def memory(self) -> int:
        """Bytes that are kept."""
        return self._bytes

    def get(self, user_id: str) -> SmallUser | Outgrown | None:
        """Return what is kept of a user."""
        with self._lock:
            if user_id in self._kept:
                self._kept.move_to_end(user_id)
            return self._kept.get(user_id)

    def put(self, user_id: str, user: SmallUser | Outgrown, *, drops: int) -> None:
        """Keep what was read of a user, instead of what was searched longest ago; ``drops``: before that was read."""
        memory = user.memory
        with self._lock:
            self._take_out(user_id)
            if drops != self.drops or user == Outgrown(0):
                return
            self._kept[user_id] = user
            self._bytes += memory
            while self._bytes > self._room:
                self._take_out(next(iter(self._kept)))

    def drop(self, user_id: str) -> None:
        """Keep nothing of a user, nor what others are reading now."""
        with self._lock:
            self.drops += 1
            self._take_out(user_id)

    def shrunk(self, user_id: str, records: int) -> None:
        """Let a user who has outgrown being kept be read again once they have half as many records."""
        kept = self.get(user_id)
        if isinstance(kept, Outgrown) and 2 * records <= kept.records:
            self.drop(user_id)

    def drop_keys(self, key_ids: Sequence[str]) -> None:
        """Keep nothing of the users of these keys."""
        with self._lock:
            users = [
                id for id, user in self._kept.items() if isinstance(user, SmallUser) and user.counts.key_id in key_ids
            ]
        for user_id in users:
            self.drop(user_id)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self.drops += 1
            self._kept.clear()
            self._bytes = 0

    def _take_out(self, user_id: str) -> None:
        user = self._kept.pop(user_id, None)
        if user is not None:
            self._bytes -= user.memory
