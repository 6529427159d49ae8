"""Format 4: the audit keeps keyed hashes of ids that follow from words.

A line names in ``k`` what it does not name in ``i``. A release that reads up to format 3 would pass over these, and its
restore bring back what was forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from ..encryption.cipher import Keys
from ..files import auditfile, disk, storefile
from ..files.hashedids import hash_older
from .step import Step


def _touched(root: str) -> Iterable[str]:
    return [auditfile.NAME] if disk.exists(os.path.join(root, auditfile.NAME)) else []


def _apply(root: str, keys: Keys) -> None:
    hash_older(root, keys, storefile.settings(storefile.document(root), keys))


STEP: Final = Step(4, "hashed ids in the audit", touches=_touched, apply=_apply, readable=True)
