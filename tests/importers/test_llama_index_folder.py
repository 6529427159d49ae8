"""LlamaIndex's persisted stores become sessions and documents, with their vectors where these are known to fit.

``files/llama_chat_store.json`` was written by ``SimpleChatStore.persist`` of llama-index-core 0.14.25 with pydantic
2.13: with pydantic 2.14 that method raises.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

from siltstone import InvalidInputError, TieredMemory
from siltstone.importers.llama_messages import to_message
from siltstone.importers.llama_vectors import VECTORS, flat_rows
from siltstone.protocols import Floats
from siltstone.stores.ram import RamStore
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.text.guard import PREAMBLES, fence

CHATS = Path(__file__).parent / "files" / "llama_chat_store.json"


class CountingEmbedder(HashEmbedder):
    """An embedder that knows what it was asked."""

    def __init__(self, dim: int = 64, *, name: str = "hash") -> None:
        super().__init__(dim, name=name)
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return the rows, and remember the texts."""
        self.texts += texts
        return super().embed_documents(texts)


def opened(embedder: HashEmbedder | None = None, user: str = "alice") -> TieredMemory:
    """Return an empty memory."""
    return TieredMemory.open(
        ":memory:", user_id=user, embedder=embedder or CountingEmbedder(), token_counter=WordCounter()
    )


def storage(folder: Path, texts: Sequence[str], rows: Floats | None, **data: Any) -> Path:
    """Write a storage folder as LlamaIndex does, without LlamaIndex."""
    folder.mkdir()
    nodes = {
        f"n{number}": {"__data__": {"id_": f"n{number}", "metadata": {}, "text": text, **data}, "__type__": "1"}
        for number, text in enumerate(texts)
    }
    (folder / "docstore.json").write_text(json.dumps({"docstore/data": nodes}))
    numbered = {"nodes_dict": {str(number): f"n{number}" for number in range(len(texts))}}
    index = {"i": {"__type__": "vector_store", "__data__": json.dumps(numbered)}}
    (folder / "index_store.json").write_text(json.dumps({"index_store/data": index}))
    if rows is not None:
        made = faiss.IndexFlatIP(rows.shape[1])
        made.add(rows)
        faiss.write_index(made, str(folder / VECTORS))
    return folder


TEXTS = [f"Document {number}: {word}" for number, word in enumerate(["tea", "茶叶", "rivers", "西湖", "cellos"])]


# --- chats


def test_a_chat_store_becomes_sessions(tmp_path: Path) -> None:
    """One session per key, with roles, calls, pictures; as a file, and as a folder that holds it; once."""
    shutil.copy(CHATS, tmp_path / "chat_store.json")
    with opened() as memory:
        report = memory.import_from(tmp_path)
        assert (report.format, report.read, report.added) == ("llama-index", 6, 6)
        assert memory.import_from(CHATS).unchanged == 6
        assert [info.session_id for info in memory.sessions()] == ["monday", "星期二"]
        system, user, call, result, picture = memory.messages("monday")
        assert (system.role, (system.metadata or {})["llama_index"]["role"]) == ("system", "developer")
        assert (user.content, user.id) == ("我叫小林 🌊", "monday#2")
        assert (call.metadata or {})["tool_calls"] == [{"id": "c1", "name": "weather", "args": {"城市": "杭州"}}]
        assert (result.role, (result.metadata or {})["tool_call_id"]) == ("tool", "c1")
        assert (picture.metadata or {})["llama_index"]["blocks"][1]["block_type"] == "image"


def test_older_ways_of_writing_a_chat_store_are_read(tmp_path: Path) -> None:
    """JSON in JSON, and messages whose text is ``content``; what is no message is named."""
    chats = {"s": [{"role": "user", "content": "hi", "additional_kwargs": {}}, {"role": "robot"}, 5], "t": "?"}
    file = tmp_path / "old.json"
    file.write_text(json.dumps(json.dumps({"store": chats})))
    with opened() as memory:
        report = memory.import_from(file)
        assert (report.added, report.failed) == (1, 3)
        assert memory.messages("s")[0].content == "hi"
        assert "'s', message 2" in report.problems[0].where


# --- documents and vectors


def test_nodes_become_documents_once(tmp_path: Path) -> None:
    """A node's id, text and metadata are the record's; another text is another version; no text is a failure."""
    folder = storage(tmp_path / "x", [*TEXTS, " "], None, metadata={"file": "a.txt"})
    with opened() as memory:
        report = memory.import_from(folder)
        assert (report.added, report.failed) == (5, 1)
        record = memory.get("n1")
        assert (record.text, record.kind, record.metadata) == (TEXTS[1], "document", {"file": "a.txt"})  # type: ignore[union-attr]
        assert memory.import_from(folder).unchanged == 5
        (folder / "docstore.json").write_text((folder / "docstore.json").read_text().replace("tea", "coffee"))
        assert memory.import_from(folder / "docstore.json").updated == 1
        assert memory.history("n0")[0].text == TEXTS[0]
        memory.forget(ids=["n0"])
        assert memory.import_from(folder).skipped == 1


