"""What the caller brings, turned into valid values or refused. Pure; nothing here touches a store."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import orjson

from ..errors import InvalidInputError
from ..records import JOB_PREFIX, KINDS, ROLES, TURN_PREFIX, Message, is_reserved, to_datetime
from ..text.guard import is_injected, own_words, without_injected

MessageLike: TypeAlias = Message | tuple[str, str] | Mapping[str, Any]
"""What ``add`` takes for one message."""

_FENCED = b"siltstone_memory"  # looked for first: most metadata hold nothing of ours
_FIELDS = ("role", "content", "name", "created_at", "id", "metadata")


def read_messages(
    items: Sequence[MessageLike], *, session_id: str, created_at: datetime, max_chars: int
) -> list[Message]:
    """Return valid messages of one session; those without a time of their own get ``created_at``.

    Text that siltstone injected is taken out, so that it never becomes a memory. Raises ``InvalidInputError``.
    """
    check_id(session_id, "session_id")
    if isinstance(items, (Message, Mapping, str, bytes)) or not isinstance(items, Iterable):
        raise InvalidInputError(
            "messages must be a list of Message, (role, content) or {'role', 'content'}, "
            f"not a single {type(items).__name__}: nothing was stored"
        )
    return [_message(item, session_id, created_at, max_chars, n) for n, item in enumerate(items)]


def _message(item: MessageLike, session_id: str, created_at: datetime, max_chars: int, n: int) -> Message:
    role, content, name, time, id, metadata = _parts(item, n)
    where = f"message {n}"
    if role not in ROLES:
        raise InvalidInputError(f"{where} has the unknown role {role!r}; one of {', '.join(ROLES)} is needed")
    content = check_text(content, f"{where}'s content", max_chars, may_be_empty=bool(metadata))
    if name is not None:
        check_text(name, f"{where}'s name", 1_000)
    if id is not None:
        check_record_id(id, f"{where}'s id")
    metadata = check_metadata(metadata, where)
    if is_injected(content):
        content = without_injected(content).strip()
        metadata = {**metadata, "injected": True} if not content else metadata
    time = created_at if time is None else to_datetime(time, f"{where}'s created_at")
    return Message(role, content, name=name, created_at=time, id=id, metadata=metadata, session_id=session_id)


def _parts(item: MessageLike, n: int) -> tuple[Any, Any, Any, Any, Any, Any]:
    if isinstance(item, Message):
        return item.role, item.content, item.name, item.created_at, item.id, item.metadata
    if isinstance(item, Mapping):
        unknown = [key for key in item if key not in _FIELDS]
        if unknown or "role" not in item or "content" not in item:
            what = f"has the unknown field {unknown[0]!r}" if unknown else "lacks 'role' or 'content'"
            raise InvalidInputError(f"message {n} {what}; its fields are {', '.join(_FIELDS)}")
        return tuple(item.get(key) for key in _FIELDS)  # type: ignore[return-value]
    if isinstance(item, tuple) and len(item) == 2:
        return item[0], item[1], None, None, None, None
    raise InvalidInputError(
        f"message {n} is a {type(item).__name__}: Message, (role, content) or {{'role', 'content'}} is needed"
    )


def message_fields(item: MessageLike, n: int = 0) -> dict[str, Any]:
    """Return role, content, name, created_at, id and metadata of a message as it was brought; it is the ``n``-th."""
    return dict(zip(_FIELDS, _parts(item, n), strict=True))


def check_text(text: Any, what: str, max_chars: int, *, may_be_empty: bool = False) -> str:
    """Return the text, or raise ``InvalidInputError`` for what cannot be stored as it is."""
    if not isinstance(text, str):
        raise InvalidInputError(f"{what} must be a string, not {type(text).__name__}")
    if not may_be_empty and not text.strip():
        raise InvalidInputError(f"{what} is empty")
    if len(text) > max_chars:
        raise InvalidInputError(
            f"{what} has {len(text):,} characters, over the limit of {max_chars:,}; "
            "split it, or raise Settings.max_message_chars"
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidInputError(
            f"{what} holds a lone surrogate at position {exc.start}, which is no text; "
            "decode the source with errors='replace'"
        ) from exc
    return text


def check_id(value: Any, what: str, max_chars: int = 1_000) -> str:
    """Return an id (any non-empty text of at most ``max_chars``), or raise ``InvalidInputError``."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{what} must be a non-empty string, not {value!r}")
    return check_text(value, what, max_chars)


