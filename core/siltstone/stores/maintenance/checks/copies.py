"""A backup: whether its manifest and all files that it names are what was written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from ....errors import StoreCorruptedError
from ....protocols import Progress
from ....reports import Finding, VerifyReport
from ...files import disk
from .. import manifest

_ANEW: Final = "the next backup into this folder copies it anew, if the store still has it"
_LEFT: Final = "it belongs to no backup: a run was killed, and the next one removes it"


def look_at_backup(target: str, *, progress: Progress | None = None) -> VerifyReport:
    """Return what there is to say of a backup; no key is needed, and nothing is changed. O(bytes)."""
    findings: list[Finding] = []
    users = 0
    try:
        entries = list(manifest.read(target))
    except StoreCorruptedError as exc:
        return VerifyReport(target, 0, 0, 0, 0, (Finding("lost", manifest.NAME, str(exc)),))
    for done, entry in enumerate(entries, 1):
        users += bool(entry.folder)
        for copy in entry.copies:
            if not manifest.is_whole(target, copy):
                there = disk.exists(os.path.join(target, copy.path))
                what = f"it is {'damaged' if there else 'missing'}: {_ANEW}"
                findings.append(Finding("lost", copy.path, what))
        if progress is not None:
            progress(done, len(entries))
    named = {copy.path for entry in entries for copy in entry.copies}
    findings += [Finding("cosmetic", name, _LEFT) for name in _files(target) if name not in named]
    return VerifyReport(target, users, 0, 0, 0, tuple(findings))


def _files(target: str) -> Iterator[str]:
    """Yield the files of all runs."""
    for folder, _, names in disk.walk(target):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), target)
            if path not in ("LOCK", manifest.NAME):
                yield path