def test_a_document_does_not_replace_a_memory_of_the_same_id(tmp_path: Path) -> None:
    """An id that belongs to something the user stored is a failure."""
    with opened() as memory:
        memory.remember("mine", id="n0")
        report = memory.import_from(storage(tmp_path / "x", TEXTS, None))
        assert (report.added, report.failed) == (4, 1)
        assert memory.get("n0").text == "mine"  # type: ignore[union-attr]


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_vectors_of_the_same_space_are_taken_over(tmp_path: Path, scale: float) -> None:
    """A FAISS index whose vectors agree with this embedder saves embedding the rest, and the report says so."""
    model = CountingEmbedder()
    texts = [f"{text} {number}" for number in range(8) for text in TEXTS]
    folder = storage(tmp_path / "x", texts, HashEmbedder(64).embed_documents(texts) * np.float32(scale))
    with opened(model) as memory:
        assert "40 vectors of the source are of this memory's" in memory.import_from(folder).notes[0]
        assert len([text for text in model.texts if text in texts]) == 8
        assert memory.stats().pending_vectors == 0
        assert memory.search(texts[7], top_k=1)[0].record.text == texts[7]


def test_a_dry_run_compares_vectors_without_settling_the_space(tmp_path: Path) -> None:
    """A new store takes on no embedding space by a dry run, and the report is that of the import after it."""
    store = RamStore()
    folder = storage(tmp_path / "x", TEXTS, HashEmbedder(64).embed_documents(TEXTS))
    with TieredMemory.open(store, embedder=HashEmbedder(64), token_counter=WordCounter()) as memory:
        dry = memory.import_from(folder, dry_run=True)
        assert store.fingerprint() is None
        assert dataclasses.replace(dry, dry_run=False) == memory.import_from(folder)


@pytest.mark.parametrize("other", ["another model", "another width", "damaged", "another index", "nan"])
def test_vectors_that_may_be_of_another_space_are_left(tmp_path: Path, other: str) -> None:
    """Another embedder's vectors, damaged files and indexes of other kinds cost an embedding, never a wrong vector."""
    model = CountingEmbedder()
    source = HashEmbedder(32 if other == "another width" else 64, name="x" if other == "another model" else "hash")
    rows = source.embed_documents(TEXTS)
    if other == "nan":
        rows[:] = np.nan
    folder = storage(tmp_path / "x", TEXTS, rows)
    if other == "damaged":
        (folder / VECTORS).write_bytes((folder / VECTORS).read_bytes()[:-40])
    if other == "another index":
        made = faiss.IndexHNSWFlat(64, 8)
        made.add(rows)
        faiss.write_index(made, str(folder / VECTORS))
    with opened(model) as memory:
        report = memory.import_from(folder)
        assert report.added == 5
        assert set(model.texts) >= set(TEXTS)
        assert not any("taken over" in note for note in report.notes)
        if other.startswith("another ") and other != "another index":
            assert "5 vectors of the source could not be shown" in report.notes[0]


def test_a_text_embedded_with_its_metadata_is_embedded_anew(tmp_path: Path) -> None:
    """LlamaIndex puts metadata before the text that it embeds, unless told not to: that is another vector."""
    model = CountingEmbedder()
    rows = HashEmbedder(64).embed_documents(TEXTS)
    with opened(model) as memory:
        memory.import_from(storage(tmp_path / "x", TEXTS, rows, metadata={"title": "T"}))
        assert set(model.texts) >= set(TEXTS)


def test_flat_indexes_are_read_as_faiss_reads_them(tmp_path: Path) -> None:
    """Both kinds of flat index, empty ones too, give FAISS's own rows; anything shorter or longer gives none."""
    rows = np.random.default_rng(1).standard_normal((7, 5)).astype(np.float32)
    for index in (faiss.IndexFlatIP(5), faiss.IndexFlatL2(5)):
        index.add(rows)
        faiss.write_index(index, str(tmp_path / "index"))
        data = (tmp_path / "index").read_bytes()
        read = flat_rows(data)
        assert read is not None
        assert np.array_equal(read, rows)
        assert all(flat_rows(data[:cut]) is None for cut in range(len(data)))
        assert flat_rows(data + b"\0") is None
    faiss.write_index(faiss.IndexFlatIP(5), str(tmp_path / "index"))
    empty = flat_rows((tmp_path / "index").read_bytes())
    assert empty is not None
    assert empty.shape == (0, 5)


def test_a_folder_without_stores_is_refused(tmp_path: Path) -> None:
    """Neither docstore nor chat store, or one that is something else: nothing is imported."""
    with opened() as memory:
        with pytest.raises(InvalidInputError, match="none of the formats"):
            memory.import_from(tmp_path)
        with pytest.raises(InvalidInputError, match="has neither"):
            memory.import_from(tmp_path, format="llama-index")
        (tmp_path / "docstore.json").write_text("{}")
        with pytest.raises(InvalidInputError, match="no docstore"):
            memory.import_from(tmp_path)


