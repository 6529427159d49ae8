"""What a JSON file looks like, from its beginning alone."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_TOKEN: Final = re.compile(r'\s*("[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|[^\s,:\[\]{}"]+)', re.S)
_DEEPEST: Final = 500
"""Brackets in brackets beyond which it is no export; each one costs the more, the more are open."""
_CLOSING: Final = {"[": "]", "{": "}"}


def peek(head: bytes) -> Any:
    """Return the first value of a JSON text of which only the beginning is there, as far as it goes; ``None`` if none.

    What was cut off is left out: a member without its whole value, an element that has only begun.
    """
    text = head.decode("utf-8-sig", "replace")
    open_: list[str] = []
    safe: tuple[int, list[str]] | None = None  # up to where it is whole, and what is open there
    at = 0
    while match := _TOKEN.match(text, at):
        token, at = match[1], match.end()
        if token in _CLOSING:
            if len(open_) == _DEEPEST:
                return None
            open_.append(token)
            safe = at, list(open_)
        elif token in ("]", "}"):
            if not open_ or _CLOSING[open_.pop()] != token:
                return None
            if not open_:
                return _value(text[:at])
            safe = at, list(open_)
        elif token == ",":
            safe = match.start(1), list(open_)
        elif not open_:
            return _value(text[:at])
    if safe is None:
        return None
    end, left = safe
    return _value(text[:end] + "".join(_CLOSING[bracket] for bracket in reversed(left)))


def first(value: Any) -> Any:
    """Return the first element of a list; any other value as it is."""
    return value[0] if isinstance(value, list) and value else value


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
