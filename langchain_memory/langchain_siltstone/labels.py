"""LangGraph's store methods, for namespaces whose labels may hold any characters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)

from .items import Index, Namespace, check_namespace


class AnyLabelStore(BaseStore):
    """A ``BaseStore`` whose methods accept every label, ``alice@example.com`` too.

    LangGraph refuses labels with a full stop, since its own stores join labels with it. Everything else is as there.
    """

    __slots__ = ()

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Return an item, or ``None``."""
        return cast("Item | None", self.batch([self._get_op(namespace, key, refresh_ttl)])[0])

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Return an item, or ``None``."""
        return cast("Item | None", (await self.abatch([self._get_op(namespace, key, refresh_ttl)]))[0])

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Return the items under a prefix that meet the filter, those that answer the query best first."""
        op = self._search_op(namespace_prefix, query, filter, limit, offset, refresh_ttl)
        return cast("list[SearchItem]", self.batch([op])[0])

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Return the items under a prefix that meet the filter, those that answer the query best first."""
        op = self._search_op(namespace_prefix, query, filter, limit, offset, refresh_ttl)
        return cast("list[SearchItem]", (await self.abatch([op]))[0])

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Index = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store an item, or replace its value."""
        self.batch([self._put_op(namespace, key, value, index, ttl)])

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Index = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store an item, or replace its value."""
        await self.abatch([self._put_op(namespace, key, value, index, ttl)])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete an item, if it is there."""
        self.batch([self._put_op(namespace, key, None, None, None)])

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """Delete an item, if it is there."""
        await self.abatch([self._put_op(namespace, key, None, None, None)])

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """Return the namespaces that hold items, in order, cut to ``max_depth`` labels."""
        return cast("list[Namespace]", self.batch([_list_op(prefix, suffix, max_depth, limit, offset)])[0])

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """Return the namespaces that hold items, in order, cut to ``max_depth`` labels."""
        return cast("list[Namespace]", (await self.abatch([_list_op(prefix, suffix, max_depth, limit, offset)]))[0])

    def _get_op(self, namespace: Namespace, key: str, refresh_ttl: bool | None) -> Op:
        return GetOp(check_namespace(namespace), str(key), self._refreshes(refresh_ttl))

    def _search_op(
        self,
        prefix: Namespace,
        query: str | None,
        filter: dict[str, Any] | None,
        limit: int,
        offset: int,
        refresh_ttl: bool | None,
    ) -> Op:
        prefix = check_namespace(prefix, may_be_empty=True)
        return SearchOp(prefix, filter, limit, offset, query, self._refreshes(refresh_ttl))

    def _put_op(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any] | None,
        index: Index,
        ttl: float | NotProvided | None,
    ) -> Op:
        if isinstance(ttl, NotProvided):
            ttl = (self.ttl_config or {}).get("default_ttl")
        return PutOp(check_namespace(namespace), str(key), value, index=index, ttl=ttl)

    def _refreshes(self, asked: bool | None) -> bool:
        return (self.ttl_config or {}).get("refresh_on_read", True) if asked is None else asked


def _list_op(
    prefix: NamespacePath | None, suffix: NamespacePath | None, max_depth: int | None, limit: int, offset: int
) -> Op:
    conditions = []
    if prefix:
        conditions.append(MatchCondition("prefix", check_namespace(prefix)))
    if suffix:
        conditions.append(MatchCondition("suffix", check_namespace(suffix)))
    return ListNamespacesOp(tuple(conditions), max_depth, limit, offset)
