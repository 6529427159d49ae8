from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from work import Turn

from .contract import Found, Store


class Adapted(Embeddings):
    """The shared embedder as LangChain calls it.

    Some stores ask for questions as for documents, or the other way round, and would find less by a model that tells
    them apart: within ``always("question")`` or ``always("document")`` every text is one.
    """

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._always = ""

    @contextmanager
    def always(self, kind: str) -> Iterator[None]:
        self._always = kind
        try:
            yield
        finally:
            self._always = ""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self._always == "question":
            return [self._embedder.embed_query(text).tolist() for text in texts]
        return [row.tolist() for row in self._embedder.embed_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        if self._always == "document":
            return list(self._embedder.embed_documents([text])[0].tolist())
        return list(self._embedder.embed_query(text).tolist())


class LangChainInMemory(Store):
    """``dump`` after each change, ``load`` to open; users by a filter function on metadata."""

    documentation = (
        "https://reference.langchain.com/python/langchain-core/vectorstores/in_memory/InMemoryVectorStore/dump"
    )

    def __init__(self, folder: Path, embedder: Any) -> None:
        self._path = str(folder / "vectors.json")
        there = Path(self._path).exists()
        adapted = Adapted(embedder)
        self._store = InMemoryVectorStore.load(self._path, adapted) if there else InMemoryVectorStore(adapted)

    def add(self, turn: Turn) -> None:
        self.fill([turn])

    def fill(self, turns: Sequence[Turn]) -> None:
        self._store.add_texts(
            [turn.line for turn in turns],
            [{"user": turn.user, "session": turn.session, "role": turn.role, "time": turn.time} for turn in turns],
            ids=[turn.row for turn in turns],
        )
        self._store.dump(self._path)

    def search(self, user: str, question: str, k: int) -> Found:
        found = self._store.similarity_search(question, k=k, filter=lambda one: one.metadata["user"] == user)
        return [([one.id or ""], one.page_content) for one in found]

    def update(self, turn: Turn) -> None:
        self.fill([turn])  # "add or update"

    def delete(self, turns: Sequence[Turn]) -> None:
        self._store.delete([turn.row for turn in turns])
        self._store.dump(self._path)

    def rows(self) -> list[str]:
        return list(self._store.store)

    def texts(self) -> dict[str, str]:
        return {id: one["text"] for id, one in self._store.store.items()}


class LangChainFaiss(Store):
    """``save_local`` after each change, ``load_local`` to open; users by ``filter``, which looks at ``fetch_k`` of all.

    The default ``fetch_k`` of 20 are rows of all users, so it is the number of all rows here.
    """

    documentation = "https://docs.langchain.com/oss/python/integrations/vectorstores/faiss"

    def __init__(self, folder: Path, embedder: Any) -> None:
        import faiss
        from langchain_community.docstore.in_memory import InMemoryDocstore
        from langchain_community.vectorstores import FAISS

        self._folder = str(folder / "index")
        if Path(self._folder).exists():
            self._store = FAISS.load_local(self._folder, Adapted(embedder), allow_dangerous_deserialization=True)
        else:
            self._store = FAISS(Adapted(embedder), faiss.IndexFlatL2(embedder.dim), InMemoryDocstore(), {})

    def add(self, turn: Turn) -> None:
        self.fill([turn])

    def fill(self, turns: Sequence[Turn]) -> None:
        self._add(turns)
        self._store.save_local(self._folder)

    def _add(self, turns: Sequence[Turn]) -> None:
        self._store.add_texts(
            [turn.line for turn in turns],
            [{"user": turn.user, "session": turn.session, "role": turn.role, "time": turn.time} for turn in turns],
            ids=[turn.row for turn in turns],
        )

    def search(self, user: str, question: str, k: int) -> Found:
        found = self._store.similarity_search(question, k=k, filter={"user": user}, fetch_k=self._store.index.ntotal)
        return [([one.id or ""], one.page_content) for one in found]

    def update(self, turn: Turn) -> None:
        self._store.delete([turn.row])  # ids that are there cannot be added
        self._add([turn])
        self._store.save_local(self._folder)

    def delete(self, turns: Sequence[Turn]) -> None:
        self._store.delete([turn.row for turn in turns])
        self._store.save_local(self._folder)

    def rows(self) -> list[str]:
        return list(self._store.index_to_docstore_id.values())

    def texts(self) -> dict[str, str]:
        kept: Any = self._store.docstore
        return {row: kept.search(row).page_content for row in self.rows()}
