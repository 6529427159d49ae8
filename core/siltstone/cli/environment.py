"""Settings of this run: from ``--set``, else from ``SILTSTONE_…`` variables, else from the file, else their defaults.

A variable is ``SILTSTONE_`` and a setting's name, as in ``SILTSTONE_REQUESTS_PER_DAY=500``.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from ..errors import ConfigurationError
from ..settings import Headings, Settings
from .configfile import PREFIX, Given, given, unknown

DEFAULT: Final = "default"
_SWITCHES: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


@dataclass(frozen=True)
class Chosen:
    """A value, and where it came from: a flag, a variable, a file, or ``default``."""

    value: Any
    source: str


def settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of this run; what is named nowhere has its default.

    ``SILTSTONE_SENSITIVE`` is names and patterns with commas between, or a JSON list of them. Raises
    ``ConfigurationError`` for a value that cannot be read.
    """
    return Settings(**{name: one.value for name, one in chosen(environment).items() if one.source != DEFAULT})


def chosen(environment: Mapping[str, str] | None = None, also: Given | None = None) -> dict[str, Chosen]:
    """Return each setting, and where it came from."""
    variables = os.environ if environment is None else environment
    also = given() if also is None else also
    found = {}
    for setting, kind in get_type_hints(Settings).items():
        name = PREFIX + setting.upper()
        if setting in also.flags:
            one = Chosen(_from_text(setting, kind, also.flags[setting], f"--set {setting}"), "--set")
        elif variables.get(name, "").strip() and _reader(setting, kind) is not None:
            one = Chosen(_from_text(setting, kind, variables[name].strip(), name), name)
        elif setting in also.values:
            one = Chosen(_from_file(setting, kind, also.values[setting], f"{also.path}: {setting}"), str(also.path))
        else:
            one = Chosen(_DEFAULTS[setting], DEFAULT)
        found[setting] = one
    return found


_DEFAULTS: Final = {one.name: one.default for one in dataclasses.fields(Settings)}


def _from_text(setting: str, kind: Any, text: str, name: str) -> Any:
    read = _reader(setting, kind)
    assert read is not None
    try:
        return read(text)
    except (ValueError, KeyError) as exc:
        raise ConfigurationError(f"{name}={text!r} cannot be read; nothing was opened") from exc


def _from_file(setting: str, kind: Any, value: Any, name: str) -> Any:
    """Return a value of a file, if it is of the setting's type."""
    if setting == "headings":
        return _headings(value, name)
    if setting == "sensitive":
        fits, wanted = isinstance(value, list) and all(isinstance(rule, str) for rule in value), "a list of texts"
    else:
        expected = _type(kind)
        accepted = (int, float) if expected is float else expected
        fits = isinstance(value, accepted) and isinstance(value, bool) == (expected is bool)
        wanted = _WANTED[expected]
    if not fits:
        raise ConfigurationError(f"{name} is {wanted}, not {value!r}; nothing was opened")
    return value


def _headings(value: Any, name: str) -> Headings:
    known = get_type_hints(Headings)
    if not isinstance(value, dict):
        raise ConfigurationError(f"{name} is a table, not {value!r}; nothing was opened")
    for word in value:
        if word not in known:
            raise ConfigurationError(f"{name}: {unknown(word, known)}; nothing was opened")
    if missing := known.keys() - value.keys() - {"chinese"}:
        raise ConfigurationError(f"{name} lacks {', '.join(sorted(missing))}; nothing was opened")
    return Headings(**value)


def _reader(setting: str, kind: Any) -> Callable[[str], Any] | None:
    """Return what reads a setting from text, if anything does."""
    return _listed if setting == "sensitive" else _READERS.get(_type(kind))


def _type(kind: Any) -> Any:
    """Return the type of a setting; of an optional one, what it is where it is set."""
    (first, *_) = get_args(kind) or (kind,)
    return str if get_origin(kind) is Literal else first


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
_WANTED: Final[dict[Any, str]] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
