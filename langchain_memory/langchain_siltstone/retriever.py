"""The memory as a LangChain retriever."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from siltstone import Hit, TieredMemory


class SiltstoneRetriever(BaseRetriever):
    """Finds memories of one user, best first.

    ``k`` is how many at most, here or at ``invoke(query, k=…)``. ``search`` holds further arguments of
    ``TieredMemory.search`` (``kinds``, ``since``, ``until``, ``exclude_session_id`` …), which ``invoke`` takes too.
    A document's ``id`` is the memory's, its metadata say what it is: ``kind``, ``time``, ``session_id``,
    ``speaker``, ``score`` and the memory's own.

    Example::

        retriever = SiltstoneRetriever(TieredMemory.open("./memory", user_id="alice"), k=5)
        retriever.invoke("Where do I work?")
    """

    memory: TieredMemory = Field(exclude=True, repr=False)
    k: int = Field(default=5, ge=1)
    search: dict[str, Any] = Field(default_factory=dict)

    def __init__(self, memory: TieredMemory, *, k: int = 5, **options: Any) -> None:
        super().__init__(**{"memory": memory, "k": k, **options})  # pydantic takes fields by keyword only

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return [_document(hit) for hit in self.memory.search(query, **self._options(kwargs))]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return [_document(hit) for hit in await self.memory.asearch(query, **self._options(kwargs))]

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        options = {**self.search, **given}
        return {"top_k": options.pop("k", self.k), **options}


def _document(hit: Hit) -> Document:
    record = hit.record
    known = {
        "kind": record.kind,
        "time": record.time.isoformat(),
        "session_id": record.session_id,
        "speaker": record.speaker or record.role,
        "score": hit.score,
    }
    metadata = {**record.metadata, **{key: value for key, value in known.items() if value is not None}}
    return Document(id=record.id, page_content=record.text, metadata=metadata)
