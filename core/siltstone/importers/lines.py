"""siltstone's own exchange format: a user's memory as JSON Lines, one item a line, in UTF-8.

::

    {"format": "siltstone-export", "version": 1, "user_id": "alice", "embedder": "multilingual-e5-small",
     "messages": 1, "records": 1, "sessions": 1, "exported_at": "2026-05-08T09:30:00+00:00"}
    {"type": "message", "id": "m1", "session_id": "monday", "role": "user", "content": "I'm Alice.", …}
    {"type": "record", "id": "f1", "kind": "fact", "text": "Her name is Alice.", "source_ids": ["m1"], …}
    {"end": 2}

The first line is the header: who it was exported for, the embedder of their store, and counts (``records`` without
turns); it informs, and nothing is decided by it but the version. The last line counts the items: a file without it was
cut off. Between them stand the items in the order in which they were first written. Sessions have no lines of their
own, they are what their messages name. Keys that are absent have their default; times are ISO 8601 with an offset.
Vectors are not part of it, nor is what was forgotten.

``record``   every field of ``records.Record`` by its name, but for ``user_id``
``message``  ``id, session_id, role, content, name, created_at, metadata``; ``supplied_id``, the caller's own id,
             where it is not ``id`` (``null``: none was given). ``stored_at`` is its turn's. The turn follows from the
             message; ``turn`` holds the fields in which it differs, or ``null`` where there is none
``evicted``  in a record: which of its ``source_ids`` had made room for others, by ``Settings.capacity_records``, and
             which ones these had rested on: the record is what is left of them
``earlier``  in both: the versions before this one, the oldest first, each as its own line would have it, without
             ``type``, ``id``, ``evicted`` and ``earlier``
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from ..errors import InvalidInputError
from ..protocols import Stored
from ..records import KINDS, ROLES, TURN_PREFIX, Message, Record, is_reserved, to_datetime, turn_of
from ..text.guard import is_injected
from ..tiers.incoming import check_id, check_importance, check_metadata, check_text

FORMAT: Final = "siltstone-export"
VERSION: Final = 1

_ANY_LENGTH: Final = 1 << 62  # how long a text may be is the memory's own setting
_RECORD: Final = tuple(f for f in dataclasses.fields(Record) if f.name not in ("id", "user_id"))
_DEFAULTS: Final[dict[str, Any]] = {
    f.name: {} if f.name == "metadata" else None if f.default is dataclasses.MISSING else f.default for f in _RECORD
}


def dump(line: Mapping[str, Any]) -> bytes:
    """Return a line as it is written, its end included."""
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def to_line(versions: Sequence[Stored], evicted: Sequence[str] = ()) -> dict[str, Any]:
    """Return the line of an item; ``versions`` are all it has had, the oldest first; ``evicted`` as in the line."""
    *earlier, newest = versions
    line: dict[str, Any]
    if newest.message is not None:
        line = {"type": "message", "id": newest.message.id}
    else:
        assert newest.record is not None
        line = {"type": "record", "id": newest.record.id}
    line.update(_body(newest))
    if evicted:
        line["evicted"] = list(evicted)
    if earlier:
        line["earlier"] = [_body(version) for version in earlier]
    return line


def from_line(line: Any) -> tuple[Stored, ...]:
    """Return the versions of an item from its line, records with an empty ``user_id``.

    Raises ``InvalidInputError`` that names what is wrong.
    """
    if not isinstance(line, dict) or line.get("type") not in ("message", "record"):
        raise InvalidInputError('it is no object with the "type" "message" or "record"')
    body = {key: value for key, value in line.items() if key not in ("type", "id", "evicted", "earlier")}
    earlier = line.get("earlier", [])
    if not isinstance(earlier, list) or not all(isinstance(version, dict) for version in earlier):
        raise InvalidInputError('"earlier" is no list of versions')
    read = _read_message if line["type"] == "message" else _read_record
    id = _id(line.get("id"), "id")
    if is_reserved(id):
        raise InvalidInputError(f"its id {id!r} is of the kind that siltstone gives to its own records")
    return tuple(read(id, version, number) for number, version in enumerate([*earlier, body], 1))


def evicted_in(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of evicted sources that the line of an item names. Raises ``InvalidInputError``."""
    return _texts(line.get("evicted", []), "evicted")


# --- writing


def _body(item: Stored) -> dict[str, Any]:
    if item.message is None:
        assert item.record is not None
        return _changes(item.record, {**_DEFAULTS, "kind": None})
    message, record = item.message, item.record
    body: dict[str, Any] = {"session_id": message.session_id, "role": message.role, "content": message.content}
    if message.name is not None:
        body["name"] = message.name
    if message.created_at is not None:
        body["created_at"] = message.created_at.isoformat()
    if message.metadata != {}:
        body["metadata"] = message.metadata
    if item.supplied_id != message.id:
        body["supplied_id"] = item.supplied_id
    if record is None:
        return body if turn_of(message, "", _SOME_TIME) is None else {**body, "turn": None}
    body["stored_at"] = record.stored_at.isoformat()
    derived = turn_of(message, record.user_id, record.stored_at)
    changes = _changes(record, {**(_DEFAULTS if derived is None else vars(derived)), "stored_at": record.stored_at})
    return {**body, "turn": changes} if changes or derived is None else body


