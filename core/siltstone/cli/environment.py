"""Settings from the environment: ``SILTSTONE_`` and a setting's name, as in ``SILTSTONE_REQUESTS_PER_DAY=500``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from ..errors import ConfigurationError
from ..settings import Settings

PREFIX: Final = "SILTSTONE_"
_SWITCHES: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings that the environment asks for; what it does not name has its default.

    ``SILTSTONE_SENSITIVE`` is names and patterns with commas between, or a JSON list of them. Raises
    ``ConfigurationError`` for a value that cannot be read.
    """
    found: dict[str, Any] = {}
    for setting, kind in get_type_hints(Settings).items():
        name = PREFIX + setting.upper()
        value = (os.environ if environment is None else environment).get(name, "").strip()
        read = _listed if setting == "sensitive" else _reader(kind)
        if value and read is not None:
            try:
                found[setting] = read(value)
            except (ValueError, KeyError) as exc:
                raise ConfigurationError(f"{name}={value!r} cannot be read; nothing was opened") from exc
    return Settings(**found)


def _reader(kind: Any) -> Callable[[str], Any] | None:
    """Return what reads a setting of this type from text, if anything does."""
    (first, *_) = get_args(kind) or (kind,)  # of an optional one, what it is where it is set
    return _READERS.get(str if get_origin(kind) is Literal else first)


def _listed(value: str) -> list[str]:
    rules = json.loads(value) if value.startswith("[") else value.split(",")
    if not all(isinstance(rule, str) for rule in rules):
        raise ValueError(value)
    return [rule.strip() for rule in rules]


_READERS: Final[dict[Any, Callable[[str], Any]]] = {
    int: int,
    float: float,
    bool: lambda value: _SWITCHES[value.lower()],
    str: str,
}
