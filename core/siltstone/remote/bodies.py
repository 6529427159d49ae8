"""What a service is sent, as JSON has it: checked here, so that what is refused is refused before it is sent. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors import InvalidInputError
from ..memory import Time
from ..records import Message, to_datetime
from ..tiers.incoming import MessageLike, check_metadata, message_fields


def said(messages: Sequence[MessageLike]) -> list[dict[str, Any]]:
    """Return the fields of messages in order. Raises ``InvalidInputError`` for a single one, or what is none."""
    if isinstance(messages, (Message, Mapping, str, bytes)):
        raise InvalidInputError(f"messages must be a list, not a single {type(messages).__name__}: nothing was stored")
    return [_fields(message_fields(item, n), n) for n, item in enumerate(messages)]


def conditions(
    kinds: Sequence[str] | str | None,
    since: Time | None,
    until: Time | None,
    session_id: str | None,
    about: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return what records are chosen by, without what is ``None``; ``about`` is their metadata, none if empty."""
    found = {
        "kinds": [kinds] if isinstance(kinds, str) else None if kinds is None else list(kinds),
        "since": time(since, "since"),
        "until": time(until, "until"),
        "session_id": session_id,
        "metadata": metadata(about, "the condition") or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def time(value: Time | None, what: str) -> str | None:
    """Return a time as ISO 8601. Raises ``InvalidInputError``, which says ``what`` it is, for what is none."""
    made: datetime | None = None if value is None else to_datetime(value, what)
    return None if made is None else made.isoformat()


def metadata(given: Mapping[str, Any] | None, of: str) -> dict[str, Any] | None:
    """Return metadata that can be sent, ``{}`` as it is. Raises ``InvalidInputError``, which says ``of`` what."""
    return None if given is None else check_metadata(given, of)


def _fields(fields: dict[str, Any], n: int) -> dict[str, Any]:
    return {
        **fields,
        "created_at": time(fields["created_at"], "created_at"),
        "metadata": metadata(fields["metadata"], f"message {n}"),
    }
