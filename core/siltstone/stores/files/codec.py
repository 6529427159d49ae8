"""Items as compact JSON documents, and back.

A message and its turn record are one document: what ``turn_of`` derives is not written twice, only what differs.
Absent keys are defaults. Times are microseconds since 1970, with the offset from UTC in seconds where it is not 0.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Final

import orjson

from ...errors import InvalidInputError
from ...protocols import Stored
from ...records import Message, Record, micros, turn_of

_KEYS: Final = {
    "text": "c",
    "kind": "k",
    "level": "lv",
    "topic": "tp",
    "session_id": "s",
    "role": "r",
    "speaker": "n",
    "source_ids": "f",
    "created_at": "t",
    "stored_at": "w",
    "updated_at": "ua",
    "occurred_at": "oa",
    "valid_from": "vf",
    "valid_until": "vu",
    "expires_at": "xa",
    "pinned": "pin",
    "importance": "im",
    "support": "su",
    "version": "rv",
    "superseded_by": "sb",
    "flags": "fl",
    "made_by": "mb",
    "metadata": "m",
}
"""Fields of a record and their keys; ``id`` is ``i``, and the user is known by the folder."""
_FIELDS: Final = {key: name for name, key in _KEYS.items()}
_TIMES: Final = frozenset(name for name in _KEYS if name.endswith("_at") or name.startswith("valid_"))
_TUPLES: Final = frozenset(("source_ids", "flags"))
_DEFAULTS: Final[dict[str, Any]] = {
    f.name: f.default if f.default is not dataclasses.MISSING else {} if f.name == "metadata" else None
    for f in dataclasses.fields(Record)
    if f.name in _KEYS
}
_STRICT: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME  # they would come back as text
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


def encode(item: Stored, origin: int) -> bytes:
    """Return the document of an item; ``origin`` numbers its first version and is written from the second on.

    Raises ``InvalidInputError`` for text or metadata that JSON cannot hold: lone surrogates, nan, other types.
    """
    document = _of_record(item) if item.message is None else _of_message(item.message, item)
    if item.version > 1:
        document["v"], document["o"] = item.version, origin
    return dump(document)


def decode(document: Mapping[str, Any], user_id: str, row: int = 0) -> Stored:
    """Return the item of a document; ``row`` is the number of its frame."""
    version = document.get("v", 1)
    if "k" in document:
        fields = {_FIELDS[key]: _thaw(_FIELDS[key], value) for key, value in document.items() if key in _FIELDS}
        fields.setdefault("version", version)
        return Stored(version, record=Record(id=document["i"], user_id=user_id, **fields), row=row)
    message = Message(
        document["r"],
        document["c"],
        name=document.get("n"),
        created_at=time_of(document["t"]) if "t" in document else None,
        id=document["i"],
        metadata=document.get("m"),
        session_id=document["s"],
    )
    supplied = document.get("u")
    supplied = message.id if supplied == 1 else supplied
    return Stored(version, _turn(message, document, user_id, version), message, supplied, row)


def dump(document: Mapping[str, Any]) -> bytes:
    """Return JSON in UTF-8, refusing what would not come back the same."""
    for value in document.values():
        if isinstance(value, (dict, list, tuple, float)):
            _refuse_nan(value)
    try:
        return orjson.dumps(document, option=_STRICT)
    except TypeError as exc:
        raise InvalidInputError(f"this cannot be kept as JSON: {exc}; nothing was stored") from exc


def canonical(value: Any) -> str:
    """Return one string per JSON value, so that equal values compare equal (2 and 2.0 included)."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return orjson.dumps(value, option=_STRICT | orjson.OPT_SORT_KEYS).decode()
    except TypeError as exc:
        raise InvalidInputError(f"{value!r} is no JSON value: {exc}") from exc


def _of_record(item: Stored) -> dict[str, Any]:
    record = item.record
    assert record is not None
    document: dict[str, Any] = {"i": record.id, "k": record.kind}
    defaults = _DEFAULTS | {"kind": record.kind, "version": item.version}
    document.update(_changes(record, defaults))
    return document


def _of_message(message: Message, item: Stored) -> dict[str, Any]:
    document: dict[str, Any] = {"i": message.id, "s": message.session_id, "r": message.role, "c": message.content}
    if message.created_at is not None:
        document["t"] = _instant(message.created_at)
    if message.name is not None:
        document["n"] = message.name
    if message.metadata is not None:
        document["m"] = dict(message.metadata)
    if item.supplied_id is not None:
        document["u"] = 1 if item.supplied_id == message.id else item.supplied_id
    record = item.record
    if record is not None:
        document["w"] = _instant(record.stored_at)
        derived = turn_of(message, record.user_id, record.stored_at)
        if derived == record and item.version == 1:
            return document
        known = _DEFAULTS if derived is None else vars(derived)
        changes = _changes(record, {**known, "version": item.version, "stored_at": record.stored_at})
        if "m" in changes and changes["m"] == document.get("m"):
            changes["m"] = 1  # the message's own
        if derived is None or changes:
            document["d"] = changes
    return document


def _turn(message: Message, document: Mapping[str, Any], user_id: str, version: int) -> Record | None:
    if "w" not in document:
        return None
    stored_at = time_of(document["w"])
    derived = turn_of(message, user_id, stored_at)
    if derived is not None and version == 1 and "d" not in document:
        return derived
    changes = {_FIELDS[key]: value for key, value in document.get("d", {}).items()}
    if changes.get("metadata") == 1:
        changes["metadata"] = message.metadata
    fields = {name: _thaw(name, value) for name, value in changes.items()}
    if derived is None:
        return Record(id=f"turn:{message.id}", user_id=user_id, stored_at=stored_at, **{"version": version, **fields})
    return dataclasses.replace(derived, **{"version": version, **fields})


def _changes(record: Record, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that are not what is known, under their keys."""
    values = vars(record)
    return {key: _freeze(name, values[name]) for name, key in _KEYS.items() if values[name] != known[name]}


def _freeze(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _TIMES:
        return _instant(value)
    if name == "metadata":
        return dict(value)
    return value


def _thaw(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _TIMES:
        return time_of(value)
    return tuple(value) if name in _TUPLES else value


def _instant(value: datetime) -> int | list[int]:
    offset = value.utcoffset()
    if offset is None:
        raise InvalidInputError(f"{value.isoformat()} has no time zone; nothing was stored")
    return [micros(value), int(offset.total_seconds())] if offset else micros(value)


def time_of(value: int | list[int]) -> datetime:
    """Return the time of an instant as it is written."""
    if isinstance(value, list):
        return (_EPOCH + timedelta(microseconds=value[0])).astimezone(timezone(timedelta(seconds=value[1])))
    return _EPOCH + timedelta(microseconds=value)


def _refuse_nan(value: Any) -> None:
    """Raise for nan and infinities, which JSON would turn into null."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{value} cannot be kept as JSON; nothing was stored")
    elif isinstance(value, dict):
        for inner in value.values():
            _refuse_nan(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _refuse_nan(inner)