# --- files by LlamaIndex itself


def test_the_reader_and_the_adapter_agree() -> None:
    """A message read from a file is what ``llama_index_siltstone`` stores of the same message."""
    pytest.importorskip("llama_index.core")
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock

    from llama_index_siltstone.messages import to_message as adapted

    stored = [value for chat in json.loads(CHATS.read_text(encoding="utf-8"))["store"].values() for value in chat]
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        *(ChatMessage.model_validate(value) for value in stored),
        ChatMessage(role="user", content="你好"),
        ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [call], "x": 1}),
        ChatMessage(role="assistant", blocks=[ThinkingBlock(content="hm"), TextBlock(text="a"), TextBlock(text="b")]),
        ChatMessage(role="model", blocks=[ToolCallBlock(tool_call_id="1", tool_name="f", tool_kwargs={"a": 1})]),
        ChatMessage(role="user", blocks=[ImageBlock(url="https://example.invalid/a.png")]),
        ChatMessage(role="tool", content="42", additional_kwargs={"tool_call_id": "1"}),
        ChatMessage(role="user", content=fence(f"{PREAMBLES[0]}\nx") + "\nMine"),
    ]
    for message in messages:
        value = json.loads(message.model_dump_json())
        assert dataclasses.replace(to_message(value, "s", "1"), id=None, session_id=None) == adapted(message)


def test_a_vector_memory_gives_its_messages_back(tmp_path: Path) -> None:
    """The turns that LlamaIndex's ``VectorMemory`` joins in a node are messages of one session again."""
    pytest.importorskip("llama_index.core")
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.memory import VectorMemory

    vector_memory = VectorMemory.from_defaults(embed_model=MockEmbedding(8))
    for role, text in (("user", "我叫小林"), ("assistant", "你好！"), ("user", "Where do I live?")):
        vector_memory.put(ChatMessage(role=role, content=text))
    vector_memory.vector_index.storage_context.persist(str(tmp_path / "wednesday"))
    with opened() as memory:
        assert memory.import_from(tmp_path / "wednesday").added == 3
        assert sorted(message.content for message in memory.messages("wednesday")) == sorted(
            ["我叫小林", "你好！", "Where do I live?"]
        )


@pytest.mark.parametrize("kind", ["simple", "faiss"])
def test_an_index_of_documents_is_read_with_its_vectors(tmp_path: Path, kind: str) -> None:
    """What ``VectorStoreIndex`` persists, with either vector store, comes in with ids, sources and vectors."""
    pytest.importorskip("llama_index.core")
    pytest.importorskip("llama_index.vector_stores.faiss")
    from llama_index.core import Document, StorageContext, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.vector_stores.faiss import FaissVectorStore

    class Hashes(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            vector: list[float] = HashEmbedder(64).embed_query(text).tolist()
            return vector

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    store = FaissVectorStore(faiss_index=faiss.IndexFlatL2(64)) if kind == "faiss" else None
    context = StorageContext.from_defaults(vector_store=store)
    documents = [Document(text=text, doc_id=f"d{number}") for number, text in enumerate(TEXTS)]
    VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=Hashes())
    context.persist(str(tmp_path / "storage"))
    model = CountingEmbedder()
    with opened(model) as memory:
        report = memory.import_from(tmp_path / "storage")
        assert (report.added, report.failed) == (5, 0)
        assert "5 vectors of the source are of this memory's" in report.notes[0]
        assert {record.text: record.metadata["llama_index"]["ref_doc_id"] for record in memory.records()} == {
            text: f"d{number}" for number, text in enumerate(TEXTS)
        }


def test_what_the_adapter_exported_comes_back_as_it_was(tmp_path: Path) -> None:
    """Turns with their messages and records with every field: the same in a fresh store, and unchanged in their own."""
    pytest.importorskip("llama_index.core")
    pytest.importorskip("llama_index.vector_stores.faiss")
    from llama_index.core.embeddings import MockEmbedding

    from llama_index_siltstone import export_faiss

    with opened() as one, opened(user="bob") as two:
        one.add([{"role": "user", "content": "我叫小林 🌊", "name": "小林", "metadata": {"n": [1]}}], session_id="一")
        one.add([("assistant", "你好！"), ("tool", "42")], session_id="一")
        (turn, _) = one.records()
        fact = one.remember(
            "住在杭州", source_ids=[turn.id], importance=0.5, pinned=True, occurred_at="2024-01-01T00:00:00Z"
        )
        one.update(fact, text="住在上海", pinned=True)
        assert export_faiss(one, tmp_path / "index", embed_model=MockEmbedding(8)) == 3
        report = two.import_from(tmp_path / "index")
        assert (report.added, report.skipped, report.failed) == (3, 0, 0)
        assert list(two.records()) == [dataclasses.replace(record, user_id="bob") for record in one.records()]
        assert two.messages("一") == [message for message in one.messages("一") if message.role != "tool"]
        assert one.import_from(tmp_path / "index").unchanged == 3
        assert two.import_from(tmp_path / "index").unchanged == 3
