"""What a store takes on disk, by part."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ..files import disk
from ..files.layout import QUARANTINE, TRASH, segment_number

_PARTS: Final = {
    "STORE": "settings",
    "USAGE": "settings",
    "AUDIT": "audit",
    "KEYS": "keys",
    "KEY": "keys",
    "cache": "cache",
    QUARANTINE: QUARANTINE,
    TRASH: TRASH,
    "migration": "migration",
    "restoring": "restoring",
}
"""Parts by the name of a file, or of the folder in the store that it lies in."""


def sizes(root: str) -> Mapping[str, int]:
    """Return the bytes of each part of a store that has any: documents, vectors, cache, audit and so on. O(files)."""
    found: Counter[str] = Counter()
    for path in _files(root):
        try:
            found[_part(os.path.relpath(path, root))] += disk.size(path)
        except FileNotFoundError:  # replaced or removed meanwhile
            continue
    return {part: size for part, size in sorted(found.items(), key=lambda pair: -pair[1]) if size}


def _files(root: str) -> Iterator[str]:
    for folder, _, names in disk.walk(root):
        yield from (os.path.join(folder, name) for name in names)


def _part(path: str) -> str:
    top, name = path.split(os.sep)[0], os.path.basename(path)
    if top in _PARTS:
        return _PARTS[top]
    if segment_number(name) is not None:
        return "documents"
    return "vectors" if name.startswith("vectors.") else _PARTS.get(name, "other")
