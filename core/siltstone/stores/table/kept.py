"""Versions as a store has them, in an order in which another one can write them, under its own numbers.

Items are read in the order of their origins, the numbers of their first versions. Where these have gone from the
history, the first one that is left takes their place, so that the order of items is the same in the other store.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...protocols import Bools, Ints
from ..files.codec import encode
from ..moving import Kept
from .plan import Known, Planned
from .rows import row_of


def order_of(number: Ints, origin: Ints, version: Ints, alive: Bools, history: int) -> npt.NDArray[np.int64]:
    """Return which rows are to be written, in order: the living, and those before them that ``history`` shows.

    All arrays are ``(n,)``, a row each.
    """
    live = np.flatnonzero(alive)
    live = live[np.argsort(origin[live], kind="stable")]
    if not len(live):
        return live
    at = np.minimum(np.searchsorted(origin[live], origin), len(live) - 1)
    kept = np.flatnonzero((origin[live][at] == origin) & (version >= version[live][at] - history))
    by_item = kept[np.lexsort((version[kept], origin[kept]))]
    first = by_item[np.concatenate(([True], np.diff(origin[by_item]) != 0))]
    place = number.astype(np.int64)
    place[first] = origin[first]
    return kept[np.argsort(place[kept], kind="stable")]


def planned_as_kept(known: Known, kept: Sequence[Kept], *, first: int) -> tuple[Planned, ...]:
    """Return what is written, numbered from ``first``: no version is counted anew, no vector rounded again."""
    ids = [each.stored.id for each in kept]
    origins = {id: present.origin for id, present in zip(ids, known.present(ids), strict=True) if present is not None}
    items: list[Planned] = []
    for number, each in enumerate(kept, first):
        origin = origins.setdefault(each.stored.id, number)
        document = encode(each.stored, origin)
        items.append(Planned(number, origin, each.stored, document, row_of(each.stored), each.vector))
    return tuple(items)
