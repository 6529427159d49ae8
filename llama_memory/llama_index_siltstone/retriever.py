"""The memory as a LlamaIndex retriever."""

from __future__ import annotations

import re
from typing import Any, Final

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import BaseContentBlock, TextBlock
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from siltstone import Hit, Record, TieredMemory
from siltstone.adapters import check_memory
from siltstone.outbox import Lookup
from siltstone.text.guard import fence, neutral
from siltstone.twins import Steps, arun, run

_WRAPPER: Final = re.compile(r"\A\ninput is (.*?)\s*\Z", re.DOTALL)


class SiltstoneRetriever(BaseRetriever):
    """Finds memories of one user, best first, for query engines, chat engines and ``RetrieverTool``.

    ``top_k`` is how many at most; ``search`` takes further arguments of ``TieredMemory.search`` (``kinds``, ``since``,
    ``until``, ``exclude_session_id`` …). A node's id is the memory's; its metadata say what it is. Its ``text`` is
    plain; what a model is shown of it, by ``RetrieverTool`` and the engines, is fenced as data, by which it is known
    again and not stored back. A memory that fails finds nothing, so that the chat goes on, and is logged once;
    ``TieredMemory.search`` raises.

    Example::

        retriever = SiltstoneRetriever(TieredMemory.open("./memory", user_id="alice"), top_k=5)
        RetrieverQueryEngine.from_args(retriever, llm=llm).query("Where do I work?")
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
        self._memory = check_memory(memory, "SiltstoneRetriever")
        self._search = {"top_k": top_k, **search}
        self._lookup = Lookup()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return run(self._memory, self._nodes(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await arun(self._memory, self._nodes(query_bundle))

    def _nodes(self, query_bundle: QueryBundle) -> Steps[list[NodeWithScore]]:
        query = plain_query(query_bundle.query_str)
        hits = (yield from self._lookup.search(query, **self._search)) if query else []
        return [_node(hit) for hit in hits]


class RecalledNode(TextNode):
    """A memory: its plain text to code that reads it, fenced as data where a model is to see it."""

    def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
        """Return the text; for a model with date and speaker, inside the fence."""
        content = super().get_content(metadata_mode)
        return fence(neutral(content)) if metadata_mode == MetadataMode.LLM else content

    def get_content_blocks(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> list[BaseContentBlock]:
        """Return the same as a block."""
        return [TextBlock(text=self.get_content(metadata_mode))]


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
    return NodeWithScore(node=RecalledNode(**to_node(hit.record).model_dump()), score=hit.score)
