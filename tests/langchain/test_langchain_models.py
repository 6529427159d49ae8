"""Any LangChain chat model and embeddings serve a memory as its summarizer and its embedder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("langchain_core")

from langchain_core.embeddings import Embeddings
from langchain_script import ScriptedModel, text

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

DIGEST = {
    "topic": "work",
    "summary": "Alice is a front-end engineer in Shenzhen.",
    "facts": [{"text": "Alice is a front-end engineer in Shenzhen", "sources": ["m1"]}],
    "preferences": [],
    "events": [],
}


class HashEmbeddings(Embeddings):
    """The public fake embedder as LangChain sees one."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return vectors as lists."""
        self.texts += texts
        rows: list[list[float]] = HashEmbedder().embed_documents(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return one vector as a list."""
        return self.embed_documents([text])[0]


def test_a_memory_is_compressed_and_searched_by_langchain_models(tmp_path: Path) -> None:
    """The model reads the session, and its digest becomes records, which the embeddings find in the next run too."""
    model, embeddings = ScriptedModel(json.dumps(DIGEST)), HashEmbeddings()
    options = {"embedder": embeddings, "summarizer": model, "token_counter": WordCounter()}
    with TieredMemory.open(tmp_path, user_id="alice", **options) as memory:
        said = [("user", "I'm Alice, a front-end engineer in Shenzhen."), ("assistant", "Nice to meet you!")]
        memory.add(said, session_id="monday", created_at="2024-01-01T09:00:00Z")
        memory.consolidate()
        assert "a front-end engineer in Shenzhen" in text(model.sent[0])
    with TieredMemory.open(tmp_path, user_id="alice", **options) as memory:
        (best,) = memory.search("front-end engineer", top_k=1, kinds=["fact", "profile"])
        assert best.record.text.startswith("Alice is a front-end engineer")
        assert best.record.made_by == "ScriptedModel"
        assert memory.stats().pending_vectors == 0
    assert {said[0][1], "front-end engineer"} <= set(embeddings.texts)
