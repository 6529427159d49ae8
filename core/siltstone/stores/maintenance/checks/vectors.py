"""The vectors of one user: each row, and whether it belongs to a document and to its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....reports import Finding, Severity
from ...encryption.cipher import Cipher
from ...files.vectorfile import examine, parts_of
from ..pinned import Pinned
from .documents import Documents


@dataclass
class Vectors:
    """What the vectors of a user are: how many fit, how many records have none, and the rows that are bad.

    ``highest``: the highest number that a row names; ``beyond``: how many rows name one behind the last document;
    ``foreign``: files of other embedding spaces.
    """

    rows: int = 0
    highest: int = 0
    beyond: int = 0
    pending: int = 0
    findings: list[Finding] = field(default_factory=list)
    bad: dict[str, list[int]] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)


class VectorCheck:
    """Compares the vectors of a user with the documents."""

    def __init__(self, folder: str, known: Documents, cipher: Cipher) -> None:
        """``folder`` is how the user's folder is named in findings."""
        self._folder, self._known, self._cipher = folder, known, cipher
        numbers, hashes = known.alive(known.last + 1)
        order = np.argsort(numbers[hashes != 0])
        self._numbers, self._hashes = numbers[hashes != 0][order], hashes[hashes != 0][order]
        self._has = np.zeros(len(order), np.bool_)
        self.found = Vectors()

    def see(self, files: Sequence[Pinned], space: int | None) -> Vectors:
        """Look at all files; ``space`` is the one of the store, ``None`` where that is not known."""
        if space is None:
            space = max((parts_of(each.name)[0] for each in files), default=0)
        width = min((dim for here, dim, _ in map(parts_of, (each.name for each in files)) if here == space), default=0)
        for each in files:
            if parts_of(each.name)[:2] == (space, width):
                self._file(each)
            else:
                self.found.foreign.append(each.name)
                self._tell("cosmetic", each, "it is of an embedding space that the store has left", "removes it")
        self.found.pending = int(np.count_nonzero(~self._has))
        return self.found

    def _file(self, each: Pinned) -> None:
        bad: list[int] = []
        torn = False
        for first, rows in examine(each, self._cipher):
            torn = rows.torn
            bad += (np.flatnonzero(rows.bad) + first).tolist()
            good = ~rows.bad & (rows.numbers > 0)
            self.found.highest = max(self.found.highest, int(rows.numbers[good].max(initial=0)))
            self.found.beyond += int(np.count_nonzero(rows.numbers[good] > self._known.last))
            if len(self._numbers):
                at = np.minimum(np.searchsorted(self._numbers, rows.numbers), len(self._numbers) - 1)
                fits = good & (self._numbers[at] == rows.numbers) & (self._hashes[at] == rows.hashes)
                self._has[at[fits]] = True
                self.found.rows += int(np.count_nonzero(fits))
        if bad:
            self.found.bad[each.name] = bad
            what = f"{len(bad)} of its vectors do not check"
            self._tell("recomputable", each, what, "blanks them: their texts are embedded anew")
        if torn:
            self.found.bad.setdefault(each.name, [])
            self._tell("cosmetic", each, "it ends with a row that was never finished", "blanks it")

    def _tell(self, severity: Severity, each: Pinned, what: str, repair: str) -> None:
        path = f"{self._folder}/{each.name}"
        self.found.findings.append(Finding(severity, path, what, repair, self._known.user_id))
