"""What a record is indexed under. Date and speaker are in the keys only; the stored text stays verbatim."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from hashlib import blake2b
from typing import Final

from ..records import Record
from .language import is_chinese
from .words import MONTHS

_UNDATED: Final = ("document", "item", "summary")  # when they were stored says nothing about what they tell
_BLANKED: Final = str.maketrans(dict.fromkeys(".,;:!…\"'`“”‘’«»()[]{}<>~*_-–—、。〈〉《》「」『』【】·", " "))


def lexical_key(record: Record) -> str:
    """Return the text whose terms the record is found by: its dates, speaker, topic and text."""
    chinese = is_chinese(record.text)
    parts = [date_words(time, chinese=chinese) for time in _times(record)]
    parts += [part for part in (record.speaker, record.topic) if part]
    return " ".join([*parts, record.text])


def dense_key(record: Record) -> str:
    """Return the text that is embedded for the record: ``speaker: text``.

    Without its date: in the vector it costs more than it gives (LoCoMo R@5 -1.4 points), and times are compared as
    times.
    """
    return ": ".join(part for part in (record.speaker, record.topic, record.text) if part)


def date_words(time: datetime, *, chinese: bool) -> str:
    """Return a day in words, ``8 May 2023`` or ``2023年5月8日``."""
    if chinese:
        return f"{time.year}年{time.month}月{time.day}日"
    return f"{time.day} {MONTHS[time.month - 1].capitalize()} {time.year}"


def text_hash(text: str) -> int:
    """Return a signed 64-bit hash that is equal for texts that differ in case, spacing and punctuation only.

    Question marks, signs and emoji count: "You won" and "You won?" are two things.
    """
    normal = unicodedata.normalize("NFKC", text).casefold()
    bare = " ".join(normal.translate(_BLANKED).split()) or normal
    digest = blake2b(bare.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _times(record: Record) -> list[datetime]:
    """Return when it happened and when it was said, each if known and telling, the former first.

    A memory told without saying when (``remember``) has been created as it was stored: that is no date of its own
    beside the one on which it happened.
    """
    if record.occurred_at is None:
        return [] if record.kind in _UNDATED else [record.created_at]
    told = record.kind not in _UNDATED and record.created_at != record.stored_at
    return [record.occurred_at, record.created_at] if told else [record.occurred_at]
