"""A user's memory as LlamaIndex's own storage folder."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("llama_index.core")
pytest.importorskip("llama_index.vector_stores.faiss")

from llama_index.core import StorageContext, load_index_from_storage
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.vector_stores.faiss import FaissVectorStore

from llama_index_siltstone import export_faiss
from siltstone import InvalidInputError, TieredMemory
from siltstone.testing import HashEmbedder


class HashEmbedding(BaseEmbedding):
    """The public fake embedder as LlamaIndex sees one."""

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = HashEmbedder().embed_query(text).tolist()
        return vector

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def test_exported_folder_is_read_and_searched_by_llama_index(tiered: TieredMemory, tmp_path: Path) -> None:
    """FaissVectorStore and docstore load it, and find the memory under its id, with a cosine for its score."""
    target = tmp_path / "index"
    tiered.add([("user", f"Remark {n}") for n in range(5)], session_id="monday")
    assert export_faiss(tiered, target, embed_model=HashEmbedding()) == 7
    vectors = FaissVectorStore.from_persist_dir(str(target))
    storage = StorageContext.from_defaults(vector_store=vectors, persist_dir=str(target))
    index = load_index_from_storage(storage, embed_model=HashEmbedding())
    (best,) = index.as_retriever(similarity_top_k=1).retrieve("I'm Alice, a front-end engineer in Shenzhen.")
    assert best.text == "I'm Alice, a front-end engineer in Shenzhen."
    assert best.score == pytest.approx(1.0, abs=1e-5)
    assert tiered.get(best.node_id)


def test_export_overwrites_nothing_and_leaves_no_half_folder(tiered: TieredMemory, tmp_path: Path) -> None:
    """A folder with something in it, and an empty memory, are refused before anything is written."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(InvalidInputError, match="not an empty folder"):
        export_faiss(tiered, tmp_path / "full", embed_model=HashEmbedding())
    with pytest.raises(InvalidInputError, match="no records to export"):
        export_faiss(tiered.for_user("bob"), tmp_path / "new", embed_model=HashEmbedding())
    assert not (tmp_path / "new").exists()
