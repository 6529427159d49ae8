"""A search: read the question, ask the store, rank, and turn rows into records."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Final, Protocol

import numpy as np

from ..errors import InvalidInputError
from ..protocols import Candidates, Fingerprint, Floats, Query, Reranker, Store, Where
from ..records import Hit
from ..text.periods import past_times
from .arm import DEPTH
from .conditions import is_searched
from .occasions import TELLING, times_of
from .question import read_question
from .rank import Ranking, rank
from .sources import expanded
from .validity import current_first, held_first
from .weights import FED_BACK, FEEDBACK

RERANKED: Final = 50
"""How many of the best a reranker looks at."""
KEYS: Final = 60
"""So many more hits are read where several may be keys to one turn."""
RERANKER_SHARE: Final = 0.5
"""Its part of the final score; the rest is the first stage's. Alone, a small one makes a good order worse."""


class Asked(Protocol):
    """What turns a question into a vector, or into ``None`` where it cannot now: words alone are searched then."""

    def embed_query(self, text: str) -> Floats | None:
        """Return the vector of a question, ``(dim,)``, or ``None``."""


def search(
    store: Store,
    embedder: Asked | None,
    user_id: str,
    query: str,
    *,
    top_k: int = 10,
    where: Where | None = None,
    now: datetime,
    expand: str | None = None,
    reranker: Reranker | None = None,
    space: Fingerprint | None = None,
) -> list[Hit]:
    """Return the ``top_k`` records of one user that answer the query best, best first.

    ``embedder``   ``None`` searches by words only
    ``where``      which records may be results
    ``now``        anchors times in the query, expiry and validity
    ``expand``     ``"source"`` returns the turns that a derived record rests on in its place, as far as they are there
    ``space``      what the embedder's vectors are made in, where that is known
    ``reranker``   orders the best ``RERANKED`` anew, interpolated with the first stage

    Records of the same words are one hit; ``why`` names the others (``same_text:<id>``). Raises
    ``InvalidInputError`` for an empty query; failures of the reranker are raised as they are.
    """
    if not query.strip():
        raise InvalidInputError("the query is empty: pass a question or a few words to search for")
    question = read_question(query, now)
    vector = None if embedder is None else embedder.embed_query(query)
    if question.anchors:

        def ask(event: str) -> list[Hit]:
            return search(store, embedder, user_id, event, top_k=TELLING, now=now)

        question = dataclasses.replace(question, periods=(*question.periods, *times_of(question.anchors, ask)))
    depth = max(DEPTH, 2 * top_k)
    asked = Query(question.terms, vector, where or Where(now=now), depth, whiten=True, space=space)
    found = store.candidates(user_id, asked)
    ranking = rank(found, question, now, depth=depth)
    if question.passage and vector is not None:
        asked = dataclasses.replace(asked, vector=_fed_back(store, user_id, found, ranking, vector))
        found = store.candidates(user_id, asked)
        ranking = rank(found, question, now, depth=depth)
    wanted = top_k if expand is None else top_k + min(2 * top_k, KEYS)
    wanted = max(wanted, RERANKED) if reranker is not None else wanted
    hits = _resolve(store, user_id, found, ranking, wanted)
    if reranker is not None:
        hits = _rerank(reranker, query, hits)
    if (then := past_times(question.periods, now)) or question.asks_past:
        hits = held_first(hits, then)
    else:
        hits = current_first(store, user_id, hits, where or Where(now=now))
    if expand == "source":
        hits = expanded(store, user_id, hits, where or Where(now=now), reranked=reranker is not None)
    return hits[:top_k]


def _fed_back(store: Store, user_id: str, found: Candidates, ranking: Ranking, vector: Floats) -> Floats:
    """Return a passage's vector moved towards those of the records that it found first (Rocchio 1971)."""
    best = store.vectors(user_id, found.keys[ranking.rows[:FED_BACK]].tolist())
    best = best[~np.isnan(best).any(axis=1)]
    if not best.size:
        return vector
    moved = vector + np.float32(FEEDBACK) * best.mean(axis=0)
    unit: Floats = moved / np.linalg.norm(moved)
    return unit


def _resolve(store: Store, user_id: str, found: Candidates, ranking: Ranking, wanted: int) -> list[Hit]:
    """Return the first hits of a ranking; a record that has gone since, or is not searched, makes room for the next."""
    hits: list[Hit] = []
    start = 0
    while len(hits) < wanted and start < len(ranking.rows):
        chosen = slice(start, start + wanted - len(hits))
        rows: list[int] = ranking.rows[chosen].tolist()
        rows += [twin for row in rows for twin in ranking.twins.get(row, ())]
        keys = found.keys[rows].tolist()
        records = store.resolve(user_id, keys)
        by_row = dict(zip(rows, records, strict=True)) if ranking.twins else {}
        scored = zip(rows, keys, records, ranking.scores[chosen].tolist(), _whys(ranking, chosen), strict=False)
        for row, key, record, score, why in scored:
            if record is not None and is_searched(record):
                for twin in ranking.twins.get(row, ()):
                    if (other := by_row[twin]) is not None:
                        why[f"same_text:{other.id}"] = 1.0
                hits.append(Hit(record, score, why, row=key))
        start = chosen.stop
    return hits


def _whys(ranking: Ranking, chosen: slice) -> list[dict[str, float]]:
    """Return the parts of some scores by name, without those that are 0."""
    table = ranking.parts[:, chosen].T.round(4).tolist()
    return [{name: value for name, value in zip(ranking.names, values, strict=True) if value} for values in table]


def _rerank(reranker: Reranker, query: str, hits: list[Hit]) -> list[Hit]:
    """Order the first hits by the mean of both stages' z-scores; the rest follows as it was."""
    head, tail = hits[:RERANKED], hits[RERANKED:]
    if len(head) < 2:
        return hits
    second = np.asarray(reranker.rerank(query, [hit.record.text for hit in head]), np.float32)
    mixed = (1 - RERANKER_SHARE) * _z(np.array([hit.score for hit in head], np.float32)) + RERANKER_SHARE * _z(second)
    order = np.argsort(-mixed, kind="stable")
    return [
        Hit(head[n].record, float(mixed[n]), {**head[n].why, "reranker": float(second[n])}, row=head[n].row)
        for n in order
    ] + tail


def _z(scores: Floats) -> Floats:
    deviation = float(scores.std())
    return (scores - scores.mean()) / deviation if deviation > 1e-9 else np.zeros_like(scores)
