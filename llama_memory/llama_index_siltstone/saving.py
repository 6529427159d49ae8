"""What a saved memory holds of how its store was opened: plain JSON and no secret. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from siltstone.settings import Headings, Settings
from siltstone.text.addresses import without_secrets
from siltstone.text.storable import restored, storable

_NEVER: Final = ("key", "token")
"""Options that are secrets; whoever restores the memory gives them anew, or the environment does."""

_SQLITE: Final = "sqlite:///"


def saved_location(location: str) -> str:
    """Return where a store is for a process that runs in another folder, without passwords and other secrets."""
    if location == ":memory:":
        return location
    if location.lower().startswith(_SQLITE):
        return _SQLITE + _absolute(location[len(_SQLITE) :])
    return without_secrets(location) if "://" in location else _absolute(location)


def saved_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return options of ``TieredMemory.open`` as JSON, and the names of those that cannot be saved.

    These are objects, settings with a callable in them, and addresses that hold a secret.
    """
    saved: dict[str, Any] = {}
    left_out = []
    for name, value in given.items():
        if name not in _NEVER and value is not None:
            try:
                saved[name] = _saved(value)
            except TypeError:
                left_out.append(name)
    return saved, left_out


def opened_options(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return saved options as ``TieredMemory.open`` takes them."""
    options = dict(saved)
    if "settings" in options:
        options["settings"] = _opened_settings(restored(options["settings"]))
    return options


def _saved(value: Any) -> Any:
    if isinstance(value, Settings):
        changed = {one.name: getattr(value, one.name) for one in fields(Settings)}
        usual = Settings()
        return {name: _setting(of) for name, of in changed.items() if of != getattr(usual, name)}
    if not isinstance(value, str | int | float | bool):
        raise TypeError("an object")
    return _setting(value)


def _setting(value: Any) -> Any:
    if isinstance(value, str) and without_secrets(value) != value:
        raise TypeError("a secret")
    if isinstance(value, re.Pattern):
        return {"pattern": value.pattern, "flags": value.flags}
    if isinstance(value, Headings):
        return asdict(value)
    if isinstance(value, list | tuple):
        return [_setting(item) for item in value]
    if not isinstance(value, str | int | float | bool | None):
        raise TypeError("an object")
    return storable(value)


def _opened_settings(saved: Mapping[str, Any]) -> Settings:
    values = dict(saved)
    if "sensitive" in values:
        values["sensitive"] = [
            re.compile(rule["pattern"], rule["flags"]) if isinstance(rule, Mapping) else rule
            for rule in values["sensitive"]
        ]
    if "headings" in values:
        values["headings"] = Headings(**values["headings"])
    return Settings(**values)


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))