def _changes(record: Record, known: Mapping[str, Any]) -> dict[str, Any]:
    values = vars(record)
    return {f.name: _plain(values[f.name]) for f in _RECORD if values[f.name] != known[f.name]}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


# --- reading


def _read_record(id: str, body: Mapping[str, Any], version: int) -> Stored:
    fields = _checked(body, _CHECKS, _NULLABLE)
    for name in ("kind", "text", "created_at"):
        if name not in fields:
            raise InvalidInputError(f"a record needs {name!r}")
    if fields["kind"] == "turn":
        raise InvalidInputError('a turn is part of its message, and no "record" of its own')
    fields.setdefault("stored_at", fields["created_at"])
    record = Record(id=id, user_id="", **fields)
    _check_own(record.text)
    return Stored(version, record)


def _read_message(id: str, body: Mapping[str, Any], version: int) -> Stored:
    body = dict(body)
    no_turn, changes = "turn" in body and body["turn"] is None, body.pop("turn", None) or {}
    stored_at, supplied = body.pop("stored_at", None), body.pop("supplied_id", id)
    if not isinstance(changes, dict):
        raise InvalidInputError('"turn" is no object')
    for name in ("session_id", "role", "content", "created_at"):
        if name not in body:
            raise InvalidInputError(f"a message needs {name!r}")
    values = {"metadata": {}, **_checked(body, _MESSAGE, ("name", "metadata"))}
    message = Message(values.pop("role"), values.pop("content"), id=id, **values)
    _check_own(message.content)
    supplied = None if supplied is None else check_id(supplied, "supplied_id", _ANY_LENGTH)
    if no_turn:
        return Stored(version, None, message, supplied)
    written = message.created_at if stored_at is None else to_datetime(stored_at, "stored_at")
    assert written is not None
    record = turn_of(message, "", written)
    fields = _checked(changes, _CHECKS, _NULLABLE)
    if record is None and fields:
        record = Record(id=TURN_PREFIX + id, text=message.content, user_id="", created_at=written, stored_at=written)
    return Stored(version, None if record is None else dataclasses.replace(record, **fields), message, supplied)


def _checked(
    body: Mapping[str, Any], checks: Mapping[str, Callable[[Any, str], Any]], nullable: Collection[str]
) -> dict[str, Any]:
    for name in body:
        if name not in checks:
            raise InvalidInputError(f"it has the unknown field {name!r}")
    return {
        name: None if value is None and name in nullable else checks[name](value, name) for name, value in body.items()
    }


def _check_own(text: str) -> None:
    if is_injected(text):
        raise InvalidInputError("its text holds memories that siltstone had put into a prompt, not somebody's words")


def _text(value: Any, name: str) -> str:
    return check_text(value, name, _ANY_LENGTH, may_be_empty=True)


def _own_text(value: Any, name: str) -> str:
    return check_text(value, name, _ANY_LENGTH)


def _id(value: Any, name: str) -> str:
    return check_id(value, name, _ANY_LENGTH)


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} is no list of texts")
    return tuple(_id(each, name) for each in value)


def _count(least: int) -> Callable[[Any, str], int]:
    def check(value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInputError(f"{name} must be a whole number from {least}, not {value!r}")
        return value

    return check


def _one_of(known: Sequence[str]) -> Callable[[Any, str], str]:
    def check(value: Any, name: str) -> str:
        if value not in known:
            raise InvalidInputError(f"{name} {value!r} is none of {', '.join(known)}")
        return str(value)

    return check


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false, not {value!r}")
    return value


_CHECKS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "text": _own_text,
    "kind": _one_of(KINDS),
    "level": _count(0),
    "topic": _text,
    "session_id": _id,
    "role": _one_of(ROLES),
    "speaker": _text,
    "source_ids": _texts,
    "created_at": to_datetime,
    "stored_at": to_datetime,
    "updated_at": to_datetime,
    "occurred_at": to_datetime,
    "valid_from": to_datetime,
    "valid_until": to_datetime,
    "expires_at": to_datetime,
    "pinned": _flag,
    "importance": lambda value, _: check_importance(value),
    "support": _count(0),
    "version": _count(1),
    "superseded_by": _text,
    "flags": _texts,
    "made_by": _text,
    "metadata": lambda value, name: check_metadata(value, name),
}
_MESSAGE: Final = {
    "session_id": _id,
    "role": _CHECKS["role"],
    "content": _text,
    "name": _text,
    "created_at": to_datetime,
    "metadata": _CHECKS["metadata"],
}
_NULLABLE: Final = frozenset(f.name for f in _RECORD if f.default is None)
_SOME_TIME: Final = to_datetime("1970-01-01T00:00:00Z")
