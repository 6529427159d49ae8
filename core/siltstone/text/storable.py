"""Any Python value as JSON that a store takes, and back: what providers and tools hand over may be no JSON. Pure."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable, Mapping
from datetime import date, time
from enum import Enum
from numbers import Integral, Real
from typing import Any, Final

from .guard import Recalled
from .wellformed import well_formed

_BYTES: Final = "siltstone:bytes"
_INT: Final = "siltstone:int"
_FLOAT: Final = "siltstone:float"
"""Single key of the object that stands for a value which JSON has not: base64, digits, ``nan`` or ``inf``."""

_READ: Final[dict[str, Callable[[str], Any]]] = {
    _BYTES: lambda held: base64.b64decode(held, validate=True),
    _INT: lambda held: int(held, 16),
    _FLOAT: float,
}

_INTEGERS: Final = range(-(2**63), 2**64)
_DEEPEST: Final = 100
"""Levels that are kept; what lies deeper, or holds itself, becomes text."""


def storable(value: Any, *, fallback: Callable[[Any], Any] = str) -> Any:
    """Return the value as JSON that a store takes.

    Bytes, ``nan``, infinities and integers over 64 bits become objects that ``restored`` turns back. Lone surrogates
    are replaced, tuples and sets become lists, dataclasses and models objects, keys texts; of anything else there is
    what ``fallback`` makes of it, which may raise. O(size).
    """
    return _storable(value, fallback, ())


def restored(value: Any) -> Any:
    """Return a copy of stored JSON with the values in it that JSON has not."""
    if isinstance(value, Mapping):
        if len(value) == 1:
            ((key, held),) = value.items()
            if key in _READ and isinstance(held, str):
                return _read(key, held, value)
        return {key: restored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [restored(item) for item in value]
    return value


def _storable(value: Any, fallback: Callable[[Any], Any], inside: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _storable(value.value, fallback, inside)
    if isinstance(value, str):
        return well_formed(value.fenced if isinstance(value, Recalled) else value)
    if isinstance(value, Real):
        return _number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {_BYTES: base64.b64encode(bytes(value)).decode()}
    if isinstance(value, date | time):
        return value.isoformat()
    items, fields = _items(value), _fields(value)
    if items is None and fields is None:
        return _storable(_said(value, fallback), str, inside)
    if id(value) in inside or len(inside) == _DEEPEST:
        return "…"
    inside = (*inside, id(value))
    if items is not None:
        return [_storable(item, fallback, inside) for item in items]
    assert fields is not None
    return {_key(key): _storable(item, fallback, inside) for key, item in fields.items()}


def _said(value: Any, fallback: Callable[[Any], Any]) -> Any:
    made = fallback(value)
    return made if made is None or isinstance(made, str | int | float | dict | list) else str(made)


def _number(value: Real) -> Any:
    if isinstance(value, Integral):
        number = int(value)
        return number if number in _INTEGERS else {_INT: hex(number)}  # digits are limited to some thousands
    real = float(value)
    return real if math.isfinite(real) else {_FLOAT: repr(real)}


def _items(value: Any) -> list[Any] | None:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else None


def _fields(value: Any) -> dict[Any, Any] | None:
    """Return what a mapping, a dataclass or a pydantic model holds; ``None`` for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    declared = getattr(type(value), "model_fields", None)
    if not isinstance(declared, Mapping):
        return None
    return {name: item for name, item in value if not getattr(declared.get(name), "exclude", False)}


def _key(key: Any) -> str:
    if isinstance(key, bytes):
        return key.decode("utf-8", "replace")
    return str(well_formed(key if isinstance(key, str) else str(key)))


def _read(key: str, held: str, as_stored: Mapping[str, Any]) -> Any:
    try:
        return _READ[key](held)
    except ValueError:  # somebody's own object of that name
        return dict(as_stored)
