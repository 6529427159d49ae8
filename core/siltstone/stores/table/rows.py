"""What a row of a table holds: the columns, and how an item becomes one row and its terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np

from ...protocols import UNKNOWN, Stored
from ...records import HIDDEN_KINDS, KINDS, ROLES, Record, micros
from ...text.keys import lexical_key, text_hash
from ...text.tokenize import terms
from ...text.traits import traits
from ..files.codec import canonical

SPEC: Final = {
    "number": "i8",  # of the frame: the row's key, ascending
    "origin": "i8",  # number of the item's first version
    "place": "i8",  # where the document lies, -1 when it has gone
    "died": "i4",  # the publication since which it is dead, or ALIVE
    "older": "i4",  # row of the version before, or -1
    "version": "i4",
    "flags": "u1",  # RECORD, MESSAGE
    "session": "i4",
    "kind": "i1",
    "role": "i1",
    "speaker": "i4",
    "said_at": "i8",
    "occurred_at": "i8",
    "valid_until": "i8",
    "expires_at": "i8",  # NEVER for pinned ones too
    "importance": "f4",
    "traits": "u1",
    "text_hash": "i8",
    "lengths": "f4",
    "previous": "i4",
    "following": "i4",
    "slot": "i4",  # where the vector lies, or -1
}
"""The columns of a table and their types."""
ALIVE: Final = np.iinfo(np.int32).max
"""``died`` of a row that is alive."""
NEVER: Final = np.iinfo(np.int64).max
"""``expires_at`` of a row that does not expire."""
RECORD: Final = 1
"""Flag of a row that can be found: a record, unless its kind is hidden."""
MESSAGE: Final = 2
"""Flag of a row that is a message of a session."""
_KIND: Final = {kind: code for code, kind in enumerate((*KINDS, *HIDDEN_KINDS))}
FIRST_HIDDEN: Final = len(KINDS)
"""Codes of hidden kinds begin here."""
_ROLE: Final = {role: code for code, role in enumerate(ROLES)}


@dataclass(frozen=True)
class Item:
    """An item to be entered: number and place of its frame, the number of its first version, and its row."""

    number: int
    place: int
    origin: int
    stored: Stored
    row: Row

    @property
    def id(self) -> str:
        """The id under which it is kept."""
        return self.stored.id


@dataclass(frozen=True)
class Row:
    """The cells that follow from an item alone, names that are not coded yet, and the counts of its terms."""

    cells: Mapping[str, Any]
    session: str | None
    speaker: str | None
    terms: Mapping[str, int]


def metadata_term(key: str, value: Any) -> str:
    """Return the reserved posting term of a metadata value."""
    return f"\0m{key}\0{canonical(value)}"


def source_term(source_id: str) -> str:
    """Return the reserved posting term of records that rest on a source."""
    return f"\0s{source_id}"


def row_of(stored: Stored) -> Row:
    """Return the row of an item."""
    message, record = stored.message, stored.record
    found = record is not None and record.kind not in HIDDEN_KINDS
    words = terms(lexical_key(record)) if record is not None and found else []
    hashed, said_at = text_and_time(stored)
    cells: dict[str, Any] = {
        "died": ALIVE,
        "version": stored.version,
        "flags": (RECORD if found else 0) | (MESSAGE if message is not None else 0),
        "kind": -1,
        "role": -1,
        "said_at": said_at,
        "occurred_at": UNKNOWN,
        "valid_until": UNKNOWN,
        "expires_at": NEVER,
        "importance": np.nan,
        "traits": 0,
        "text_hash": hashed,
        "lengths": len(words),
        "previous": -1,
        "following": -1,
        "slot": -1,
    }
    session, speaker = None, None
    if record is not None:
        session, speaker = record.session_id, record.speaker
        cells["kind"] = _KIND[record.kind]
        cells["role"] = _ROLE.get(record.role or "", -1)
        cells["occurred_at"] = _instant(record.occurred_at, UNKNOWN)
        cells["valid_until"] = _instant(record.valid_until, UNKNOWN)
        cells["expires_at"] = _instant(None if record.pinned else record.expires_at, NEVER)
        cells["traits"] = traits(record.text)
        if record.importance is not None:
            cells["importance"] = record.importance
    if message is not None:
        session = message.session_id
        cells["role"] = _ROLE[message.role]
    return Row(cells, session, speaker, Counter(words) if record is None else _counts(words, record))


def text_and_time(stored: Stored) -> tuple[int, int]:
    """Return the cells ``text_hash`` and ``said_at`` of an item's row, without reading its words for them."""
    message, record = stored.message, stored.record
    said_at = UNKNOWN if record is None else micros(record.created_at)
    if message is not None:
        said_at = _instant(message.created_at, said_at)
    return 0 if record is None else text_hash(record.text), said_at


def _counts(words: list[str], record: Record) -> Counter[str]:
    """Return the counts of a record's words, and 1 for each reserved term; a turn is not found by its source."""
    counts = Counter(words)
    for key, value in record.metadata.items():
        counts[metadata_term(key, value)] = 1
    if record.kind != "turn":
        for source in record.source_ids:
            counts[source_term(source)] = 1
    return counts


def _instant(time: datetime | None, otherwise: int) -> int:
    return otherwise if time is None else micros(time)
