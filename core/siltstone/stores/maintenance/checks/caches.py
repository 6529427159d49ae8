"""The cache of one user: whether it checks, and whether it says what the documents say."""

from __future__ import annotations

import os

import numpy as np

from ....reports import Finding, Severity
from ....text import tokenize
from ...encryption.cipher import Cipher
from ...files import cache, disk
from ...files.headers import read_user
from ...files.log import Log
from ...table import snapshot
from ...table.rows import ALIVE
from ...table.table import Table
from .documents import Documents, Item


class CacheCheck:
    """Compares a cache with the documents as they are read. One that nobody would use is as good as none."""

    def __init__(self, root: str, folder: str, cipher: Cipher) -> None:
        """``segments``: those that the cache knows of."""
        self._path = f"{os.path.relpath(folder, root)}/{cache.NAME}"
        self._what = ""
        self._severity: Severity = "recomputable"
        self.segments: set[int] = set()
        self._wrong = 0
        self._table: Table | None = None
        if not disk.exists(os.path.join(folder, cache.NAME)):
            return
        found = cache.read(folder, cipher)
        if found is None:
            self._what = "it does not check"
            return
        values, arrays = found
        log = Log(folder, read_user(folder, cipher) or "", durable=False, writable=False, segment_size=0, cipher=cipher)
        self.segments = {segment[0] for segment in values["log"]["segments"]}
        if values["terms"] != tokenize.VERSION or not log.resume(values["log"]):
            self._what, self._severity = "it is of other documents than these, so that nobody uses it", "cosmetic"
            return
        self._next = values["log"]["next"]
        self._table = Table.empty("")
        snapshot.unpack(self._table, values, arrays)
        self._refused = set(self._table.refused)
        count = self._table.rows.count
        self._numbers = self._table.rows["number"][:count]
        self._alive = self._table.rows["died"][:count] == ALIVE
        self._postings = np.zeros(count, np.int64)
        for block in self._table.postings.snapshot().blocks:
            for some in block.rows():
                self._postings += np.bincount(some, minlength=count)[:count]

    def see(self, item: Item) -> None:
        """Compare one item."""
        if self._table is None or item.number >= self._next:
            return
        row = int(np.searchsorted(self._numbers, item.number))
        if row >= len(self._numbers) or self._numbers[row] != item.number or not self._alive[row]:
            return
        rows, cells = self._table.rows, item.row.cells
        same = all(rows[name][row] == cells[name] for name in ("text_hash", "version", "flags", "said_at", "lengths"))
        same = same and self._postings[row] == len(item.row.terms)
        self._wrong += not (same and self._table.ids.get([item.id]) == [row])

    def close(self, known: Documents) -> list[Finding]:
        """Return what is wrong with it."""
        if self._table is not None and self._next <= known.last + 1:
            alive, _ = known.alive(self._next)
            if not np.array_equal(np.sort(alive), self._numbers[self._alive]) or self._wrong:
                self._what = "it does not say what the documents say"
            elif not self._refused <= known.refused:
                self._what = "it refuses other messages than the documents do"
        if not self._what:
            return []
        return [Finding(self._severity, self._path, self._what, "removes it: it is made anew", known.user_id)]
