"""Any LlamaIndex LLM and embedding serve a memory as its summarizer and its embedder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_script import Script, text
from pydantic import Field

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

DIGEST = {
    "topic": "work",
    "summary": "Alice is a front-end engineer in Shenzhen.",
    "facts": [{"text": "Alice is a front-end engineer in Shenzhen", "sources": ["m1"]}],
    "preferences": [],
    "events": [],
}


class HashEmbedding(BaseEmbedding):
    """The public fake embedder as LlamaIndex sees one."""

    texts: list[str] = Field(default_factory=list)

    def _get_text_embedding(self, text: str) -> list[float]:
        self.texts.append(text)
        vector: list[float] = HashEmbedder().embed_query(text).tolist()
        return vector

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def test_a_memory_is_compressed_and_searched_by_llama_index_models(tmp_path: Path) -> None:
    """The LLM reads the session, and its digest becomes records, which the embedding finds in the next run too."""
    script, embedding = Script(json.dumps(DIGEST)), HashEmbedding()
    options = {"embedder": embedding, "summarizer": script.model, "token_counter": WordCounter()}
    with TieredMemory.open(tmp_path, user_id="alice", **options) as memory:
        said = [("user", "I'm Alice, a front-end engineer in Shenzhen."), ("assistant", "Nice to meet you!")]
        memory.add(said, session_id="monday", created_at="2024-01-01T09:00:00Z")
        memory.consolidate()
        assert "a front-end engineer in Shenzhen" in text(script.sent[0])
    with TieredMemory.open(tmp_path, user_id="alice", **options) as memory:
        (best,) = memory.search("front-end engineer", top_k=1, kinds=["fact", "profile"])
        assert best.record.text.startswith("Alice is a front-end engineer")
        assert best.record.made_by == "_ChatModel"
        assert memory.stats().pending_vectors == 0
    assert {said[0][1], "front-end engineer"} <= set(embedding.texts)
