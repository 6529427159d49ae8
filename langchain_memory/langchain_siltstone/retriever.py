"""The memory as a LangChain retriever."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from siltstone import Hit, TieredMemory
from siltstone.adapters import check_memory
from siltstone.outbox import Lookup
from siltstone.text.guard import Recalled
from siltstone.twins import Steps, arun, run


class SiltstoneRetriever(BaseRetriever):
    """Finds memories of one user, best first.

    ``k`` is how many at most, here or at ``invoke(query, k=…)``. ``search`` holds further arguments of
    ``TieredMemory.search`` (``kinds``, ``since``, ``until``, ``exclude_session_id`` …), which ``invoke`` takes too.
    A document's ``id`` is the memory's, its metadata say what it is: ``kind``, ``time``, ``session_id``,
    ``speaker``, ``score`` and the memory's own. Its ``page_content`` is the plain text; where a template fills it in,
    as ``create_retriever_tool`` and the chains that stuff documents do, it comes fenced as data, by which it is known
    again and not stored back. An empty query finds nothing. So does a memory that fails, which is logged once, and the
    chat goes on; ``TieredMemory.search`` raises.

    Example::

        retriever = SiltstoneRetriever(TieredMemory.open("./memory", user_id="alice"), k=5)
        retriever.invoke("Where do I work?")
    """

    memory: TieredMemory = Field(exclude=True, repr=False)
    k: int = Field(default=5, ge=1)
    search: dict[str, Any] = Field(default_factory=dict)

    _lookup: Lookup = PrivateAttr(default_factory=Lookup)

    def __init__(self, memory: TieredMemory, *, k: int = 5, **options: Any) -> None:
        check_memory(memory, "SiltstoneRetriever")
        super().__init__(**{"memory": memory, "k": k, **options})  # pydantic takes fields by keyword only

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return run(self.memory, self._find(query, kwargs))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return await arun(self.memory, self._find(query, kwargs))

    def _find(self, query: str, given: dict[str, Any]) -> Steps[list[Document]]:
        hits = (yield from self._lookup.search(query, **self._options(given))) if query.strip() else []
        return [_document(hit) for hit in hits]

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
    document = Document(id=record.id, page_content=record.text, metadata=metadata)
    document.page_content = Recalled(record.text)  # afterwards, since pydantic makes a plain string of what it is given
    return document
