"""The form to edit a memory, and what it changes. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, Final

from ...errors import InvalidInputError
from ...quality.page.html import attributes, tag, text
from ...records import KINDS, Record
from . import parts
from .view import View

_MINUTE: Final = "%Y-%m-%dT%H:%M"
"""A time as browsers write it, in UTC here: there is no zone in it."""


def form(view: View, record: Record, typed: Mapping[str, str] | None = None) -> str:
    """Return the form, which holds the memory as it is, or what has been ``typed`` over it and could not be saved."""
    words, shown = view.words, {**_shown(record), **(typed or {})}
    kinds = [(one, words.kinds[one]) for one in KINDS if one != "turn"]
    choice = tag("select", parts.options(kinds, shown["kind"]), id="kind", name_="kind")
    return view.form(
        "/inspector/record",
        f'<input type="hidden" name="version" value="{record.version}">',
        _area("text", words.text, words.edit_hint, shown["text"], required=True),
        "" if record.kind == "turn" else parts.field(words.kind, choice, of="kind"),
        _line("importance", words.importance, words.importance_hint, shown["importance"],
              type="number", min="0", max="1", step="any"),
        _line("expires_at", words.facts_of_it["expires"], words.expires_hint, shown["expires_at"],
              type="datetime-local", max="9999-12-31T23:59"),
        _area("metadata", words.facts_of_it["metadata"], words.metadata_hint, shown["metadata"], spellcheck="false"),
        tag("button", text(words.save)),
        id=record.id,
    )  # fmt: skip


def changes(before: Record, typed: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """Return what a form has otherwise than the memory.

    Raises ``InvalidInputError`` for what cannot be read, and for an end that is over.
    """
    shown = _shown(before)
    found = {name: read(typed[name]) for name, read in _READ.items() if name in typed and typed[name] != shown[name]}
    if found.get("expires_at") is not None and found["expires_at"] <= now:
        raise InvalidInputError("that end is over: nothing was changed; to be rid of a memory, forget it")
    return found


def number(value: float | None) -> str:
    """Return a number as the form has it."""
    return "" if value is None else f"{value:g}"


def _shown(record: Record) -> dict[str, str]:
    """Return the fields as the form has them."""
    end, about = record.expires_at, dict(record.metadata)
    return {
        "text": record.text.replace("\r\n", "\n"),
        "kind": record.kind,
        "importance": number(record.importance),
        "expires_at": "" if end is None else f"{end.astimezone(timezone.utc):{_MINUTE}}",
        "metadata": json.dumps(about, ensure_ascii=False, indent=2, default=str) if about else "",
    }


def _read_number(written: str) -> float | None:
    try:
        return float(written) if written.strip() else None
    except ValueError:
        raise InvalidInputError(f"{written[:50]!r} is not a number from 0 to 1: nothing was changed") from None


def _read_time(written: str) -> datetime | None:
    try:
        return datetime.fromisoformat(written.strip()).replace(tzinfo=timezone.utc) if written.strip() else None
    except ValueError:
        raise InvalidInputError(
            f"{written[:50]!r} is not a time such as 2026-05-08T09:30: nothing was changed"
        ) from None


def _read_metadata(written: str) -> dict[str, Any]:
    try:
        found = json.loads(written) if written.strip() else {}
    except (ValueError, RecursionError) as exc:
        raise InvalidInputError(f"the metadata is no JSON ({exc}): nothing was changed") from None
    if not isinstance(found, dict):
        raise InvalidInputError("the metadata must be a JSON object, {…}: nothing was changed")
    return found


_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "text": str,
    "kind": str,
    "importance": _read_number,
    "expires_at": _read_time,
    "metadata": _read_metadata,
}


def _area(name: str, label: str, hint: str, value: str, **more: str | bool) -> str:
    # a newline that follows the tag is no part of the text
    area = tag("textarea", "\n", text(value), id=name, name_=name, rows="4", dir="auto",
               aria_describedby=f"{name}-hint", **more)  # fmt: skip
    return parts.field(label, area, of=name, hint=hint)


def _line(name: str, label: str, hint: str, value: str, **more: str) -> str:
    control = attributes(id=name, name=name, value=value, aria_describedby=f"{name}-hint", **more)
    return parts.field(label, f"<input{control}>", of=name, hint=hint)
