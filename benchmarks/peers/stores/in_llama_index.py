from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory, VectorMemory, VectorMemoryBlock
from llama_index.core.schema import TextNode
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters
from work import Turn

from .contract import CannotError, Found, Store


class Adapted(BaseEmbedding):
    """The shared embedder as LlamaIndex calls it."""

    _embedder: Any = PrivateAttr()

    def __init__(self, embedder: Any) -> None:
        super().__init__(model_name="shared", embed_batch_size=100)
        self._embedder = embedder

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(self._embedder.embed_documents([text])[0].tolist())

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [row.tolist() for row in self._embedder.embed_documents(texts)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(self._embedder.embed_query(query).tolist())

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embedding(text)


def _collection(folder: Path, name: str) -> Any:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder / "chroma"), settings=Settings(anonymized_telemetry=False))
    return client.get_or_create_collection(name, embedding_function=None)


class MemoryWithBlock(Store):
    """``Memory`` in SQLite, its ``VectorMemoryBlock`` in Chroma, both persistent, set as the guide's example sets them.

    A user is a ``session_id``, by which the block filters. What the recent history no longer holds goes to the block in
    nodes of several turns; both together are what a search finds, the history last, each turn by itself, so that a
    budget takes a part of a node. The block is asked with the question alone. Both are kinder than ``Memory.get``,
    where nodes are whole and the last five turns are the query.
    """

    documentation = "https://developers.llamaindex.ai/python/examples/memory/memory/"

    def __init__(self, folder: Path, embedder: Any) -> None:
        from llama_index.vector_stores.chroma import ChromaVectorStore

        self._vectors = ChromaVectorStore(chroma_collection=_collection(folder, "blocks"))
        self._chats = SQLAlchemyChatStore(
            table_name="memory", async_database_uri=f"sqlite+aiosqlite:///{folder / 'memory.sqlite'}"
        )
        self._loop = asyncio.new_event_loop()
        self._adapted = Adapted(embedder)
        self._memories: dict[str, Any] = {}

    def _of(self, user: str) -> Any:
        if user not in self._memories:
            vector_block = VectorMemoryBlock(
                name="vector_memory", vector_store=self._vectors, embed_model=self._adapted, similarity_top_k=20
            )  # one for each: a block keeps the filter of the first session that it was asked for
            self._memories[user] = Memory.from_defaults(
                session_id=user,
                token_limit=30_000,
                chat_history_token_ratio=0.02,
                token_flush_size=500,
                memory_blocks=[vector_block],
                insert_method="user",
                chat_store=self._chats,
            )
        return self._memories[user]

    def add(self, turn: Turn) -> None:
        self._loop.run_until_complete(self._of(turn.user).aput(_message(turn)))

    def fill(self, turns: Sequence[Turn]) -> None:
        said: dict[str, list[ChatMessage]] = {}
        for turn in turns:
            said.setdefault(turn.user, []).append(_message(turn))
        for user, messages in said.items():
            self._loop.run_until_complete(self._of(user).aput_messages(messages))

    def search(self, user: str, question: str, k: int) -> Found:
        return self._loop.run_until_complete(self._search(user, question, k))

    async def _search(self, user: str, question: str, k: int) -> Found:
        memory = self._of(user)
        memory.memory_blocks[0].similarity_top_k = k
        recalled = await memory.memory_blocks[0].aget([ChatMessage(role="user", content=question)], session_id=user)
        recent = [str(message.content) for message in await memory.aget_all(status=MessageStatus.ACTIVE)]
        nodes = [text for text in (recalled or "").split("\n\n") if text]
        return [turn for text in [*nodes, *reversed(recent)] for turn in _turns_in(text)]

    def update(self, turn: Turn) -> None:
        raise CannotError("Memory has no way to change a message")

    def delete(self, turns: Sequence[Turn]) -> None:
        raise CannotError("Memory can reset a whole session, whose block stays; it cannot delete a message")

    def rows(self) -> list[str]:
        return self._loop.run_until_complete(self._rows())

    async def _rows(self) -> list[str]:
        users = await self._chats.get_keys()
        said = [message for user in users for message in await self._of(user).aget_all()]
        return [row for message in said for row in _ROW.findall(str(message.content))]

    def close(self) -> None:
        self._loop.close()


def _message(turn: Turn) -> ChatMessage:
    return ChatMessage(role=turn.role, content=f"{turn.line}\n{turn.row}")


_ROW = re.compile(r"user-\d+:\d+(?::later)?")


def _turns_in(text: str) -> Found:
    return [([row], said) for row, said in zip(_ROW.findall(text), _ROW.split(text), strict=False)]


