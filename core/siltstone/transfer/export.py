"""Writing a user's memory as one JSON Lines file; the format is in ``importers.lines``."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Sequence
from datetime import datetime
from typing import IO, Any

from ..importers.lines import FORMAT, VERSION, dump, to_line
from ..lifecycle.links import across, links
from ..protocols import Progress, Store, Stored
from ..records import HIDDEN_KINDS, message_id, replace, unique
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

    The memory as it was when the writing began, in one stream: O(items) time, and an id each of memory. A record that
    rests on something evicted says so, and what that rested on: where it is imported it goes with this. What the store
    reports of its health is logged as warnings: a damaged item cannot be in the file.
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
        sources = Sources(store, user_id)
        for versions in store.items(user_id):
            record = versions[-1].record
            if record is not None and record.kind in HIDDEN_KINDS:
                continue
            write(dump(to_line(*sources.told(versions))))
            done += 1
            if progress is not None:
                progress(done, max(done, total))
        write(dump({"end": done}))
    return done


class Sources:
    """What the items that pass by rest on in the end. The ids of those that passed are kept: O(items) memory."""

    def __init__(self, store: Store, user_id: str) -> None:
        self._store, self._user_id = store, user_id
        self._links = links(store, user_id)
        self._passed: set[str] = set()

    def told(self, versions: Sequence[Stored]) -> tuple[Sequence[Stored], tuple[str, ...]]:
        """Return the versions of an item, the newest with what its evicted sources rested on, and which are evicted."""
        *earlier, newest = versions
        record = newest.record if newest.message is None else None
        self._passed.add(newest.id)
        if record is None:
            return versions, ()
        before = {id for version in earlier if version.record is not None for id in version.record.source_ids}
        if all(message_id(id) in self._passed for id in (*record.source_ids, *before)):
            return versions, ()
        sources = across(self._links, record.source_ids)
        named = unique([*sources, *sorted(before)])
        there = self._store.fetch(self._user_id, named)
        evicted = tuple(id for id, stored in zip(named, there, strict=True) if stored is None)
        whole = dataclasses.replace(newest, record=replace(record, source_ids=sources))
        return [*earlier, whole], evicted
