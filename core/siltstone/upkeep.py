"""Operations on a whole embedded store, all users of it. Each opens what it needs, and takes a folder, not a memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .errors import NotFoundError
from .reports import AuditEntry
from .stores.files import auditfile, storefile
from .stores.files.codec import time_of


def audit(location: str | os.PathLike[str], *, user_id: str | None = None) -> Iterator[AuditEntry]:
    """Yield what was done to a store for good, oldest first; with ``user_id`` only what concerns that user.

    What was forgotten stays listed, by ids and counts, when the user is gone. ``NotFoundError`` where there is no
    store and none has left its audit.
    """
    root = _folder(location)
    if not storefile.exists(root) and not os.path.exists(os.path.join(root, auditfile.NAME)):
        raise NotFoundError(f"there is no store in {root}")
    return (
        AuditEntry(deed.action, time_of(deed.at), deed.user_id, deed.ids, deed.counts)
        for deed in auditfile.read(root)
        if user_id in (None, deed.user_id)
    )


def _folder(location: str | os.PathLike[str]) -> str:
    return os.path.abspath(Path(location).expanduser())
