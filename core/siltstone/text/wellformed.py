"""Text that can be stored: models and users sometimes produce what is none."""

from __future__ import annotations

from typing import Any


def well_formed(value: Any) -> Any:
    """Return a JSON value with every lone surrogate in its texts replaced by U+FFFD; other values are as they were."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {well_formed(key): well_formed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [well_formed(item) for item in value]
    return value
