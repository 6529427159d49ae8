"""How far consolidation has come: what waits, what has failed for good, how much smaller the rest has become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..compress.guarded import LOCAL, REDACTED
from ..protocols import Store, TokenCounter, Where
from ..records import Record, is_derived
from .jobs import jobs
from .reviews import reviews

DIGESTED: Final = ("summary", "profile", "fact", "event")
"""The kinds of records that digests become."""
SOURCE_TOKENS: Final = "source_tokens"
"""Key among the metadata of a span's summary: how many tokens its messages have."""


@dataclass(frozen=True)
class State:
    """Jobs by state; a line for each that is not done, and for each dead letter; digests to be reviewed; how many times
    smaller digests are; how many summaries were made of redacted messages, or here for what those hold."""

    jobs: dict[str, int]
    unfinished: tuple[str, ...]
    dead_letters: tuple[str, ...]
    reviews: int
    compression: float | None
    guarded: dict[str, int]


def state(store: Store, user_id: str, counter: TokenCounter) -> State:
    """Return the state of a user's consolidation. O(summaries, statements, jobs and reviews)."""
    found = [job for job in jobs(store, user_id) if job.state != "done"]
    dead = [job for job in found if job.state == "dead"]
    derived = [record for record in store.scan(user_id, Where(kinds=DIGESTED)) if is_derived(record)]
    return State(
        jobs=dict(Counter(job.state for job in found)),
        unfinished=tuple(job.told for job in found if job.state != "dead"),
        dead_letters=tuple(job.told for job in dead),
        reviews=sum(not review.done for review in reviews(store, user_id)),
        compression=_compression(derived, counter),
        guarded=_guarded(derived),
    )


def _compression(derived: Sequence[Record], counter: TokenCounter) -> float | None:
    """Return how many times smaller the summaries of spans, with the statements that rest on these, are together."""
    summaries = [record for record in derived if record.level == 0 and SOURCE_TOKENS in record.metadata]
    covered = {id for record in summaries for id in record.source_ids}
    statements = [one for one in derived if one.kind != "summary" and not covered.isdisjoint(one.source_ids)]
    own = sum(counter.count(record.text) for record in (*summaries, *statements))
    return round(sum(record.metadata[SOURCE_TOKENS] for record in summaries) / own, 1) if own else None


def _guarded(derived: Sequence[Record]) -> dict[str, int]:
    """Return how many summaries were made of redacted messages, and how many here."""
    flags = Counter(flag for record in derived if record.kind == "summary" for flag in record.flags)
    return {f"{flag}_summaries": flags[flag] for flag in (REDACTED, LOCAL) if flags[flag]}
