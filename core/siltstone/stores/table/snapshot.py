"""A table as arrays, for the cache, and back. Names of what was removed are left out; so are its postings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...index.columns import Columns
from ...index.digests import Digests, Packed
from ...index.distinct import distinct
from ...index.ids import Ids, IdTable
from ...index.postings import Block, Postings, merge, renumbered
from ...index.vectors import GONE, CodedVectors
from .rows import ALIVE, SPEC
from .table import Table
from .view import Names

Arrays = dict[str, npt.NDArray[Any]]

_CHANGING: Final = ("died", "place", "previous", "following", "slot")
"""Columns whose cells change in place: copied when the picture is taken."""
_BESIDE: Final = ("previous", "following")
"""Columns that hold rows near their own: kept as distances, 0 for none."""
_ROWS: Final = (*_BESIDE, "older")
"""Columns that hold rows."""
_FEW_GONE: Final = 8
"""Up to this part of them, rows of which nothing is left keep their place."""


@dataclass(frozen=True)
class Picture:
    """A table at one moment; taken quickly, turned into arrays at leisure."""

    columns: Mapping[str, npt.NDArray[Any]]
    blocks: tuple[Block, ...]
    ids: IdTable
    sessions: tuple[str, ...]
    speakers: tuple[str, ...]
    refused: tuple[Packed, tuple[str, ...]]
    coded: CodedVectors | None
    total: int
    words: float
    token: str

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.columns["number"])


def take(table: Table) -> Picture:
    """Return a picture of the table. No one may be writing."""
    view = table.view
    table.postings.seal()
    columns = {name: cells.copy() if name in _CHANGING else cells for name, cells in view.rows.items()}
    return Picture(
        columns,
        table.postings.snapshot().blocks,
        table.ids.table(view.alive),
        tuple(view.sessions.names),
        tuple(view.speakers.names),
        table.refused.parts(),
        None if view.vectors is None else view.vectors.coded(),
        view.total,
        view.words,
        view.token,
    )


def condense(table: Table, into: Table) -> None:
    """Put what is left of a table on an empty one, vectors that lie flat aside. No one may be writing. O(rows)."""
    picture = _condensed(take(table))
    alive = picture.columns["died"] == ALIVE
    columns = {**picture.columns, "died": np.where(alive, ALIVE, 0).astype(SPEC["died"])}
    into.restore(
        Columns(SPEC, columns),
        Ids(picture.ids),
        Postings([block for block in picture.blocks if len(block.hashes)]),
        Names(_only(picture.sessions, columns["session"])),
        Names(_only(picture.speakers, columns["speaker"])),
        _refused(*picture.refused),
        picture.coded,
        (picture.total, picture.words),
    )


def pack(picture: Picture) -> tuple[dict[str, Any], Arrays]:
    """Return values and arrays for a cache."""
    picture = _condensed(picture)
    columns = picture.columns
    alive = columns["died"] == ALIVE
    kept = columns["place"] >= 0
    constants: dict[str, Any] = {}
    arrays: Arrays = {}
    for name, cells in columns.items():
        if name == "died":
            cells = alive.astype(np.int8)
        elif name == "origin":
            cells = columns["number"] - cells
        elif name in _BESIDE:
            cells = np.where(cells >= 0, cells - np.arange(len(cells)), 0)
        elif name not in ("number", "place"):
            cells = np.where(kept, cells, np.zeros(1, cells.dtype))  # nothing is left of what was removed
        if len(cells) and ((cells == cells[0]).all() or (cells != cells).all()):  # all the same, or all nan
            constants[name] = cells[0].item()
        else:
            column, steps = _narrow(cells), _steps(cells)
            if steps.itemsize < column.itemsize:  # as the way from cell to cell, where that takes less room
                constants[name] = cells[0].item()
                arrays[f"steps.{name}"] = steps
            else:
                arrays[f"column.{name}"] = column
    block = merge(picture.blocks, ~alive)
    arrays |= {
        "postings.hashes": block.hashes,
        "postings.starts": _narrow(block.starts),
        "postings.packed": block.packed,
    }
    arrays["refused"] = picture.refused[0]
    arrays |= {"ids.high": picture.ids.high, "ids.low": picture.ids.low, "ids.rows": picture.ids.rows}
    values = {
        "count": picture.count,
        "constants": constants,
        "sessions": _only(picture.sessions, columns["session"][kept]),
        "speakers": _only(picture.speakers, columns["speaker"][kept]),
        "refused": picture.refused[1],
        "total": picture.total,
        "words": picture.words,
        "token": picture.token,
    }
    if picture.coded is not None:
        coded = picture.coded
        values["coded"] = {"dim": coded.dim, "starts": coded.starts}
        arrays |= {f"coded.{n}": part for n, part in enumerate(coded.parts)}
        arrays |= {"coded.rows": coded.rows}
    return values, arrays


def _condensed(picture: Picture) -> Picture:
    """Leave out the rows of which nothing is left, once they are many; the others are numbered anew."""
    columns = picture.columns
    kept = _kept(columns)
    gone = len(kept) - int(np.count_nonzero(kept))
    if _FEW_GONE * gone <= len(kept):
        return picture
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)
    cells = {name: column[kept] for name, column in columns.items()}
    cells |= {name: np.where(cells[name] >= 0, numbers[cells[name]], -1) for name in _ROWS}
    sessions, cells["session"] = _used(picture.sessions, cells["session"])
    speakers, cells["speaker"] = _used(picture.speakers, cells["speaker"])
    ids, coded = picture.ids, picture.coded
    if coded is not None:  # positions in the index stay
        known = coded.rows < len(numbers)
        rows = np.full(len(coded.rows), GONE, np.int32)
        rows[known] = numbers[coded.rows[known]]
        coded = dataclasses.replace(coded, rows=np.where(rows >= 0, rows, GONE))
    return dataclasses.replace(
        picture,
        columns=cells,
        blocks=(renumbered(merge(picture.blocks, columns["died"] != ALIVE), numbers),),
        ids=IdTable(ids.high, ids.low, numbers[ids.rows].astype(np.int32)),
        sessions=sessions,
        speakers=speakers,
        coded=coded,
    )


def _used(names: tuple[str, ...], codes: npt.NDArray[Any]) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
    """Return the names that rows use, and the codes by which they do then."""
    used = distinct(codes[codes >= 0])
    numbers = np.full(len(names) + 1, -1, codes.dtype)  # the last one is that of none, -1
    numbers[used] = np.arange(len(used))
    return tuple(names[code] for code in used.tolist()), numbers[codes]


def _kept(columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    kept: npt.NDArray[np.bool_] = (columns["died"] == ALIVE) | (columns["place"] >= 0)
    return kept


def unpack(table: Table, values: Mapping[str, Any], arrays: Arrays) -> None:
    """Put what a cache holds on an empty table."""
    count = values["count"]
    columns: Arrays = {}
    for name, dtype in SPEC.items():
        if (steps := arrays.get(f"steps.{name}")) is not None:
            cells = np.cumsum(steps, dtype=dtype) + values["constants"][name]
        elif name in values["constants"]:
            value = values["constants"][name]
            cells = np.full(count, np.nan if value is None else value, dtype)
        else:
            cells = arrays.get(f"column.{name}", np.empty(0)).astype(dtype)
        if name == "died":
            cells = np.where(cells > 0, ALIVE, 0).astype(dtype)
        elif name == "origin":
            cells = columns["number"] - cells
        elif name in _BESIDE:
            cells = np.where(cells != 0, cells + np.arange(count), -1).astype(dtype)
        columns[name] = cells
    block = _block(arrays)
    coded = None
    if "coded" in values:
        starts = values["coded"]["starts"]
        parts = tuple(arrays[f"coded.{n}"] for n in range(len(starts)))
        coded = CodedVectors(values["coded"]["dim"], tuple(starts), parts, arrays["coded.rows"])
    table.restore(
        Columns(SPEC, columns),
        Ids(_ids(arrays)),
        Postings([block] if len(block.hashes) else []),
        Names(values["sessions"]),
        Names(values["speakers"]),
        _refused(arrays["refused"], values["refused"]),
        coded,
        (values["total"], values["words"]),
    )


def rebase(table: Table, picture: Picture, arrays: Arrays) -> None:
    """Let a table use the mapped arrays that were made from its picture. No one may be writing."""
    table.rebase(picture.blocks, _block(arrays), _ids(arrays), picture.count)


def _refused(packed: Packed, others: Iterable[str]) -> Digests:
    return Digests(others, packed)


def _block(arrays: Arrays) -> Block:
    return Block(arrays["postings.hashes"], arrays["postings.starts"].astype(np.int64), arrays["postings.packed"])


def _ids(arrays: Arrays) -> IdTable:
    return IdTable(arrays["ids.high"], arrays["ids.low"], arrays["ids.rows"])


def _steps(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the differences from cell to cell of integers, 0 for the first; other cells as they are."""
    return _narrow(np.diff(cells.astype(np.int64), prepend=cells[:1])) if cells.dtype.kind in "iu" else cells


def _narrow(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return integers in the narrowest type that holds them."""
    if cells.dtype.kind not in "iu" or not len(cells):
        return cells
    low, high = int(cells.min()), int(cells.max())
    fits = (t for t in (np.int8, np.int16, np.int32, np.int64) if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
    return cells.astype(next(fits))


def _only(names: tuple[str, ...], codes: npt.NDArray[Any]) -> list[str | None]:
    """Return the names, without those that no row uses."""
    used = set(distinct(codes).tolist())
    return [name if code in used else None for code, name in enumerate(names)]
