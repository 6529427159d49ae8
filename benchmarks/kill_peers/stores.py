"""The stores under test, each in the persistent setting that its documentation gives; one class, one shape.

``fill`` writes many rows at once, ``add`` one and returns when it is stored, ``ids`` gives all rows that can be read.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

DIM = 384
TEXT = (
    "A memory of three hundred bytes, of which there are some thousands already, so that a write takes its time. " * 3
)


class Peer(Protocol):
    def __init__(self, folder: Path) -> None: ...

    def fill(self, ids: Sequence[str]) -> None: ...

    def add(self, id: str) -> None: ...

    def ids(self) -> list[str]: ...


def text_of(id: str) -> str:
    return f"{id} {TEXT}"[:300]


def id_of(text: str) -> str:
    return text.split(" ", 1)[0]


def vector_of(text: str) -> list[float]:
    import numpy as np

    seed = int.from_bytes(text.encode()[:16], "little") % 2**63
    row = np.random.default_rng(seed).standard_normal(DIM)
    return list((row / np.linalg.norm(row)).tolist())


class Siltstone:
    """README.md: ``TieredMemory.open(folder)``; ``add`` returns when it is on disk."""

    packages = ("siltstone", "faiss-cpu")

    def __init__(self, folder: Path) -> None:
        from siltstone import TieredMemory

        self._memory = TieredMemory.open(folder / "store", embedder=lambda texts: [vector_of(text) for text in texts])

    def fill(self, ids: Sequence[str]) -> None:
        for n in range(0, len(ids), 500):
            self._memory.add([self._message(id) for id in ids[n : n + 500]], session_id="s")
        self._memory.flush()
        self._memory.close()

    def add(self, id: str) -> None:
        self._memory.add([self._message(id)], session_id="s")

    def ids(self) -> list[str]:
        return [id_of(message.content) for message in self._memory.messages("s")]

    def _message(self, id: str) -> dict[str, str]:
        return {"role": "user", "content": text_of(id)}


class LlamaIndexDocstore:
    """https://docs.llamaindex.ai/en/stable/module_guides/storing/docstores: ``persist`` after each addition."""

    packages = ("llama-index-core",)

    def __init__(self, folder: Path) -> None:
        from llama_index.core.storage.docstore import SimpleDocumentStore

        self._path = str(folder / "docstore.json")
        there = os.path.exists(self._path)
        self._store = SimpleDocumentStore.from_persist_path(self._path) if there else SimpleDocumentStore()

    def fill(self, ids: Sequence[str]) -> None:
        from llama_index.core.schema import TextNode

        self._store.add_documents([TextNode(id_=id, text=text_of(id)) for id in ids])
        self._store.persist(self._path)

    def add(self, id: str) -> None:
        self.fill([id])

    def ids(self) -> list[str]:
        return [id_of(node.get_content()) for node in self._store.docs.values()]


class LangChainFaiss:
    """https://python.langchain.com/docs/integrations/vectorstores/faiss: ``save_local`` after each addition."""

    packages = ("langchain-community", "faiss-cpu")

    def __init__(self, folder: Path) -> None:
        import faiss
        from langchain_community.docstore.in_memory import InMemoryDocstore
        from langchain_community.vectorstores import FAISS

        self._folder = str(folder / "index")
        if os.path.exists(self._folder):
            self._store = FAISS.load_local(self._folder, embeddings(), allow_dangerous_deserialization=True)
        else:
            self._store = FAISS(embeddings(), faiss.IndexFlatL2(DIM), InMemoryDocstore(), {})

    def fill(self, ids: Sequence[str]) -> None:
        self._store.add_texts([text_of(id) for id in ids], ids=list(ids))
        self._store.save_local(self._folder)

    def add(self, id: str) -> None:
        self.fill([id])

    def ids(self) -> list[str]:
        rows = self._store.index.ntotal
        found = self._store.similarity_search_by_vector(vector_of(text_of("0")), k=rows)
        return [id_of(document.page_content) for document in found]


class Mem0Faiss:
    """https://docs.mem0.ai/components/vectordbs/dbs/faiss: ``add(infer=False)``, which saves by itself.

    Embedder and language model are given through the documented provider ``langchain``; the latter is never called.
    """

    packages = ("mem0ai", "faiss-cpu")

    def __init__(self, folder: Path) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder / "mem0")
        from langchain_core.language_models import FakeListChatModel
        from mem0 import Memory

        logging.getLogger("mem0").setLevel(logging.ERROR)
        store = {"collection_name": "test", "path": str(folder / "faiss"), "embedding_model_dims": DIM}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "faiss", "config": {**store, "distance_strategy": "cosine"}},
                "embedder": {"provider": "langchain", "config": {"model": embeddings(), "embedding_dims": DIM}},
                "llm": {"provider": "langchain", "config": {"model": FakeListChatModel(responses=["-"])}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def fill(self, ids: Sequence[str]) -> None:
        texts = [text_of(id) for id in ids]
        payloads = [{"data": text, "user_id": "u"} for text in texts]
        self._memory.vector_store.insert([vector_of(text) for text in texts], payloads, list(ids))

    def add(self, id: str) -> None:
        self._memory.add(text_of(id), user_id="u", infer=False)

    def ids(self) -> list[str]:
        found = self._memory.get_all(filters={"user_id": "u"}, top_k=1_000_000)["results"]
        return [id_of(one["memory"]) for one in found]


def embeddings() -> Any:
    """Return an embedder of LangChain that needs no model."""
    from langchain_core.embeddings import Embeddings

    class Fixed(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector_of(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return vector_of(text)

    return Fixed()


PEERS: dict[str, Any] = {
    "siltstone": Siltstone,
    "LlamaIndex SimpleDocumentStore": LlamaIndexDocstore,
    "LangChain FAISS": LangChainFaiss,
    "mem0 FAISS": Mem0Faiss,
}


def versions(peer: Any) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in peer.packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a checkout
            found[package] = __import__(package).__version__
    return found


def say(value: object) -> None:
    print(json.dumps(value), flush=True)
