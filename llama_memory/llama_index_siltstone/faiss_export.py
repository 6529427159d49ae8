"""A user's memory as LlamaIndex's own files: a persisted ``FaissVectorStore`` with its docstore."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import faiss
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode
from llama_index.vector_stores.faiss import FaissVectorStore

from siltstone import InvalidInputError, Message, Record, TieredMemory
from siltstone.adapters import check_memory
from siltstone.importers.lines import to_line
from siltstone.importers.llama_index import MEMORY
from siltstone.protocols import Stored
from siltstone.records import message_id

from .retriever import to_node


def export_faiss(
    memory: TieredMemory,
    folder: str | os.PathLike[str],
    *,
    embed_model: BaseEmbedding,
    kinds: Sequence[str] | None = None,
) -> int:
    """Write the live records of a user to ``folder`` as a LlamaIndex storage folder; return how many.

    The vectors are ``embed_model``'s, which has to be the one that the index is queried with later; they have unit
    length and are compared by inner product, so that scores are cosines. ``kinds`` chooses among kinds of records,
    default all. ``folder`` appears when all of it is on disk. O(records) calls of the model, in its batches.

    Each node holds its memory in full, hidden from models, so that ``TieredMemory.import_from(folder)`` reads it back
    as it was, earlier versions aside; a record that rests on what is not in the folder stays out then.

    Raises ``InvalidInputError`` where ``folder`` exists and is not empty, or there is nothing to write.

    Example::

        export_faiss(memory, "./alice-index", embed_model=Settings.embed_model)
        vectors = FaissVectorStore.from_persist_dir("./alice-index")
        storage = StorageContext.from_defaults(vector_store=vectors, persist_dir="./alice-index")
        index = load_index_from_storage(storage)
    """
    check_memory(memory, "export_faiss")
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError(f"{target} exists and is not an empty folder: nothing was written; choose another")
    nodes = [_node(memory, record) for record in memory.records(kinds=kinds)]
    if not nodes:
        raise InvalidInputError(f"{memory.user_id!r} has no records to export: nothing was written")
    for node, vector in zip(nodes, embed_model.get_text_embedding_batch([n.text for n in nodes]), strict=True):
        length = sum(value * value for value in vector) ** 0.5 or 1.0
        node.embedding = [value / length for value in vector]
    store = FaissVectorStore(faiss_index=faiss.IndexFlatIP(len(nodes[0].embedding or ())))
    storage = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex(nodes, storage_context=storage, embed_model=embed_model)
    target.parent.mkdir(parents=True, exist_ok=True)
    half_done = tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        storage.persist(half_done)
        os.replace(half_done, target)
    except BaseException:
        shutil.rmtree(half_done, ignore_errors=True)
        raise
    return len(nodes)


def _node(memory: TieredMemory, record: Record) -> TextNode:
    """Return a record as a node that can become the record again."""
    message = memory.get(message_id(record.id)) if record.kind == "turn" else None
    stored = Stored(record.version, record)
    if isinstance(message, Message):
        stored = Stored(record.version, record, message, message.id)
    node = to_node(record)
    node.metadata[MEMORY] = to_line([stored])
    node.excluded_embed_metadata_keys.append(MEMORY)
    node.excluded_llm_metadata_keys.append(MEMORY)
    return node
