"""Any LlamaIndex vector store as an engine, recognised by its methods and never imported.

The text of a user's record stays out of it. A node's text is its vector as float16, in base64: so every engine gives
vectors back, by id and with the hits, and what is compared is what we sent, whatever its metric, its score or its
compression. Users are told apart by a hash, so that no user's id has to be quoted in anybody's filter language.
"""

from __future__ import annotations

import base64
import inspect
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...errors import ConfigurationError
from ...protocols import Floats
from .engine import Held

_USER: Final = "siltstone_user"
_RECORD: Final = "siltstone_record"
_SENT: Final = "siltstone_sent"
_AT_ONCE: Final = 500
"""Ids in one request: engines turn them into an expression, and limit its length."""
_NEEDED: Final = {"delete_nodes": "delete vectors by id", "get_nodes": "give vectors back by id"}
_METHODS: Final = ("add", "delete", "query", "async_add", "aquery")


def is_vector_store(thing: Any) -> bool:
    """Return whether an object is like a LlamaIndex ``BasePydanticVectorStore``."""
    return not isinstance(thing, type) and all(callable(getattr(thing, name, None)) for name in _METHODS)


class LlamaIndexEngine:
    """A ``VectorEngine`` over a LlamaIndex vector store."""

    def __init__(self, store: Any) -> None:
        """Raises ``ConfigurationError`` where LlamaIndex's own classes are not loaded."""
        self._store = store
        self.name: str = type(store).__name__
        self._schema = sys.modules.get("llama_index.core.schema")
        self._types = sys.modules.get("llama_index.core.vector_stores.types")
        if self._schema is None or self._types is None:
            raise ConfigurationError(f"{self.name} is like a LlamaIndex vector store, but is none: nothing was opened")
        self._in_memory = not getattr(store, "stores_text", True) and callable(getattr(store, "get", None))
        for needed in () if self._in_memory else ("delete_nodes", "get_nodes"):
            if _is_inherited(store, needed):
                raise ConfigurationError(
                    f"the vector store {self.name} cannot {_NEEDED[needed]}: it has no {needed}(). Nothing was opened, "
                    "and nothing of yours was changed: pass another one, or leave vector_store= out"
                )
        self._is_lance = self.name == "LanceDBVectorStore"
        local = type(getattr(getattr(store, "client", None), "_client", None)).__name__
        self.serial = self._in_memory or local == "QdrantLocal"
        """These keep plain Python containers, which change while another thread goes through them."""

    @property
    def forgets_at_exit(self) -> bool:
        """Whether its vectors are gone with the process, as LlamaIndex's ``SimpleVectorStore`` has it."""
        return self._in_memory

    def add(self, user: str, names: Sequence[str], ids: Sequence[str], vectors: Floats) -> None:
        """Keep vectors, ``(n, dim)``."""
        assert self._schema is not None
        sent = int(time.time())
        source = self._schema.NodeRelationship.SOURCE
        nodes = [
            self._schema.TextNode(
                id_=name,
                text=base64.b64encode(np.asarray(vector, np.float16).tobytes()).decode(),
                embedding=np.asarray(vector, np.float32).tolist(),
                metadata={_USER: user, _RECORD: id, _SENT: sent},
                relationships={source: self._schema.RelatedNodeInfo(node_id=name)},
            )
            for name, id, vector in zip(names, ids, vectors, strict=True)
        ]
        for some in _batches(nodes):
            self._store.add(some)

    def query(self, user: str, vector: Floats, count: int) -> list[Held]:
        """Return the ``count`` vectors of a user nearest to a vector of unit length, the nearest first.

        What the engine's filter lets through of others is among them: the store knows its own.
        """
        assert self._types is not None
        asked = self._types.VectorStoreQuery(
            query_embedding=np.asarray(vector, np.float32).tolist(),
            similarity_top_k=count,
            filters=self._only(user),
        )
        try:
            found = self._store.query(asked)
        except Warning:  # how LanceDB says that there is nothing
            return []
        if self._in_memory:
            return [held for name in found.ids or () if (held := self._plain(name)) is not None]
        return [held for node in found.nodes or () if (held := _held(node, None)) is not None]

    def fetch(self, names: Sequence[str]) -> dict[str, Floats]:
        """Return vectors by name, as far as they are there."""
        if self._in_memory:
            return {name: held.vector for name in names if (held := self._plain(name)) is not None}
        found: dict[str, Floats] = {}
        for some in _batches(names):
            for node in self._store.get_nodes(**self._named(some)):
                if (held := _held(node, None)) is not None:
                    found[held.name] = held.vector
        return found

    def listed(self, user: str) -> Mapping[str, int] | None:
        """Return names of a user's vectors and when each was sent; ``None`` where the engine cannot list them.

        An engine that gives a limited number at once gives these: what is deleted makes room for the next.
        """
        if self._in_memory:
            noted = self._store.data.metadata_dict
            return {name: int(of.get(_SENT, 0)) for name, of in list(noted.items()) if of.get(_USER) == user}
        most = {"limit": 1_000_000} if "limit" in inspect.signature(self._store.get_nodes).parameters else {}
        try:
            nodes = self._store.get_nodes(node_ids=None, filters=self._only(user), **most)
        except NotImplementedError:
            return None
        return {held.name: held.sent for node in nodes if (held := _held(node, user)) is not None}

    def delete(self, names: Sequence[str]) -> None:
        """Remove vectors; those that are not there are passed over."""
        for some in _batches(names):
            if self._is_lance:
                self._store.table.delete(_in(some))
            else:
                self._store.delete_nodes(node_ids=list(some))

    def _named(self, names: Sequence[str]) -> dict[str, Any]:
        return {"where": _in(names)} if self._is_lance else {"node_ids": list(names)}

    def _only(self, user: str) -> Any:
        assert self._types is not None
        is_user = self._types.MetadataFilter(key=_USER, value=user, operator=self._types.FilterOperator.EQ)
        return self._types.MetadataFilters(filters=[is_user])

    def _plain(self, name: str) -> Held | None:
        """Return a vector of a store that gives no nodes back."""
        try:
            vector = np.asarray(self._store.get(name), np.float32)
        except KeyError:
            return None
        noted = self._store.data.metadata_dict.get(name, {})
        return Held(name, str(noted.get(_RECORD, "")), vector, int(noted.get(_SENT, 0)))


def _held(node: Any, user: str | None) -> Held | None:
    """Return the vector that a node holds; ``None`` for a node of another user, and for one that is none of ours."""
    noted = node.metadata
    if _RECORD not in noted or (user is not None and noted.get(_USER) != user):
        return None
    try:
        vector = np.frombuffer(base64.b64decode(node.text, validate=True), np.float16).astype(np.float32)
    except ValueError:
        return None
    return Held(str(node.node_id), str(noted[_RECORD]), vector, int(noted.get(_SENT, 0)))


def _in(names: Sequence[str]) -> str:
    """Return a condition on ids for LanceDB: LlamaIndex puts them into the quotes that are for columns there."""
    return f"id in ({', '.join(map(repr, names))})"


def _is_inherited(store: Any, method: str) -> bool:
    """Return whether a method is the base class's own, which only raises."""
    base = next((kind for kind in type(store).__mro__ if kind.__name__ == "BasePydanticVectorStore"), None)
    return getattr(type(store), method, None) is getattr(base, method, None)


def _batches(things: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(things), _AT_ONCE):
        yield things[start : start + _AT_ONCE]
