"""A hit on a derived record serves the turns that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..protocols import Store, Stored, Where
from ..records import Hit
from .conditions import may_be_served

EXPANDED: Final = 5
"""A record that rests on more turns than this (a summary) is served as it is."""
AS_KEY: Final = -1.25
AS_SUMMARY: Final = -2.0
"""What a score loses where a derived record is only the key to a turn, or stands for many: short texts match easily.
Chosen on the first two conversations of LoCoMo (2026-11-30); see ``benchmarks/compression/keys.py``."""


def expanded(store: Store, user_id: str, hits: list[Hit], where: Where, *, reranked: bool = False) -> list[Hit]:
    """Return the turns that derived records rest on in their place, best first.

    A turn that was found by itself as well has the better of both scores. The conditions are the derived record's to
    meet; of its turns, those are not served that have expired or are excluded, by id or by session. Where none is
    left, the derived record is served as it is. What was ``reranked`` stays in its order.
    """
    ids = list(dict.fromkeys(id for hit in hits if hit.record.kind != "turn" for id in hit.record.source_ids))
    if not ids:
        return hits
    stored = dict(zip(ids, store.fetch(user_id, ids), strict=True))
    served: dict[str, Hit] = {}
    for hit in hits:
        for new in _through(hit, stored, where, reranked) or [hit]:
            known = served.get(new.record.id)
            if known is None or (new.score > known.score and not reranked):
                served[new.record.id] = new
    return list(served.values()) if reranked else sorted(served.values(), key=lambda hit: -hit.score)


def _through(hit: Hit, stored: Mapping[str, Stored | None], where: Where, reranked: bool) -> list[Hit]:
    """Return what is served for a derived record: its turns, or itself where it stands for many; none for a turn."""
    record = hit.record
    if record.kind == "turn":
        return []
    loss = 0.0 if reranked else AS_SUMMARY if record.kind == "summary" else AS_KEY
    why = {**hit.why, "as_key": loss} if loss else dict(hit.why)
    if len(record.source_ids) > EXPANDED:
        return [Hit(record, hit.score + loss, why, row=hit.row)]
    turns = []
    for source in (stored[id] for id in record.source_ids):
        turn = None if source is None else source.record
        if source is not None and turn is not None and turn.kind == "turn" and may_be_served(turn, where):
            turns.append(Hit(turn, hit.score + loss, {**why, f"via:{record.id}": 1.0}, row=source.row))
    return turns
