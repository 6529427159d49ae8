"""Documents that are not there, told by what is left of them: vectors, a cache, a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....reports import Finding
from ..pinned import Pinned
from .documents import Documents
from .vectors import Vectors


def check_missing(folder: str, pinned: Sequence[Pinned], known: Documents, found: Vectors) -> Iterator[Finding]:
    """Yield what is said of documents that are not there. ``folder`` is how the user's folder is named in findings."""
    names = f"{found.beyond} vectors name documents that are not there"
    if found.beyond and known.cut and found.highest > known.cut:  # the cut frame ends its commit: theirs came later
        what = f"{names}: the end of the documents was cut off, restore from a backup"
        yield Finding("lost", folder, what, "", known.user_id)
    elif found.beyond:
        what = (
            f"{names}: an add was killed before it returned, or the end of the documents was cut off and a backup has "
            "it; the next write clears these vectors"
        )
        yield Finding("cosmetic", folder, what, "", known.user_id)
    elif pinned and not any(each.is_documents for each in pinned):
        what = "a key and no documents: a first write was killed, or they are gone and a backup has them"
        yield Finding("cosmetic", folder, what, "", known.user_id)
