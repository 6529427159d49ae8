"""Digests that a person is to look at: which ones, and what has been said of them.

A review is a record of the hidden kind ``review`` that rests on the messages of its digest: it is written with the
digest, in one commit, and goes with any of these messages. It holds ids and verdicts, no text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Final, Literal, TypeAlias, get_args

from ..protocols import Put, Store, Where
from ..records import Record
from .spans import Span, hashed

KIND: Final = "review"
Verdict: TypeAlias = Literal["right", "wrong", "unsure"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)


@dataclass(frozen=True)
class Review:
    """What is known of the review of one digest.

    ``id``          follows from the session and the digest's first and last message
    ``source_ids``  the messages that the digest covers
    ``done``        whether nobody need look at it any more; ``verdicts`` of its items by their record ids
    ``version``     the version that is stored; 0 for none
    """

    id: str
    session_id: str
    source_ids: tuple[str, ...]
    done: bool = False
    verdicts: Mapping[str, str] = field(default_factory=dict)
    version: int = 0

    def put(self, user_id: str, now: datetime) -> Put:
        """Return what stores the next version of the review."""
        record = Record(
            id=self.id, text="", kind=KIND, user_id=user_id, session_id=self.session_id, source_ids=self.source_ids,
            created_at=now, stored_at=now, version=self.version + 1,
            metadata={"done": self.done, "verdicts": dict(self.verdicts)},
        )  # fmt: skip
        return Put(record)


def review_id(session_id: str, source_ids: Sequence[str]) -> str:
    """Return the id of the review of a digest, the same in every process."""
    return hashed(KIND, session_id, source_ids[0], source_ids[-1])


def chosen(id: str, share: float) -> bool:
    """Return whether the digest whose review has this id is among the ``share`` (0 to 1) that is queued by itself.

    It follows from the id alone: a digest that is made again is chosen again, and a larger share holds a smaller one.
    """
    drawn = int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return drawn < share * 2**64


def queued(store: Store, user_id: str, span: Span, share: float) -> Review | None:
    """Return the review that a new digest of the span gets, or ``None`` where it is not chosen."""
    id = review_id(span.session_id, span.ids)
    if not chosen(id, share):
        return None
    before = review_of(store, user_id, id)
    return Review(id, span.session_id, span.ids, version=0 if before is None else before.version)


def review_of(store: Store, user_id: str, id: str) -> Review | None:
    """Return the review of this id, if there is one."""
    (stored,) = store.fetch(user_id, [id])
    record = None if stored is None else stored.record
    return None if record is None or record.kind != KIND else _read(record)


def reviews(store: Store, user_id: str) -> Iterator[Review]:
    """Yield the user's reviews, those that wait and those that are done, in order of writing."""
    yield from map(_read, store.scan(user_id, Where(kinds=(KIND,))))


def _read(record: Record) -> Review:
    return Review(
        id=record.id,
        session_id=record.session_id or "",
        source_ids=record.source_ids,
        done=record.metadata["done"],
        verdicts=record.metadata["verdicts"],
        version=record.version,
    )
