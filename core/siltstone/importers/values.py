"""What other programs write in many ways, read the same way everywhere: times, roles, texts in parts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Final

from ..errors import InvalidInputError
from ..records import to_datetime

EMPTY: Final = "it is empty"
NO_WORDS: Final = "it has no words: a picture, a recording, a file"
NOTICE: Final = "a notice of the program, which nobody said"
THOUGHTS: Final = "what the model thought, and did not say"

_ROLES: Final = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "chatbot": "assistant",
    "chatgpt": "assistant",
    "claude": "assistant",
    "gpt": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
}
_FRACTION: Final = re.compile(r"\.(\d+)")


def role_of(value: Any) -> str:
    """Return the role that a program's own word means. Raises ``InvalidInputError`` for a word that is not known."""
    role = _ROLES.get(value.strip().lower()) if isinstance(value, str) else None
    if role is None:
        raise InvalidInputError(f"nobody knows who {value!r} is: a role such as user or assistant is needed")
    return role


def time_of(value: Any) -> datetime | None:
    """Return a time from seconds or milliseconds since 1970, or from ISO 8601 (without zone: of this machine).

    ``None`` for anything else, and for 0, which programs write where they know none.
    """
    if isinstance(value, str):
        text = value.strip()
        try:
            number = float(text)
        except ValueError:
            return _iso(text)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
    else:
        return None
    while number >= 1e11:  # seconds until the year 5138; then milliseconds, microseconds
        number /= 1000
    try:
        return datetime.fromtimestamp(number, timezone.utc) if number else None
    except (ValueError, OverflowError, OSError):
        return None


def _iso(text: str) -> datetime | None:
    text = _FRACTION.sub(lambda match: "." + match[1][:6].ljust(6, "0"), text, count=1)
    if text[-1:] in ("z", "Z"):
        text = text[:-1] + "+00:00"
    try:
        value = datetime.fromisoformat(text.replace("/", "-"))
        return to_datetime(value if value.tzinfo is not None else value.astimezone())
    except (ValueError, InvalidInputError, OverflowError, OSError):
        return None


def joined(parts: Any, *, types: tuple[str, ...] = ("text",)) -> str:
    """Return the text of a content in parts: texts, and objects of a type whose ``text`` is one."""
    if isinstance(parts, str):
        return parts
    texts = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping) and part.get("type") in types:
            part = part.get("text")
        if isinstance(part, str) and part:
            texts.append(part)
    return "\n".join(texts)


def tool_calls(calls: Any) -> list[dict[str, Any]]:
    """Return calls to tools as messages of siltstone have them, from OpenAI's."""
    found = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            found.append({"id": call.get("id"), "name": function.get("name"), "args": _arguments(function)})
    return found


def _arguments(function: Mapping[str, Any]) -> Any:
    arguments = function.get("arguments")
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def an_id(*values: Any) -> str | None:
    """Return the first value that is an id of a program: a text, or a number."""
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return value
    return None


def a_dict(value: Any) -> Mapping[str, Any]:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def a_list(value: Any) -> list[Any]:
    """Return a list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def said(**metadata: Any) -> dict[str, Any] | None:
    """Return metadata of what is not ``None`` or empty; ``None`` where there is nothing."""
    return {key: value for key, value in metadata.items() if value not in (None, "", [], {})} or None
