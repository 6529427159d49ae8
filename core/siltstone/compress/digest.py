"""The form of a digest: its JSON schema, and how a model's answer becomes a ``Digest``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Final

from ..errors import ModelError
from ..records import Digest, DigestItem, unique
from .lenient import Found, find_values

LISTS: Final = ("facts", "preferences", "events")

_STRING: Final = {"type": "string"}
_SOURCES: Final = {"type": "array", "items": _STRING}


def _items(*more: str) -> dict[str, Any]:
    properties = {"text": _STRING, "sources": _SOURCES, **dict.fromkeys(more, _STRING)}
    return {
        "type": "array",
        "items": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    }


SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "topic": _STRING,
        "summary": _STRING,
        "facts": _items(),
        "preferences": _items(),
        "events": _items("date"),
    },
    "required": ["topic", "summary", *LISTS],
    "additionalProperties": False,
}
"""JSON schema of a digest as a model is to write it: ``sources`` are labels of messages, ``date`` is an ISO day."""

SUMMARY_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"topic": _STRING, "summary": _STRING},
    "required": ["topic", "summary"],
    "additionalProperties": False,
}
"""JSON schema of a summary of summaries."""

# Names that models put in the place of ours, most often after having been asked in another language.
_NAMES: Final = {
    "topic": ("topic", "title", "subject", "主题", "话题", "标题"),
    "summary": ("summary", "abstract", "overview", "摘要", "总结", "概要"),
    "facts": ("facts", "fact", "事实"),
    "preferences": ("preferences", "preference", "偏好", "喜好"),
    "events": ("events", "event", "事件", "计划"),
}
_TEXT: Final = ("text", "content", "fact", "preference", "event", "description", "value", "statement", "内容", "文本")
_SOURCE: Final = ("sources", "source", "source_ids", "source_id", "messages", "message_ids", "ids", "id", "来源")
_DATE: Final = ("date", "occurred_at", "when", "time", "day", "日期", "时间")


class DigestError(ModelError):
    """A model's answer is no digest. ``raw`` holds the answer as it came, for the dead-letter list."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


def parse_digest(answer: str, *, made_by: str = "") -> Digest:
    """Return the digest that an answer holds, tolerant of its form and strict about its content.

    The items' ``source_ids`` are the labels that the model gave, as it wrote them. ``flags`` says what is amiss:
    ``truncated`` (the answer broke off), ``incomplete`` (fields were missing). Raises ``DigestError`` for an answer
    with neither summary nor items.
    """
    best = max(
        (found for found in find_values(answer)),
        key=lambda found: _worth(found.value),
        default=None,
    )
    if best is None:
        raise DigestError("the answer holds no JSON object", answer)
    body = _unwrap(best.value)
    if _worth(body) == 0:
        raise DigestError(
            "the JSON object is empty" if body in ({}, []) else "the JSON object has none of the fields asked for",
            answer,
        )
    return _validate(body, best, made_by, answer)


def parse_summary(answer: str) -> str:
    """Return the summary that an answer to ``SUMMARY_SCHEMA`` holds. Raises ``DigestError``."""
    for found in find_values(answer):
        body = _unwrap(found.value)
        summary = _field(body, _NAMES["summary"]) if isinstance(body, dict) else None
        if isinstance(summary, str) and summary.strip():
            return summary.strip()
    raise DigestError("the answer holds no summary", answer)


def _validate(body: Any, found: Found, made_by: str, answer: str) -> Digest:
    if isinstance(body, list):
        body = {"facts": body}
    fields = {name: _field(body, names) for name, names in _NAMES.items()}
    topic, summary = (_text(fields[name]) for name in ("topic", "summary"))
    facts, preferences, events = (_read_items(fields[name]) for name in LISTS)
    if not (summary or facts or preferences or events):
        raise DigestError("the JSON object has no summary and no items with a text", answer)
    missing = not topic or not summary or any(fields[name] is None for name in LISTS)
    return Digest(
        topic=topic,
        summary=summary,
        facts=facts,
        preferences=preferences,
        events=events,
        made_by=made_by,
        flags=("truncated",) * found.cut + ("incomplete",) * missing,
    )


def _worth(value: Any) -> int:
    """How many of a digest's fields a value has: what tells the answer from braces in the prose."""
    body = _unwrap(value)
    if isinstance(body, list):
        return int(any(_read_items([item]) for item in body))
    if isinstance(body, dict):
        return sum(2 for names in _NAMES.values() if _field(body, names) not in (None, "", []))
    return 0


def _unwrap(value: Any) -> Any:
    """Return what a value holds inside wrappers such as ``{"digest": {…}}`` or ``[{…}]``."""
    for _ in range(3):
        inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
        if isinstance(value, list) and len(value) == 1:
            inner = value[0]
        if not isinstance(inner, dict) or not any(_field(inner, names) for names in _NAMES.values()):
            return value
        value = inner
    return value


def _field(body: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    lowered = {key.strip().lower(): value for key, value in body.items()}
    return next((lowered[name] for name in names if lowered.get(name) is not None), None)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _read_items(value: Any) -> tuple[DigestItem, ...]:
    entries = value if isinstance(value, list) else [] if value is None else [value]
    items = (_read_item(entry) for entry in entries)
    return tuple(item for item in items if item is not None)


def _read_item(entry: Any) -> DigestItem | None:
    if isinstance(entry, str):
        return DigestItem(entry.strip()) if entry.strip() else None
    if not isinstance(entry, dict):
        return None
    text = _text(_field(entry, _TEXT))
    if not text:
        return None
    return DigestItem(text, source_ids=_labels(_field(entry, _SOURCE)), occurred_at=_day(_field(entry, _DATE)))


def _labels(value: Any) -> tuple[str, ...]:
    """Return message labels from ``["m1", "m2"]``, ``"m1, m2"``, ``"[m3]"``, ``3`` and their like."""
    entries = value if isinstance(value, list) else [value]
    return unique(f"m{number}" for entry in entries for number in re.findall(r"\d+", str(entry)))


def _day(value: Any) -> datetime | None:
    """Return the day that a date field names, at midnight UTC: what a model writes has no zone of its own."""
    numbers = (
        re.match(r"\s*(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})", value) if isinstance(value, str) else None
    )
    if numbers is None:
        return None
    year, month, day = (int(number) for number in numbers.groups())
    try:
        return datetime(year, month, day, tzinfo=timezone.utc)
    except ValueError:
        return None