def check_own_text(text: Any, max_chars: int) -> str:
    """Return the text of a record without what siltstone injected, or raise ``InvalidInputError``."""
    own = check_text(text, "text", max_chars)
    if is_injected(own):
        own = without_injected(own).strip()
        if not own:
            raise InvalidInputError("text is only what siltstone injected before; that is not stored back")
    return own


def check_record_id(value: Any, what: str = "id") -> str:
    """Return an id that a caller may give to what they store, or raise ``InvalidInputError``."""
    if is_reserved(check_id(value, what)):
        raise InvalidInputError(
            f"{what} may not begin with {TURN_PREFIX!r} or {JOB_PREFIX!r}, which mark siltstone's own records: "
            f"nothing was stored; choose another id than {value!r}"
        )
    return str(value)


def check_kind(kind: Any) -> str:
    """Return the kind of a record that a caller may write: any but ``turn``, which ``add`` makes."""
    if kind not in KINDS or kind == "turn":
        allowed = ", ".join(k for k in KINDS if k != "turn")
        raise InvalidInputError(f"kind {kind!r} is not one of {allowed}; turns are written by add()")
    return str(kind)


def check_kinds(kinds: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return kinds to filter by, from one or several."""
    if kinds is None:
        return None
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInputError(f"kind {kind!r} is not one of {', '.join(KINDS)}")
    return kinds


def check_metadata(metadata: Any, what: str) -> dict[str, Any]:
    """Return a private copy of JSON metadata without what siltstone injected, or raise ``InvalidInputError``."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise InvalidInputError(f"{what}'s metadata must map strings to JSON values: nothing was stored")
    try:
        written = orjson.dumps(dict(metadata))
        copy: dict[str, Any] = orjson.loads(written)
    except TypeError as exc:  # orjson's errors are TypeErrors
        raise InvalidInputError(f"{what}'s metadata is not JSON ({exc}): nothing was stored") from exc
    if not _is_finite(metadata):
        raise InvalidInputError(f"{what}'s metadata holds nan or infinity, which JSON has not: nothing was stored")
    return own_words(copy) if _FENCED in written.lower() else copy


def _is_finite(value: Any) -> bool:
    """Return whether no number in what was taken for JSON would turn into null."""
    if isinstance(value, float):
        return math.isfinite(value)
    if dataclasses.is_dataclass(value):
        return all(_is_finite(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, (list, tuple)) or all(map(_is_finite, value))


def check_importance(importance: float | None) -> float | None:
    """Return an importance between 0 and 1, or ``None``."""
    if importance is None:
        return None
    if isinstance(importance, bool) or not isinstance(importance, (int, float)) or not 0 <= importance <= 1:
        raise InvalidInputError(f"importance must be a number between 0 and 1, not {importance!r}")
    return float(importance)


def expiry(now: datetime, expires_at: datetime | str | None, ttl: timedelta | float | None) -> datetime | None:
    """Return when a record expires, from a time or from a time to live (seconds or ``timedelta``)."""
    if ttl is None:
        return None if expires_at is None else to_datetime(expires_at, "expires_at")
    if expires_at is not None:
        raise InvalidInputError("pass expires_at or ttl, not both")
    try:
        span = ttl if isinstance(ttl, timedelta) else timedelta(seconds=ttl)
        end = now + span
    except (TypeError, ValueError, OverflowError) as exc:
        raise InvalidInputError(f"ttl {ttl!r} is no time to live: pass seconds or a timedelta") from exc
    if span <= timedelta(0):
        raise InvalidInputError(f"ttl must be positive, not {ttl!r}")
    return end
