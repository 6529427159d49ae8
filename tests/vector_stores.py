"""Stores whose vectors lie in a LlamaIndex vector store, one of each engine that is installed here."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import pytest

from items import DIM
from siltstone.protocols import Store
from siltstone.stores.folder import FolderStore
from siltstone.stores.ram import RamStore
from siltstone.stores.vectorstore.arm import VectorStoreArm
from siltstone.stores.vectorstore.llama_index import LlamaIndexEngine
from siltstone.stores.vectorstore.passing import arm_over


def simple(path: Path, dim: int) -> Any:
    """LlamaIndex's own, in memory."""
    return pytest.importorskip("llama_index.core.vector_stores").SimpleVectorStore()


def chroma(path: Path, dim: int) -> Any:
    """Chroma's server, where ``SILTSTONE_CHROMA`` names one; else Chroma in a folder."""
    module = pytest.importorskip("llama_index.vector_stores.chroma")
    chromadb = pytest.importorskip("chromadb")
    url = os.environ.get("SILTSTONE_CHROMA")
    if url is None:
        client = chromadb.PersistentClient(path=str(path))
    else:
        client = chromadb.HttpClient(host="127.0.0.1", port=int(url.rpartition(":")[2]))
    return module.ChromaVectorStore(chroma_collection=client.get_or_create_collection(_named(path)))


def qdrant(path: Path, dim: int) -> Any:
    """Qdrant's local mode, in a folder."""
    module = pytest.importorskip("llama_index.vector_stores.qdrant")
    client = pytest.importorskip("qdrant_client").QdrantClient(path=str(path), force_disable_check_same_thread=True)
    return module.QdrantVectorStore("memory", client=client)


def lancedb(path: Path, dim: int) -> Any:
    """LanceDB, in a folder."""
    module = pytest.importorskip("llama_index.vector_stores.lancedb")
    return module.LanceDBVectorStore(uri=str(path), table_name="memory", mode="create")


def milvus(path: Path, dim: int) -> Any:
    """Milvus by its wire protocol, where ``SILTSTONE_MILVUS`` names a server; else the embedded one, in a file."""
    module = pytest.importorskip("llama_index.vector_stores.milvus")
    uri = os.environ.get("SILTSTONE_MILVUS")
    if uri is None:
        pytest.importorskip("milvus_lite")
        path.mkdir(exist_ok=True)
    return module.MilvusVectorStore(
        uri=uri or str(path / "milvus.db"),
        dim=dim,
        collection_name=_named(path),
        similarity_metric="IP",
        consistency_level="Strong",
    )


def _named(path: Path) -> str:
    """Return the name of a collection that no other test of the same server has."""
    return "c" + blake2b(str(path).encode(), digest_size=8).hexdigest()


ENGINES: Final[dict[str, Callable[[Path, int], Any]]] = {
    "simple": simple,
    "chroma": chroma,
    "qdrant": qdrant,
    "lancedb": lancedb,
    "milvus": milvus,
}
CHOSEN: Final = os.environ.get("SILTSTONE_ENGINES", "simple").split(",")
"""Which of them the suites run over; ``.ci/run engines`` names all."""
VECTOR_STORES: Final = tuple(f"{engine}-over-{inner}" for engine in CHOSEN for inner in ("folder", "postgres"))


def over_vector_store(kind: str, path: Path, *, inner_store: Store | None = None, **options: Any) -> VectorStoreArm:
    """Return a store of a kind of ``VECTOR_STORES``; one over a server is given what it is over."""
    engine, _, inner = kind.partition("-over-")
    made = LlamaIndexEngine(ENGINES[engine](path / "vectors", DIM))
    store: Store
    if inner_store is not None:
        store = inner_store
    elif inner == "ram":
        store = RamStore()
    else:
        store = FolderStore(path / "store", durability="os")
    return arm_over(store, made, **options)


def takes_any_width(store: Store) -> bool:
    """Return whether vectors of another width can follow those that are there: a collection of a server has one."""
    return not isinstance(store, VectorStoreArm) or store.engine_name == "SimpleVectorStore"
