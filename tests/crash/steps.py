"""The named steps: everything that the store does to its disk, as the audit event ``siltstone.disk`` tells it.

A step is what is done and the role of the file that it is done to. ``STEPS`` lists all that a store does in its
life: a step that is missing here, and one that no scene of the harness comes by, both fail the run.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Sequence

STEPS: dict[str, str] = {
    "mkdir": "store users group user unfinished trash KEYS key-group migration migration-folder backup-folder "
    "restoring restoring-folder quarantine quarantine-folder",
    "create": "mark restoring-file",
    "chmod": "AUDIT",
    "write": "STORE.new AUDIT AUDIT.new docs docs.new vectors cache.new KEY.new MASTER.new key.new copy.new "
    "DESTROYED MANIFEST.new backup-file restoring-file quarantine-file",
    "sync": "parent store STORE.new AUDIT AUDIT.new users group user docs docs.new vectors unfinished trash "
    "KEY.new KEYS key-group MASTER.new key.new migration migration-folder copy.new MANIFEST.new backup backup-folder "
    "backup-file restoring restoring-folder restoring-file quarantine quarantine-folder quarantine-file "
    "DESTROYED",
    "truncate": "STORE.new AUDIT AUDIT.new docs docs.new KEY.new MASTER.new key.new copy.new MANIFEST.new "
    "restoring-file",
    "rename": "STORE AUDIT docs cache KEY MASTER key removed-user copy MANIFEST users restoring-file",
    "unlink": "cache cache.new mark vectors key copy backup-file restoring-file removed-file "
    "removed-docs removed-vectors removed-cache removed-LOCK removed-KEY",
    "rmdir": "removed-user removed-folder migration migration-folder backup-folder restoring restoring-folder",
}
"""Actions and the roles of the files that they are done to."""

NAMED: frozenset[str] = frozenset(f"{action} {role}" for action, roles in STEPS.items() for role in roles.split())

_ROLES = (
    (r"\.", "store"),
    (r"STORE|STORE\.new|AUDIT|AUDIT\.new|LOCK|users|unfinished|trash|KEYS|migration", ""),
    (r"users/[^/]+", "group"),
    (r"users/[^/]+/[^/]+", "user"),
    (r"unfinished/[^/]+", "mark"),
    (r"KEYS/LOCK", "LOCK"),
    (r"KEYS/(MASTER|MASTER\.new|DESTROYED)", ""),
    (r"KEYS/[^/]{2}", "key-group"),
    (r"KEYS/[^/]{2}/\w+", "key"),
    (r"KEYS/[^/]{2}/\w+\.new", "key.new"),
    (r"trash/[^/]+", "removed-user"),
    (r"migration/.*\.jsonl", "copy"),
    (r"migration/.*\.jsonl\.new", "copy.new"),
    (r"migration/.*", "migration-folder"),
)
_ROLES_APART = (
    (r"\.\./backup", "backup"),
    (r"\.\./backup/(MANIFEST|MANIFEST\.new)", ""),
    (r"\.\./backup/\d{6}(/users(/..(/[^/.]+)?)?)?", "backup-folder"),
    (r"\.\./backup/.*", "backup-file"),
    (r"restoring", ""),
    (r"restoring/(before|users(/..(/[^/.]+)?)?|unfinished|trash)", "restoring-folder"),
    (r"restoring/.*", "restoring-file"),
    (r"trash/[^/]+/..(/[^/.]+)?", "removed-folder"),
    (r"trash/[^/]+/../.*", "removed-file"),
    (r"quarantine", ""),
    (r"quarantine/[^/]+", "quarantine-folder"),
    (r"quarantine/.*", "quarantine-file"),
)
"""Beside the store, and in it but for a while."""
_ROLES_OF_A_USER = (
    (r"docs\.\d{6}\.jsonl", "docs"),
    (r"docs\.\d{6}\.jsonl\.new", "docs.new"),
    (r"vectors\.\d{4}x\d+\.\d{6}\.f16", "vectors"),
    (r"cache|cache\.new|LOCK|KEY|KEY\.new", ""),
)


def role(root: str, path: str) -> str:
    """Return what a file is to the store at ``root``; its own path where that is not known."""
    if os.path.abspath(path) == os.path.dirname(root):
        return "parent"
    inner = os.path.relpath(path, root)
    if elsewhere := _match(_ROLES_APART, inner, otherwise=""):
        return elsewhere
    file = re.fullmatch(r"(users/[^/]+|trash)/[^/]+/([^/]+)", inner)
    if file is not None:
        return ("removed-" if file[1] == "trash" else "") + _match(_ROLES_OF_A_USER, file[2])
    return _match(_ROLES, inner)


def _match(roles: Sequence[tuple[str, str]], path: str, otherwise: str | None = None) -> str:
    """Return the role of the first pattern that fits; an empty role is the name itself."""
    found = (known or os.path.basename(path) for pattern, known in roles if re.fullmatch(pattern, path))
    return next(found, path if otherwise is None else otherwise)


def watch(root: str, tell: Callable[[str, str], None]) -> None:
    """Call ``tell`` with the moment (``before`` or ``after``) and the named step of each change below ``root``."""

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event == "siltstone.disk":
            moment, _, action = str(args[0]).partition(" ")
            tell(moment, f"{action} {role(root, str(args[1]))}")

    sys.addaudithook(hook)


def die_at(root: str, moment: str, step: str, times: int) -> None:
    """Be killed before or after a step, when it comes for the ``times``-th time."""
    left = times

    def tell(now: str, name: str) -> None:
        nonlocal left
        if (now, name) == (moment, step):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    watch(root, tell)