class OldVectorMemory(Store):
    """``VectorMemory`` over its default vector store, persisted after each turn; a user is a memory of their own.

    It takes no filter that it also writes. A user's turn and the answers to it are one node, which is deleted and added
    anew with each answer. Over Chroma, which its documentation names first, it fails at the first turn: "Value for
    metadata sub_dicts must be one of (str, int, float, None)".
    """

    documentation = "https://developers.llamaindex.ai/python/examples/agent/memory/vector_memory/"

    def __init__(self, folder: Path, embedder: Any) -> None:
        self._folder, self._adapted = folder / "memories", Adapted(embedder)
        self._memories: dict[str, Any] = {}

    def _of(self, user: str) -> Any:
        if user not in self._memories:
            memory = VectorMemory.from_defaults(embed_model=self._adapted, retriever_kwargs={"similarity_top_k": 20})
            if (self._folder / user).exists():
                context = StorageContext.from_defaults(persist_dir=str(self._folder / user))
                memory.vector_index = load_index_from_storage(context, embed_model=self._adapted)
            self._memories[user] = memory
        return self._memories[user]

    def add(self, turn: Turn) -> None:
        self._put(turn)
        self._save(turn.user)

    def fill(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            self._put(turn)
        for user in {turn.user for turn in turns}:
            self._save(user)

    def _put(self, turn: Turn) -> None:
        said = ChatMessage(role=turn.role, content=turn.line, additional_kwargs={"row": turn.row})
        self._of(turn.user).put(said)

    def _save(self, user: str) -> None:
        self._of(user).vector_index.storage_context.persist(str(self._folder / user))

    def search(self, user: str, question: str, k: int) -> Found:
        memory = self._of(user)
        memory.retriever_kwargs["similarity_top_k"] = k
        return [([str(said.additional_kwargs["row"])], str(said.content)) for said in memory.get(question)]

    def update(self, turn: Turn) -> None:
        raise CannotError("VectorMemory has no way to change a message")

    def delete(self, turns: Sequence[Turn]) -> None:
        raise CannotError("VectorMemory can be reset as a whole, it cannot delete a message")

    def rows(self) -> list[str]:
        found: list[str] = []
        for folder in sorted(self._folder.iterdir()):
            for node in self._of(folder.name).vector_index.docstore.docs.values():
                found += [said["additional_kwargs"]["row"] for said in node.metadata["sub_dicts"]]
        return found


class FaissAndDocstore(Store):
    """``FaissMapVectorStore``, which can delete, beside a ``SimpleDocumentStore``; both persisted after each change."""

    documentation = "https://developers.llamaindex.ai/python/framework/integrations/vector_stores/faissindexdemo/"

    def __init__(self, folder: Path, embedder: Any) -> None:
        import faiss
        from llama_index.vector_stores.faiss import FaissMapVectorStore

        self._folder, adapted = str(folder / "storage"), Adapted(embedder)
        if Path(self._folder).exists():
            vectors = FaissMapVectorStore.from_persist_dir(self._folder)
            context = StorageContext.from_defaults(vector_store=vectors, persist_dir=self._folder)
            self._index: Any = load_index_from_storage(context, embed_model=adapted)
        else:
            vectors = FaissMapVectorStore(faiss.IndexIDMap2(faiss.IndexFlatIP(embedder.dim)))
            context = StorageContext.from_defaults(vector_store=vectors)
            self._index = VectorStoreIndex([], storage_context=context, embed_model=adapted)

    def add(self, turn: Turn) -> None:
        self.fill([turn])

    def fill(self, turns: Sequence[Turn]) -> None:
        self._index.insert_nodes([_node(turn) for turn in turns])
        self._save()

    def _save(self) -> None:
        self._index.storage_context.persist(self._folder)

    def search(self, user: str, question: str, k: int) -> Found:
        only = MetadataFilters(filters=[ExactMatchFilter(key="user", value=user)])
        try:
            found = self._index.as_retriever(similarity_top_k=k, filters=only).retrieve(question)
        except ValueError as exc:
            raise CannotError(str(exc)) from exc
        return [([one.node.node_id], one.node.get_content()) for one in found]

    def update(self, turn: Turn) -> None:
        self._index.delete_nodes([turn.row], delete_from_docstore=True)
        self._index.insert_nodes([_node(turn)])
        self._save()

    def delete(self, turns: Sequence[Turn]) -> None:
        self._index.delete_nodes([turn.row for turn in turns], delete_from_docstore=True)
        self._save()

    def rows(self) -> list[str]:
        return list(self._index.docstore.docs)

    def texts(self) -> dict[str, str]:
        return {row: node.get_content() for row, node in self._index.docstore.docs.items()}


class Docstore(Store):
    """``persist`` after each addition; holds texts alone."""

    documentation = "https://developers.llamaindex.ai/python/framework/module_guides/storing/docstores/"

    def __init__(self, folder: Path, embedder: Any) -> None:
        self._path = str(folder / "docstore.json")
        there = Path(self._path).exists()
        self._store = SimpleDocumentStore.from_persist_path(self._path) if there else SimpleDocumentStore()

    def add(self, turn: Turn) -> None:
        self.fill([turn])

    def fill(self, turns: Sequence[Turn]) -> None:
        self._store.add_documents([_node(turn) for turn in turns])
        self._store.persist(self._path)

    def search(self, user: str, question: str, k: int) -> Found:
        raise CannotError("a document store is not searched")

    def update(self, turn: Turn) -> None:
        self.fill([turn])

    def delete(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            self._store.delete_document(turn.row)
        self._store.persist(self._path)

    def rows(self) -> list[str]:
        return list(self._store.docs)

    def texts(self) -> dict[str, str]:
        return {row: str(node.get_content()) for row, node in self._store.docs.items()}


def _node(turn: Turn) -> TextNode:
    about = {"user": turn.user, "session": turn.session, "role": turn.role, "time": turn.time}
    return TextNode(id_=turn.row, text=turn.line, metadata=about, excluded_embed_metadata_keys=list(about))
