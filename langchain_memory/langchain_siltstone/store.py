"""A LangGraph store over the memory of one user."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from langgraph.store.base import (
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from siltstone import ConflictError, Hit, NotFoundError, Record, TieredMemory
from siltstone.adapters import check_memory
from siltstone.protocols import Clock
from siltstone.text.wellformed import well_formed
from siltstone.tiers.long_term import ATTEMPTS
from siltstone.twins import Steps, arun, call, run

from .items import (
    Namespace,
    expiry,
    in_namespace,
    in_path,
    is_item,
    item_id,
    item_metadata,
    item_text,
    matches,
    namespace_of,
    prepared,
    to_item,
    to_search_item,
    value_of,
)
from .labels import AnyLabelStore

_RENEW: Final = 0.05
"""A read renews an item's time to live once this share of it is over, so that not every read writes."""

_SAME_TEXT: Final = "same_text:"
"""``Hit.why`` names the records of the same text by this and their id."""


class SiltstoneStore(AnyLabelStore):
    """Namespaced values in the memory of one user, kept on disk and searched by words and meaning.

    Items are records of kind ``item``: the recall of other parts of the application sees them too. Namespaces lie
    inside one user and may hold any characters, e.g. e-mail addresses. A write is on disk when it returns; of a batch
    in which one value cannot be stored (``TypeError``) nothing is written. An item with ``index=False`` is read by its
    key and listed, and never recalled.

    ``index``  which fields a search looks at by default (``{"fields": [...]}``; default: the whole value); the
               embedder is the memory's, so ``dims`` and ``embed`` are not needed
    ``ttl``    LangGraph's ``TTLConfig``: ``default_ttl`` in minutes, ``refresh_on_read``. Expired items are never
               returned; a read renews the time once a twentieth of it is over
    ``clock``  where the present comes from, for times to live; pass the one that the memory was opened with

    Example::

        store = SiltstoneStore(TieredMemory.open("./memory", user_id="alice"))
        store.put(("alice@example.com", "preferences"), "food", {"text": "Alice eats no meat"})
        store.search(("alice@example.com",), query="vegetarian?")
        agent = create_agent(model, tools=tools, store=store)
    """

    supports_ttl = True

    def __init__(
        self,
        memory: TieredMemory,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._memory = check_memory(memory, "SiltstoneStore")
        self._fields = (index or {}).get("fields") or ["$"]
        self._clock = clock
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations; reads see the state before the batch's writes, of which the last to an item counts."""
        return run(self._memory, self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what ``batch`` does, without blocking the event loop."""
        return await arun(self._memory, self._batch(list(ops)))

    def _batch(self, ops: list[Op]) -> Steps[list[Result]]:
        results: list[Result] = []
        last = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        # All of them before the first is written: a value that cannot be stored leaves nothing half done.
        now = self._now()
        writes = [(put, item_text(put, self._fields)) for put in (prepared(op, now) for op in last.values())]
        for op in ops:
            if isinstance(op, GetOp):
                results.append((yield from self._get(op)))
            elif isinstance(op, SearchOp):
                results.append((yield from self._search(op)))
            elif isinstance(op, ListNamespacesOp):
                results.append((yield from self._namespaces(op)))
            elif isinstance(op, PutOp):
                results.append(None)
            else:
                raise ValueError(f"{op!r} is not an operation of a LangGraph store")
        for put, text in writes:
            yield from self._put(put, text, now)
        return results

    def _get(self, op: GetOp) -> Steps[Item | None]:
        record = yield from self._record(item_id(op.namespace, op.key))
        if record is None:
            return None
        yield from self._renew([record], op.refresh_ttl)
        return to_item(record)

    def _put(self, op: PutOp, text: str, now: datetime) -> Steps[None]:
        id = item_id(op.namespace, op.key)
        if op.value is None:
            yield call("forget", ids=[id])
            return
        written: dict[str, Any] = {
            "text": text or "/".join((*op.namespace, op.key)),  # a record needs one, if only to be listed by
            "expires_at": expiry(now, op.ttl),
        }
        for attempt in range(ATTEMPTS):  # until nobody else puts or deletes it in between; the last write counts
            earlier = yield from self._record(id, expired=True)
            created_at = now if earlier is None or self._expired(earlier) else to_item(earlier).created_at
            metadata = item_metadata(op, created_at, now, bool(text))
            try:
                if earlier is None:
                    yield call("remember", kind="item", id=id, metadata=metadata, **written)
                else:
                    yield call("update", id, metadata=metadata, **written)
                return
            except (ConflictError, NotFoundError):
                if attempt == ATTEMPTS - 1:
                    raise

    def _search(self, op: SearchOp) -> Steps[list[SearchItem]]:
        wanted = op.offset + op.limit
        query = well_formed(op.query or "").strip()
        if query:
            found = yield from self._ranked(op, query, wanted)
        else:
            records = yield call("records", kinds="item", metadata=in_namespace(op.namespace_prefix))
            found = [(record, None) for record in records if _meets(record, op)]
        page = found[op.offset : wanted]
        yield from self._renew([record for record, _ in page], op.refresh_ttl)
        return [to_search_item(record, score) for record, score in page]

    def _ranked(self, op: SearchOp, query: str, wanted: int) -> Steps[list[tuple[Record, float | None]]]:
        """Return the items that answer a query, best first, then those that are not indexed, without a score."""
        inside = in_namespace(op.namespace_prefix)
        top_k = max(wanted, 1)
        while True:
            hits = yield call("search", query, top_k=top_k, kinds="item", metadata={**inside, "indexed": True})
            scored = yield from self._unfolded(hits)
            found = [(record, score) for record, score in scored if _meets(record, op)]
            if len(found) >= wanted or len(hits) < top_k:
                break
            top_k *= 4
        if len(found) < wanted:
            rest = yield call("records", kinds="item", metadata={**inside, "indexed": False})
            found += [(record, None) for record in rest if _meets(record, op)]
        return found

    def _unfolded(self, hits: list[Hit]) -> Steps[list[tuple[Record, float | None]]]:
        """Return the records of hits, and beside each those that say the same, which a search folds into one."""
        scored: list[tuple[Record, float | None]] = []
        for hit in hits:
            scored.append((hit.record, hit.score))
            for name in hit.why:
                if name.startswith(_SAME_TEXT) and (twin := (yield from self._record(name[len(_SAME_TEXT) :]))):
                    scored.append((twin, hit.score))
        return scored

    def _namespaces(self, op: ListNamespacesOp) -> Steps[list[Namespace]]:
        records = yield call("records", kinds="item")
        held = {namespace_of(record) for record in records if is_item(record)}
        chosen = {ns[: op.max_depth] for ns in held if all(in_path(ns, c) for c in op.match_conditions or ())}
        return sorted(chosen)[op.offset : op.offset + op.limit]

    def _record(self, id: str, *, expired: bool = False) -> Steps[Record | None]:
        try:
            record: Record = yield call("get", id)
        except NotFoundError:
            return None
        return record if expired or not self._expired(record) else None

    def _renew(self, records: list[Record], asked: bool) -> Steps[None]:
        for record in records if asked else ():
            minutes = record.metadata["ttl"]
            if minutes is None or record.expires_at is None:
                continue
            expires_at = expiry(self._now(), minutes)
            if expires_at is not None and expires_at - record.expires_at < timedelta(minutes=minutes) * _RENEW:
                continue
            with contextlib.suppress(NotFoundError):  # deleted meanwhile; it was there when it was read
                yield call("update", record.id, expires_at=expires_at)

    def _expired(self, record: Record) -> bool:
        return record.expires_at is not None and record.expires_at <= self._now()

    def _now(self) -> datetime:
        return self._clock.now() if self._clock is not None else datetime.now(timezone.utc)


def _meets(record: Record, op: SearchOp) -> bool:
    return is_item(record) and matches(value_of(record), op.filter)
