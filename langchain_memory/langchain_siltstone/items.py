"""LangGraph store items as siltstone records, and the tests that a store's operations make. Pure."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

from langgraph.store.base import InvalidNamespaceError, Item, MatchCondition, PutOp, SearchItem, get_text_at_path

from siltstone import Record
from siltstone.text.guard import own_words
from siltstone.text.storable import restored, storable
from siltstone.text.wellformed import well_formed

Namespace: TypeAlias = tuple[str, ...]
Index: TypeAlias = Literal[False] | list[str] | None
"""Which fields of an item are found by a search: none, these paths, or the store's default."""

_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def item_id(namespace: Namespace, key: str) -> str:
    """Return the id of the record that holds an item: a hash of its address, whatever its labels are made of."""
    address = json.dumps(well_formed([list(namespace), key]), ensure_ascii=True)
    return "item:" + hashlib.sha256(address.encode()).hexdigest()[:32]


def prepared(op: PutOp, now: datetime) -> PutOp:
    """Return the write with address, value and time to live as they can be stored, without what siltstone injected.

    Bytes, ``nan`` and integers of any size come back as they are. Raises ``TypeError`` for what is no data.
    """
    value = None if op.value is None else own_words(storable(op.value, fallback=_no_data))
    ttl = None if expiry(now, op.ttl) is None else op.ttl
    return op._replace(namespace=tuple(map(well_formed, op.namespace)), key=well_formed(op.key), value=value, ttl=ttl)


def expiry(now: datetime, minutes: float | None) -> datetime | None:
    """Return when an item expires that lives so many minutes; ``None`` for never, and for beyond all dates."""
    try:
        return None if minutes is None else now + timedelta(minutes=minutes)
    except OverflowError:
        return None


def item_metadata(op: PutOp, created_at: datetime, updated_at: datetime, indexed: bool) -> dict[str, Any]:
    """Return the metadata of the record that holds an item. Its own dates: reading, which renews it, changes none."""
    return {
        "namespace": list(op.namespace),
        "key": op.key,
        "value": op.value,
        "created_at": created_at.isoformat(),
        "updated_at": updated_at.isoformat(),
        "ttl": op.ttl,
        **in_namespace(op.namespace),
        "indexed": indexed,
    }


def in_namespace(prefix: Namespace) -> dict[str, Any]:
    """Return the metadata that all items under a prefix have: stores compare metadata for equality only."""
    return {f"namespace[{depth}]": well_formed(label) for depth, label in enumerate(prefix)}


def item_text(op: PutOp, fields: Sequence[str]) -> str:
    """Return the text by which an item is found, or ``""`` where it is not to be found."""
    if op.index is False or op.value is None:
        return ""
    if op.index is None and list(fields) == ["$"]:
        return "\n".join(_leaves(op.value))
    paths = fields if op.index is None else op.index
    return "\n".join(text for path in paths for text in get_text_at_path(op.value, path))


def is_item(record: Record) -> bool:
    """Return whether the record was written by a store: an application may keep records of this kind of its own."""
    return {"namespace", "key", "value", "created_at", "updated_at", "ttl"} <= record.metadata.keys()


def to_item(record: Record) -> Item:
    """Return the item that a record holds."""
    return Item(**_item_fields(record))


def to_search_item(record: Record, score: float | None = None) -> SearchItem:
    """Return the item that a record holds, as a search result."""
    return SearchItem(**_item_fields(record), score=score)


def namespace_of(record: Record) -> Namespace:
    """Return the namespace of the item that a record holds."""
    return tuple(record.metadata["namespace"])


def value_of(record: Record) -> dict[str, Any]:
    """Return a copy of the value of the item that a record holds."""
    value: dict[str, Any] = restored(record.metadata["value"])
    return value


def check_namespace(namespace: Namespace, *, may_be_empty: bool = False) -> Namespace:
    """Return a namespace that can hold items: one or more labels of any characters.

    Raises ``InvalidNamespaceError`` for none, for empty labels and other values, and for LangGraph's own root.
    """
    if not namespace and not may_be_empty:
        raise InvalidNamespaceError("the namespace is empty; pass at least one label")
    for label in namespace:
        if not isinstance(label, str) or not label:
            raise InvalidNamespaceError(f"{label!r} in the namespace {namespace!r} is no label: a non-empty string is")
    if namespace and namespace[0] == "langgraph":
        raise InvalidNamespaceError(f"the root 'langgraph' of {namespace!r} is reserved by LangGraph")
    return tuple(namespace)


def matches(value: Any, conditions: Mapping[str, Any] | None) -> bool:
    """Return whether an item's value meets a search's filter; a value that is no mapping has no fields."""
    fields = value if isinstance(value, Mapping) else {}
    return all(_meets(fields.get(key), wanted) for key, wanted in (conditions or {}).items())


def in_path(namespace: Namespace, condition: MatchCondition) -> bool:
    """Return whether a namespace begins (or ends) with a path, in which ``*`` stands for any label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def _item_fields(record: Record) -> dict[str, Any]:
    held = record.metadata
    return {
        "namespace": namespace_of(record),
        "key": held["key"],
        "value": value_of(record),
        "created_at": datetime.fromisoformat(held["created_at"]),
        "updated_at": datetime.fromisoformat(held["updated_at"]),
    }


def _no_data(value: Any) -> Any:
    raise TypeError(f"an item's value must be JSON; it holds {value!r}, a {type(value).__name__}: nothing was stored")


def _leaves(value: Any, path: str = "") -> Iterator[str]:
    """Yield what a value says, a line per leaf, each with its path where there are several fields."""
    if isinstance(value, Mapping):
        named = len(value) > 1 or bool(path)
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}".lstrip(".") if named else "")
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, path)
    elif value is not None and str(value).strip():
        yield f"{path}: {value}" if path else str(value)


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_compare(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, Mapping) and all(_meets(value.get(key), item) for key, item in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same and all(_meets(item, other) for item, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compare(value: Any, name: str, operand: Any) -> bool:
    if name not in _OPERATORS:
        raise ValueError(f"the filter has the unknown operator {name!r}; one of {', '.join(_OPERATORS)} is needed")
    try:
        return bool(_OPERATORS[name](value, operand))
    except TypeError:  # a number beside a text, or nothing: not comparable, so not a match
        return False
