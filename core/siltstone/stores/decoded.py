"""Items that were read lately, decoded: what a context or a night's consolidation reads is mostly read again soon."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from ..protocols import Stored
from ..records import Message, Record
from .files.codec import decode
from .files.log import Log

GENERATION: Final = 4_096
"""Items per generation, of all users of a store: some 2 KB each, two generations at most."""
_NUMBERS: Final = itertools.count()
_FLAT: Final = (str, int, float, bool, type(None))


class Kept(NamedTuple):
    """An item, and whether it is this module's alone, because it has metadata: callers get copies then."""

    item: Stored
    alone: bool


class Decoded:
    """Keeps items by the numbers of their reader and frame. O(1).

    Thread-safe without a lock: an entry that is lost is only read again. The younger generation takes what is read;
    when it is full it becomes the older one, which is dropped.
    """

    def __init__(self) -> None:
        self._young: dict[tuple[int, int], Kept] = {}
        self._old: dict[tuple[int, int], Kept] = {}

    def get(self, key: tuple[int, int]) -> Stored | None:
        """Return what is kept, if it is as it was put: a caller may have written into its metadata, which was empty."""
        found = self._young.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self._keep(key, found)
        if found is None:
            return None
        if found.alone:
            return _copied(found.item)
        return None if _has_metadata(found.item) else found.item

    def put(self, key: tuple[int, int], item: Stored) -> Stored:
        """Keep an item, unless its metadata is nested; return it for the caller, who may write into its metadata."""
        if not _has_metadata(item):
            self._keep(key, Kept(item, alone=False))
            return item
        if not all(type(value) in _FLAT for held in _metadata(item) for value in held.values()):
            return item
        self._keep(key, Kept(item, alone=True))
        return _copied(item)

    def _keep(self, key: tuple[int, int], kept: Kept) -> None:
        if len(self._young) >= GENERATION:
            self._young, self._old = {}, self._young
        self._young[key] = kept

    def drop(self, keys: Iterable[tuple[int, int]]) -> None:
        """Forget some."""
        for key in keys:
            self._young.pop(key, None)
            self._old.pop(key, None)

    def drop_reader(self, reader: int) -> None:
        """Forget all that one reader has read. O(items kept)."""
        self.drop([key for key in (*self._young, *self._old) if key[0] == reader])


class Reader:
    """Reads the items of a log by place and number, as ``Table`` asks for them."""

    def __init__(self, log: Log, user_id: str, decoded: Decoded) -> None:
        self._log, self._user_id, self._decoded = log, user_id, decoded
        self._number = next(_NUMBERS)

    def __call__(self, place: int, number: int) -> Stored | None:
        """Return the item, or ``None`` if its document is damaged or gone."""
        if place < 0:
            return None
        key = (self._number, number)
        if (kept := self._decoded.get(key)) is not None:
            return kept
        document = self._log.load(place, number)
        if document is None:
            return None
        item = decode(orjson.loads(document), self._user_id, number)
        return self._decoded.put(key, item)

    def drop(self, numbers: Iterable[int]) -> None:
        """Keep nothing of frames that are hidden."""
        self._decoded.drop((self._number, number) for number in numbers)

    def leave(self) -> None:
        """Keep nothing any more: another reader takes over, and is told of what is hidden."""
        shared, self._decoded = self._decoded, Decoded()  # what a call under way still reads goes with us
        shared.drop_reader(self._number)


Part = TypeVar("Part", Message, Record)


def _metadata(item: Stored) -> list[Mapping[str, Any]]:
    """Return the metadata that is not empty."""
    return [part.metadata for part in (item.message, item.record) if part is not None and part.metadata]


def _has_metadata(item: Stored) -> bool:
    record, message = item.record, item.message
    return bool((record is not None and record.metadata) or (message is not None and message.metadata))


def _copied(item: Stored) -> Stored:
    """Return the item with metadata of its own, which is not nested."""
    return replace(item, record=_with_own(item.record), message=_with_own(item.message))


def _with_own(part: Part | None) -> Part | None:
    if part is None or not part.metadata:
        return part
    own = copy.copy(part)  # its fields were checked when it was made
    object.__setattr__(own, "metadata", dict(part.metadata))
    return own
