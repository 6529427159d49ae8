"""Writing a user's memory as one JSON Lines file; the format is in ``importers.lines``."""

from __future__ import annotations

import logging
import os
from datetime import datetime
from typing import IO, Any

from ..importers.lines import FORMAT, VERSION, dump, to_line
from ..lifecycle.links import across, links
from ..protocols import Progress, Store
from ..records import HIDDEN_KINDS
from .written import written

logger = logging.getLogger("siltstone")


def export(
    store: Store,
    user_id: str,
    target: str | os.PathLike[str] | IO[Any],
    *,
    embedder: str,
    now: datetime,
    progress: Progress | None = None,
) -> int:
    """Write everything of a user to a path, or to an open binary or text file; return the number of items.

    The memory as it was when the writing began, in one stream: O(items) time, and a few numbers each of memory. A
    record that rests on one that was evicted names what that rested on, too, so that it goes with this where it is
    imported. What
    the store reports of its health is logged as warnings: a damaged item cannot be in the file.
    """
    with written(target, inside=store.location) as write:
        counts = store.stats(user_id)
        for remark in counts.health:
            logger.warning("exporting what can be read; the store reports: %s", remark)
        total = counts.messages + counts.records - counts.kinds.get("turn", 0)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "user_id": user_id,
            "embedder": embedder,
            "messages": counts.messages,
            "records": counts.records - counts.kinds.get("turn", 0),
            "sessions": counts.sessions,
            "exported_at": now.isoformat(),
        }
        write(dump(header))
        done = 0
        linked = links(store, user_id)
        for versions in store.items(user_id):
            record = versions[-1].record
            if record is not None and record.kind in HIDDEN_KINDS:
                continue
            write(dump(to_line(across(linked, versions))))
            done += 1
            if progress is not None:
                progress(done, max(done, total))
        write(dump({"end": done}))
    return done
