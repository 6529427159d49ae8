"""Values as JSON and back: what the service and the command line write, and what a client of theirs reads.

``plain`` gives JSON values for any value of ``records`` and ``reports``; ``read`` makes the value again. Every field
has its own name; times are ISO 8601 with an offset; a number that is none (nan, infinity) is ``null``. Fields that a
reader does not know are passed over, and those that are absent have their default: the two sides may be of different
releases.

Errors travel as problem details (RFC 9457): ``problem`` and ``raised``.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Hashable, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from . import errors
from .errors import InvalidInputError, SiltstoneError
from .records import Context, Message, Record, to_datetime

T = TypeVar("T")

NDJSON: Final = "application/x-ndjson"
"""The media type of answers that are streams: a JSON value on each line."""
_HELD: Final[Mapping[type, Mapping[str, str]]] = {Context: {"memories": "_memories"}}
"""Private fields that travel, by the name that they have on the way."""


def plain(value: Any) -> Any:
    """Return JSON values for dataclasses (what is public of them), mappings, sequences and times."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {key: plain(getattr(value, name)) for key, name, _, _ in _fields(type(value))}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value


def read(kind: type[T], data: Any) -> T:
    """Return the value of a dataclass that ``plain`` made ``data`` of.

    Raises ``InvalidInputError`` that names the field where something is missing or of another type.
    """
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"{kind.__name__} is a JSON object, not {type(data).__name__}")
    found = {}
    for key, name, hint, is_needed in _fields(typing.cast("Hashable", kind)):
        if key in data:
            found[name] = _read(hint, data[key], f"{kind.__name__}.{key}")
        elif is_needed:
            raise InvalidInputError(f"{kind.__name__} lacks {key!r}")
    return kind(**found)


def read_item(data: Any) -> Record | Message:
    """Return the record or the message that ``plain`` made ``data`` of."""
    found: Record | Message = read(_fitting([Record, Message], data), data)
    return found


@functools.cache
def _fields(kind: Any) -> tuple[tuple[str, str, Any, bool], ...]:
    """Return key, name, type and whether there is no default, of each field that travels."""
    held = {name: key for key, name in _HELD.get(kind, {}).items()}
    hints = get_type_hints(kind)
    return tuple(
        (held.get(field.name, field.name), field.name, hints[field.name], _is_needed(field))
        for field in dataclasses.fields(kind)
        if field.name in held or not field.name.startswith("_")
    )


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _read(hint: Any, value: Any, what: str) -> Any:
    """Return the value of a field, whose name is ``what``."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        others = [one for one in inner if one is not type(None)]
        return None if value is None else _read(_fitting(others, value), value, what)
    if origin is tuple:
        return tuple(_read(inner[0], item, f"{what}[{n}]") for n, item in enumerate(_checked(value, list, what)))
    if origin is not None and issubclass(origin, Mapping):
        return {key: _read(inner[1], item, f"{what}.{key}") for key, item in _checked(value, dict, what).items()}
    if origin is typing.Literal:
        return value
    if dataclasses.is_dataclass(hint):
        return read(typing.cast(type, hint), value)
    if hint is datetime:
        return to_datetime(_checked(value, str, what), what)
    if hint is float:
        return math.nan if value is None else float(_checked(value, (int, float), what))
    return _checked(value, hint, what)


def _fitting(kinds: list[Any], value: Any) -> Any:
    """Return which of several types a value is of: the first whose needed fields it has."""
    for kind in kinds if isinstance(value, Mapping) else ():
        known: Any = kind
        if dataclasses.is_dataclass(kind) and all(key in value for key, _, _, needed in _fields(known) if needed):
            return kind
    return kinds[0]


def _checked(value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidInputError(f"{what} is of the wrong type: {type(value).__name__}")
    return value


# --- errors

PROBLEM: Final = "urn:siltstone:problem:"
"""What the ``type`` of a problem begins with; the name of the error follows, as in ``…:not-found``."""
NO_ROUTE: Final = "no-such-route"
"""What a service says that does not know a path: one of another release, to its client."""
_STATUS: Final[Mapping[type[SiltstoneError], tuple[str, int, str]]] = {
    InvalidInputError: ("invalid-input", 422, "The input is refused"),
    errors.NotFoundError: ("not-found", 404, "There is no such thing"),
    errors.ConflictError: ("conflict", 409, "What is stored is another version"),
    errors.ReadOnlyError: ("read-only", 403, "The memory cannot be written to"),
    errors.AccessDeniedError: ("access-denied", 403, "The token does not allow it"),
    errors.StoreLockedError: ("store-locked", 503, "Another writer holds the store"),
    errors.BackendUnavailableError: ("backend-unavailable", 503, "Something that is needed does not answer"),
    errors.ModelError: ("model-failed", 502, "A model failed"),
    errors.MissingDependencyError: ("missing-dependency", 501, "The server lacks a package"),
    errors.StoreCorruptedError: ("store-corrupted", 500, "The store is damaged"),
    errors.StoreVersionError: ("store-version", 500, "The store is of a newer format"),
    errors.EmbedderMismatchError: ("embedder-mismatch", 500, "The store was written with another embedder"),
    errors.DecryptionError: ("decryption", 500, "The store cannot be decrypted"),
    errors.ConfigurationError: ("configuration", 500, "The server is not set up for it"),
    SiltstoneError: ("error", 500, "Something went wrong"),
}


def problem(error: SiltstoneError) -> dict[str, Any]:
    """Return an error as problem details: ``type``, ``title``, ``status`` and ``detail``, its sentence."""
    kind = next(kind for kind in type(error).__mro__ if kind in _STATUS)
    name, status, title = _STATUS[kind]
    return {"type": PROBLEM + name, "title": title, "status": status, "detail": str(error)}


def raised(details: Mapping[str, Any], *, retry_after: float = 0.0) -> SiltstoneError:
    """Return the error that problem details tell of, to be raised; one that is not ours follows from its status.

    ``retry_after``: for how many seconds the server asked to be left alone.
    """
    sentence = str(details.get("detail") or details.get("title") or "the service gave no reason")
    name = str(details.get("type", "")).removeprefix(PROBLEM)
    status = details.get("status")
    kind = next((kind for kind, (own, _, _) in _STATUS.items() if own == name), None) or _by_status(status)
    error = kind(sentence)
    if isinstance(error, errors.BackendUnavailableError):
        error.retry_after = retry_after
    return error


def _by_status(status: Any) -> type[SiltstoneError]:
    if status in (401, 403):
        return errors.AccessDeniedError
    if status == 404:
        return errors.NotFoundError
    if status == 409:
        return errors.ConflictError
    if status in (400, 405, 406, 411, 413, 415, 422):
        return InvalidInputError
    return errors.BackendUnavailableError
