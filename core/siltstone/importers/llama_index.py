"""Reads a persisted LlamaIndex folder: ``docstore.json`` with its vectors, ``chat_store.json``, or one of the files.

A ``SimpleChatStore`` is a session per key. The nodes of a ``SimpleDocumentStore`` become documents under their own
ids; those of a ``VectorMemory`` the messages that they hold; those that ``llama_index_siltstone.export_faiss`` wrote
the memories that they were. Messages have no ids and times in these files: they are known by their place
(``key#3``), and were said when the file was written last.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Final

from ..errors import InvalidInputError
from ..protocols import Floats
from ..records import Record
from ..text.keys import dense_key
from .json_file import load
from .lines import from_line
from .llama_messages import OWN, to_message
from .llama_vectors import vectors_of
from .reader import Copied, Found, Items, Noted, Reading, Said, Unreadable
from .source import Source

DOCUMENTS: Final = "docstore.json"
CHATS: Final = "chat_store.json"
MEMORY: Final = "siltstone"
"""Metadata key of a node under which the adapter's export keeps the memory's own line."""
MADE_BY: Final = "import:llama-index"
_TEXT: Final = ("1", "4")  # types of nodes: text, document
_BEGINNING: Final = re.compile(rb'\s*"?\{\s*\\?"(store\\?"\s*:\s*\{|docstore/)')
_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


class LlamaIndexFolder:
    """The reader of LlamaIndex's own stores."""

    format = "llama-index"

    def recognises(self, source: Source) -> bool:
        """Return whether the folder has one of the two files, or the file is one of them."""
        return bool(source.names & {DOCUMENTS, CHATS}) or _BEGINNING.match(source.head) is not None

    def read(self, source: Source) -> Reading:
        """Read the folder or file. Raises ``InvalidInputError`` where there is neither a docstore nor a chat store."""
        files = [source.member(name) for name in (CHATS, DOCUMENTS) if name in source.names]
        if not source.folder:
            files = [source]
        vectors = vectors_of(source) if source.folder else {}
        parts: list[Items] = []
        total = 0
        for file in files:
            stored = load(file)
            if isinstance(stored, str):  # LlamaIndex before 0.11 wrote JSON in JSON
                stored = load(Source(io.StringIO(stored)))
            if isinstance(stored, dict) and isinstance(chats := stored.get("store"), dict):
                parts.append(_chats(chats, file.name))
                total += sum(len(chat) for chat in chats.values() if isinstance(chat, list))
            elif isinstance(stored, dict) and isinstance(nodes := stored.get("docstore/data"), dict):
                parts.append(_nodes(nodes, vectors, source.stem, file.name))
                total += len(nodes)
            else:
                raise InvalidInputError(f"{file.name} is no docstore and no chat store: nothing was imported")
        if not parts:
            raise InvalidInputError(f"{source.name} has neither {DOCUMENTS} nor {CHATS}: nothing was imported")
        return Reading(itertools.chain(*parts), total)


def _chats(chats: Mapping[str, Any], name: str) -> Items:
    for session_id, chat in chats.items():
        if not isinstance(chat, list):
            yield Found(f"{name}, {session_id!r}", Unreadable("it is no list of messages"))
            continue
        for number, value in enumerate(chat, 1):
            yield _message(value, session_id, f"{session_id}#{number}", f"{name}, {session_id!r}, message {number}")


def _message(value: Any, session_id: str, id: str, where: str) -> Found:
    try:
        return Found(where, Said(to_message(value, session_id, id)))
    except InvalidInputError as exc:
        return Found(where, Unreadable(str(exc)))


def _nodes(nodes: Mapping[str, Any], vectors: Mapping[str, Floats], session_id: str, name: str) -> Items:
    for id, stored in nodes.items():
        where = f"{name}, node {id!r}"
        data = stored.get("__data__") if isinstance(stored, dict) else None
        text = _text(data) if isinstance(data, dict) else ""
        if not isinstance(data, dict) or stored.get("__type__") not in _TEXT or not text.strip():
            yield Found(where, Unreadable("it is no node with a text"))
            continue
        metadata = data.get("metadata") or {}
        if isinstance(messages := metadata.get("sub_dicts"), list):
            for number, value in enumerate(messages, 1):
                yield _message(value, session_id, f"{id}#{number}", f"{where}, message {number}")
        elif MEMORY in metadata:
            try:
                versions = from_line(metadata[MEMORY])
            except InvalidInputError as exc:
                yield Found(where, Unreadable(str(exc)))
            else:
                yield Found(where, Copied(versions, _vector(versions[-1].record, data, vectors.get(id))))
        else:
            record = _document(id, text, data)
            yield Found(where, Noted(record, _vector(record, data, vectors.get(id))))


def _text(data: Mapping[str, Any]) -> str:
    text = data.get("text") or (data.get("text_resource") or {}).get("text")
    return text if isinstance(text, str) else ""


def _document(id: str, text: str, data: Mapping[str, Any]) -> Record:
    metadata = dict(data.get("metadata") or {})
    source = (data.get("relationships") or {}).get("1")
    if isinstance(source, dict) and "node_id" in source:
        metadata[OWN] = {"ref_doc_id": source["node_id"]}
    return Record(
        id=id, text=text, kind="document", created_at=_NO_TIME, stored_at=_NO_TIME, made_by=MADE_BY, metadata=metadata
    )


def _vector(record: Record | None, data: Mapping[str, Any], vector: Floats | None) -> Floats | None:
    """Return a node's vector if it is one of the very text that siltstone embeds, without metadata before it."""
    if record is None or dense_key(record) != _text(data):
        return None
    shown = set(data.get("metadata") or {}) - set(data.get("excluded_embed_metadata_keys") or ())
    return None if shown else vector
