"""Whether all documents of a user are gone, told by what is left: their vectors and their cache."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from ..files import cache, disk
from .pinned import Pinned

GONE: Final = "all documents of this user are gone, and what was made of them is still there: restore from a backup"
_AT_ONCE: Final = 50_000_000
"""Nanoseconds within which a first write that fails takes its documents back, behind its vectors."""


def is_bereft(folder: str, pinned: Sequence[Pinned]) -> bool:
    """Return whether there were documents, of which nothing is left. ``pinned``: the files of the user in ``folder``.

    A first write that was killed or failed is none of that: it leaves vectors beside an empty file that was made before
    them, and no cache.
    """
    documents = [each for each in pinned if each.is_documents]
    vectors = [each for each in pinned if each.name.startswith("vectors.") and each.size]
    if any(each.size for each in documents):
        return False
    if disk.exists(os.path.join(folder, cache.NAME)):
        return True
    if not vectors:
        return False
    written = max(each.seen[2] for each in vectors)
    return not documents or any(each.seen[2] > written + _AT_ONCE for each in documents)
