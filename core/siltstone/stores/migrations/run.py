"""Takes a store through the steps that it lacks; killed anywhere, the next opening for writing goes on.

``STORE`` says where a step is: from ``copying`` to ``applying`` to done, each written at once. It names the newer
format from the beginning, so that a release that knows only the older one keeps away. Until ``applying`` nothing
but copies has been made; from then on the copies are whole, and are put back before the step runs again. They are
gone when ``STORE`` names no step: nothing can be forgotten from a store while there are copies of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...errors import StoreVersionError
from ..encryption.cipher import NO_KEYS, Keys
from ..files import disk, storefile
from ..files.lock import FileLock
from .m0002_compaction import STEP as TO_2
from .m0003_forgetting import STEP as TO_3
from .m0004_hashed_ids import STEP as TO_4
from .step import Step

STEPS: Final[Sequence[Step]] = (TO_2, TO_3, TO_4)
FOLDER: Final = "migration"


def migrate(
    root: str, *, writable: bool, lock_timeout: float, keys: Keys = NO_KEYS, steps: Sequence[Step] = STEPS
) -> None:
    """Bring a store to the present format, if it is older; nothing is written unless ``writable``.

    O(bytes of the files that the steps touch). Raises ``StoreVersionError`` for one that cannot be read as it is,
    ``StoreLockedError`` while another process migrates it.
    """
    document = storefile.document(root)
    lacking = [step for step in steps if step.to > document["format"] or "step" in document]
    if not writable:
        if "step" in document or not all(step.readable for step in lacking):
            raise StoreVersionError(
                f"{root} has an older format and cannot be read before it is migrated; nothing was changed: open it "
                f"once without read_only=True, as siltstone consolidate --store {root} does"
            )
        return
    if lacking:
        with FileLock(os.path.join(root, "LOCK")).held(lock_timeout):
            for step in steps:
                _take(root, step, keys)
    _drop_copies(root)


def _take(root: str, step: Step, keys: Keys) -> None:
    """Take one step, from wherever it was left; nothing if it has been taken."""
    document = storefile.document(root)
    if document["format"] > step.to or (document["format"] == step.to and "step" not in document):
        return
    before = {**document, "format": step.to - 1}
    before.pop("step", None)
    copied = document.get("step") == "applying"
    try:
        if copied:
            _put_back(root)
        else:
            _mark(root, before, step.to, "copying")
            _copy(root, step)
            _mark(root, before, step.to, "applying")
            copied = True
        step.apply(root, keys)
        _mark(root, before, step.to, None)
    except Exception:  # nothing is left half done where the disk lets us
        if copied:
            _put_back(root)
        _drop_copies(root)
        storefile.replace(root, before)
        raise
    _drop_copies(root)


def _copy(root: str, step: Step) -> None:
    _drop_copies(root)
    for path in step.touches(root):
        copy = os.path.join(root, FOLDER, path)
        disk.make_folder(os.path.dirname(copy))
        disk.copy(os.path.join(root, path), copy)


def _mark(root: str, before: Mapping[str, Any], to: int, where: str | None) -> None:
    storefile.replace(root, {**before, "format": to, **({} if where is None else {"step": where})})


def _put_back(root: str) -> None:
    copies = os.path.join(root, FOLDER)
    for folder, _, names in disk.walk(copies):
        for name in names:
            path = os.path.join(folder, name)
            disk.copy(path, os.path.join(root, os.path.relpath(path, copies)))


def _drop_copies(root: str) -> None:
    if disk.is_folder(os.path.join(root, FOLDER)):
        disk.remove_tree(os.path.join(root, FOLDER))
