"""A hit on a derived record serves the turns that it rests on."""

from __future__ import annotations

from typing import Final

from ..protocols import Store, Where
from ..records import Hit
from .conditions import may_be_served

EXPANDED: Final = 5
"""A record that rests on more turns than this (a summary) is served as it is."""


def expanded(store: Store, user_id: str, hits: list[Hit], where: Where) -> list[Hit]:
    """Put the turns that a derived record rests on in its place; what was found by itself stays where it was.

    The conditions are the derived record's to meet; of its turns, those are not served that have expired or are
    excluded, by id or by session. Where none is left, the derived record is served as it is.
    """
    ids = list(dict.fromkeys(id for hit in hits if hit.record.kind != "turn" for id in hit.record.source_ids))
    if not ids:
        return hits
    stored = dict(zip(ids, store.fetch(user_id, ids), strict=True))
    seen: set[str] = set()
    served: list[Hit] = []
    for hit in hits:
        derived = hit.record.kind != "turn" and len(hit.record.source_ids) <= EXPANDED
        through = []
        for source in [stored[id] for id in hit.record.source_ids] if derived else []:
            turn = None if source is None else source.record
            if source is not None and turn is not None and turn.kind == "turn" and may_be_served(turn, where):
                through.append(Hit(turn, hit.score, {**hit.why, f"via:{hit.record.id}": 1.0}, row=source.row))
        for new in through or [hit]:
            if new.record.id not in seen:
                seen.add(new.record.id)
                served.append(new)
    return served
