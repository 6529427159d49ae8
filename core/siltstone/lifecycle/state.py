"""How far consolidation has come: what waits, what has failed for good, how much smaller the summaries are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from ..protocols import Store, TokenCounter, Where
from .jobs import jobs
from .reviews import reviews

SOURCE_TOKENS: Final = "source_tokens"
"""Key among the metadata of a span's summary: how many tokens its messages have."""


@dataclass(frozen=True)
class State:
    """Jobs by state; a line for each dead letter; digests to be reviewed; tokens of messages per token of summaries."""

    jobs: dict[str, int]
    dead_letters: tuple[str, ...]
    reviews: int
    compression: float | None


def state(store: Store, user_id: str, counter: TokenCounter) -> State:
    """Return the state of a user's consolidation. O(summaries, jobs and reviews)."""
    found = [job for job in jobs(store, user_id) if job.state != "done"]
    dead = [job for job in found if job.state == "dead"]
    summaries = [record for record in store.scan(user_id, Where(kinds=("summary",))) if record.level == 0]
    sources = sum(record.metadata.get(SOURCE_TOKENS, 0) for record in summaries)
    own = sum(counter.count(record.text) for record in summaries if SOURCE_TOKENS in record.metadata)
    return State(
        jobs=dict(Counter(job.state for job in found)),
        dead_letters=tuple(
            f"session {job.session_id!r}, {len(job.source_ids)} messages, {job.attempts} attempts: {job.error}"
            for job in dead
        ),
        reviews=sum(not review.done for review in reviews(store, user_id)),
        compression=round(sources / own, 1) if own else None,
    )
