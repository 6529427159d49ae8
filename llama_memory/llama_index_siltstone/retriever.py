"""The memory as a LlamaIndex retriever."""

from __future__ import annotations

import re
from typing import Any, Final

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from siltstone import Hit, Record, TieredMemory

_WRAPPER: Final = re.compile(r"\A\ninput is (.*?)\s*\Z", re.DOTALL)


class SiltstoneRetriever(BaseRetriever):
    """Finds memories of one user, best first, for query engines, chat engines and ``RetrieverTool``.

    ``top_k`` is how many at most; ``search`` takes further arguments of ``TieredMemory.search`` (``kinds``, ``since``,
    ``until``, ``exclude_session_id`` …). A node's id is the memory's; its metadata say what it is.

    Example::

        retriever = SiltstoneRetriever(TieredMemory.open("./memory", user_id="alice"), top_k=5)
        ContextChatEngine.from_defaults(retriever=retriever, llm=llm)
    """

    def __init__(
        self,
        memory: TieredMemory,
        *,
        top_k: int = 5,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **search: Any,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._memory = memory
        self._search = {"top_k": top_k, **search}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = plain_query(query_bundle.query_str)
        return [_node(hit) for hit in self._memory.search(query, **self._search)] if query else []

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = plain_query(query_bundle.query_str)
        return [_node(hit) for hit in await self._memory.asearch(query, **self._search)] if query else []


def plain_query(query: str) -> str:
    """Return a query without the line ``input is …`` that LlamaIndex's ``RetrieverTool`` makes of it.

    The line break before it tells that line from a user's words that begin in the same way.
    """
    wrapped = _WRAPPER.match(query)
    return wrapped.group(1) if wrapped else query.strip()


def to_node(record: Record) -> TextNode:
    """Return a record as a node: its text, and its date and speaker for the model to see."""
    shown = {"date": f"{record.time:%Y-%m-%d}", "speaker": record.speaker or record.role}
    known = {
        "kind": record.kind,
        "time": record.time.isoformat(),
        "session_id": record.session_id,
    }
    metadata = {key: value for key, value in {**shown, **known}.items() if value is not None}
    hidden = [key for key in metadata if key not in shown]
    return TextNode(
        id_=record.id,
        text=record.text,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(metadata),
    )


def _node(hit: Hit) -> NodeWithScore:
    return NodeWithScore(node=to_node(hit.record), score=hit.score)
