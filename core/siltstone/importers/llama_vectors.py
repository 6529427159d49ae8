"""The vectors of a LlamaIndex storage folder, by node id: ``FaissVectorStore``'s flat index, or ``SimpleVectorStore``.

A FAISS file has no checksum, and FAISS itself crashes on some damaged ones; a flat index is a header and an array,
and is read as that. Of an index of another kind no vectors are taken: the texts are embedded anew.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..protocols import Floats
from .json_file import load
from .source import Source

VECTORS: Final = "default__vector_store.json"
"""Where LlamaIndex puts its vectors: JSON, or in spite of the name what ``faiss.write_index`` writes."""
_INDEXES: Final = "index_store.json"
_FLAT: Final = (b"IxFI", b"IxF2")  # by inner product, by distance
_HEADER: Final = struct.Struct("<4siqqq?i")  # kind, width, rows, two unused, trained, metric
_COUNT: Final = struct.Struct("<Q")


def vectors_of(folder: Source) -> Mapping[str, Floats]:
    """Return the vectors of a storage folder by node id; none where there are none that can be read."""
    if VECTORS not in folder.names:
        return {}
    source = folder.member(VECTORS)
    if source.head.lstrip()[:1] == b"{":
        return _simple(load(source))
    rows = flat_rows(source.read())
    return {} if rows is None else _named(rows, folder)


def flat_rows(data: bytes) -> Floats | None:
    """Return the rows of a flat FAISS index, ``(n, dim)``; ``None`` for any other, and for one that is damaged."""
    if len(data) < _HEADER.size + _COUNT.size or data[:4] not in _FLAT:
        return None
    _, dim, count, _, _, _, _ = _HEADER.unpack_from(data)
    (size,) = _COUNT.unpack_from(data, _HEADER.size)
    start = _HEADER.size + _COUNT.size
    if dim < 1 or count < 0 or size != dim * count or len(data) != start + 4 * size:
        return None
    return np.frombuffer(data, np.float32, size, start).reshape(count, dim)


def _named(rows: Floats, folder: Source) -> dict[str, Floats]:
    """Return the rows by the nodes that the folder's only vector index numbers them by."""
    if _INDEXES not in folder.names:
        return {}
    stored = load(folder.member(_INDEXES))
    indexes = stored.get("index_store/data", {}) if isinstance(stored, dict) else {}
    found = [index for index in indexes.values() if isinstance(index, dict) and index.get("__type__") == "vector_store"]
    if len(found) != 1:
        return {}
    data: Any = found[0].get("__data__")
    nodes = (json.loads(data) if isinstance(data, str) else data or {}).get("nodes_dict", {})
    return {node: rows[int(row)] for row, node in nodes.items() if row.isdecimal() and int(row) < len(rows)}


def _simple(stored: Any) -> dict[str, Floats]:
    vectors = stored.get("embedding_dict", {}) if isinstance(stored, dict) else {}
    return {
        node: np.array(vector, np.float32)
        for node, vector in vectors.items()
        if isinstance(vector, list) and all(isinstance(value, (int, float)) for value in vector)
    }
