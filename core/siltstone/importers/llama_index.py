"""Reads a persisted LlamaIndex folder: ``docstore.json`` with its vectors, ``chat_store.json``, or one of the files.

A ``SimpleChatStore`` is a session per key. The nodes of a ``SimpleDocumentStore`` become documents under their own
ids; those of a ``VectorMemory`` the messages that they hold; those that ``llama_index_siltstone.export_faiss`` wrote
the memories that they were. Messages have no ids and times in these files: they are known by their place
(``key#3``), and were said when the file was written last.
"""

from __future__ import annotations

import io
import itertools
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..errors import InvalidInputError
from ..protocols import Floats
from ..records import Record
from ..text.keys import dense_key
from .json_file import load
from .json_stream import Path, Piece, loads, pieces
from .lines import from_line
from .llama_messages import OWN, to_message
from .llama_vectors import vectors_of
from .parts import BENT, bent, share
from .reader import UNTIMED, Copied, Found, Items, Noted, Part, Reading, Said, Unreadable
from .source import Source
from .values import a_dict

DOCUMENTS: Final = "docstore.json"
CHATS: Final = "chat_store.json"
MEMORY: Final = "siltstone"
"""Metadata key of a node under which the adapter's export keeps the memory's own line."""
MADE_BY: Final = "import:llama-index"
_TEXT: Final = ("1", "4")  # types of nodes: text, document
_BEGINNING: Final = re.compile(rb'\s*"?\{\s*\\?"(store\\?"\s*:\s*\{|docstore/)')


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
        if not files:
            raise InvalidInputError(f"{source.name} has neither {DOCUMENTS} nor {CHATS}: nothing was imported")
        files = [_unquoted(file) for file in files]
        for file in files:
            if not any(key == "store" or key.startswith("docstore/") for key in a_dict(file.sample)):
                raise InvalidInputError(f"{file.name} is no docstore and no chat store: nothing was imported")
        vectors = vectors_of(source) if source.folder else {}
        parts = [_items(file, vectors, source.stem) for file in files]
        return Reading(itertools.chain(*parts), share=lambda: sum(map(share, files)) / len(files))

    def again(self, part: Part) -> Items:
        """Read a message or a node."""
        return _found(part, {})


def _unquoted(file: Source) -> Source:
    """Return the file; LlamaIndex before 0.11 wrote JSON in JSON."""
    if not file.head.lstrip().startswith(b'"'):
        return file
    inner = io.StringIO(str(load(file)))
    inner.name = file.name
    return Source(inner)


def _opens(path: Path, bracket: bytes) -> bool:
    return (
        not path
        or path in (("store",), ("docstore/data",))
        or (path[:1] == ("store",) and len(path) == 2 and bracket == b"[")
    )


def _items(file: Source, vectors: Mapping[str, Floats], session_id: str) -> Items:
    name = os.path.basename(file.name)
    with file.open() as opened:
        for piece in pieces(opened, _opens):
            part = _part(piece, name, session_id)
            if part is None:
                yield Found(name, Unreadable(piece.problem))
            elif part.about:
                yield from _found(part, vectors)


def _part(piece: Piece, name: str, session_id: str) -> Part | None:
    """Return the message or node of a piece, without ``about`` for what is neither; ``None`` for damage."""
    format, path = LlamaIndexFolder.format, piece.path
    if piece.raw is None:
        return None
    about: dict[str, Any] = {}
    where = name
    if path[:1] == ("store",) and len(path) > 1:
        key, number = str(path[1]), int(path[2]) + 1 if len(path) > 2 else 0
        where = f"{name}, {key!r}, message {number}" if number else f"{name}, {key!r}"
        about = {"session_id": key, "id": f"{key}#{number}", "is_list": bool(number)}
    elif path[:1] == ("docstore/data",) and len(path) == 2:
        where, about = f"{name}, node {path[1]!r}", {"session_id": session_id, "node": path[1]}
    if not about:
        return Part(format, where)
    try:
        return Part(format, where, about, loads(piece.raw))
    except InvalidInputError:
        return Part(format, where, about, text=piece.raw.decode("utf-8", "replace"))


def _found(part: Part, vectors: Mapping[str, Floats]) -> Items:
    try:
        value = part.value if part.text is None else loads(part.text)
        if "node" in part.about:
            found = _node(part.where, part.about["node"], value, vectors, part.about["session_id"])
        elif part.about["is_list"]:
            found = iter([_message(value, part.about["session_id"], part.about["id"], part.where)])
        else:
            raise InvalidInputError("it is no list of messages")
        for one in found:
            yield replace(one, part=part)
    except InvalidInputError as exc:
        yield Found(part.where, Unreadable(str(exc)), part)
    except BENT as exc:
        yield Found(part.where, Unreadable(bent(exc)), part)


def _message(value: Any, session_id: str, id: str, where: str) -> Found:
    try:
        return Found(where, Said(to_message(value, session_id, id)))
    except InvalidInputError as exc:
        return Found(where, Unreadable(str(exc)))


def _node(where: str, id: str, stored: Any, vectors: Mapping[str, Floats], session_id: str) -> Items:
    data = stored.get("__data__") if isinstance(stored, dict) else None
    text = _text(data) if isinstance(data, dict) else ""
    if not isinstance(data, dict) or stored.get("__type__") not in _TEXT or not text.strip():
        raise InvalidInputError("it is no node with a text")
    metadata = data.get("metadata") or {}
    if isinstance(messages := metadata.get("sub_dicts"), list):
        for number, value in enumerate(messages, 1):
            yield _message(value, session_id, f"{id}#{number}", f"{where}, message {number}")
    elif MEMORY in metadata:
        versions = from_line(metadata[MEMORY])
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
        id=id, text=text, kind="document", created_at=UNTIMED, stored_at=UNTIMED, made_by=MADE_BY, metadata=metadata
    )


def _vector(record: Record | None, data: Mapping[str, Any], vector: Floats | None) -> Floats | None:
    """Return a node's vector if it is one of the very text that siltstone embeds, without metadata before it."""
    if record is None or dense_key(record) != _text(data):
        return None
    shown = set(data.get("metadata") or {}) - set(data.get("excluded_embed_metadata_keys") or ())
    return None if shown else vector
