"""The named steps: everything that the store does to its disk, as the audit event ``siltstone.disk`` tells it.

A step is what is done and the role of the file that it is done to. ``STEPS`` lists all that a store does in its
life: a step that is missing here, and one that no scene of the harness comes by, both fail the run.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

STEPS: dict[str, str] = {
    "mkdir": "store users group user unfinished trash KEYS keys-group",
    "create": "mark",
    "write": "STORE.new AUDIT AUDIT.new docs docs.new vectors cache.new MASTER.new key.new KEY.new",
    "sync": (
        "parent store STORE.new AUDIT AUDIT.new users group user docs docs.new vectors unfinished trash "
        "KEYS MASTER.new keys-group key.new KEY.new"
    ),
    "truncate": "STORE.new AUDIT AUDIT.new docs docs.new MASTER.new key.new KEY.new",
    "rename": "STORE AUDIT docs cache removed-user MASTER key KEY",
    "unlink": "cache cache.new mark vectors removed-docs removed-vectors removed-cache removed-LOCK removed-KEY key",
    "rmdir": "removed-user",
}
"""Actions and the roles of the files that they are done to."""

NAMED: frozenset[str] = frozenset(f"{action} {role}" for action, roles in STEPS.items() for role in roles.split())

_IN_STORE = ("STORE", "STORE.new", "AUDIT", "AUDIT.new", "LOCK", "users", "unfinished", "trash", "KEYS")
_IN_USER = (
    (re.compile(r"docs\.\d{6}\.jsonl"), "docs"),
    (re.compile(r"docs\.\d{6}\.jsonl\.new"), "docs.new"),
    (re.compile(r"vectors\.\d{4}x\d+\.\d{6}\.f16"), "vectors"),
    (re.compile(r"cache"), "cache"),
    (re.compile(r"cache\.new"), "cache.new"),
    (re.compile(r"LOCK"), "LOCK"),
    (re.compile(r"KEY"), "KEY"),
    (re.compile(r"KEY\.new"), "KEY.new"),
)


def role(root: str, path: str) -> str:
    """Return what a file is to the store at ``root``; its own path where that is not known."""
    if os.path.abspath(path) == os.path.dirname(root):
        return "parent"
    match Path(os.path.relpath(path, root)).parts:
        case ():
            return "store"
        case (name,) if name in _IN_STORE:
            return name
        case ("users", _):
            return "group"
        case ("users", _, _):
            return "user"
        case ("users", _, _, name):
            return _in_user(name)
        case ("KEYS", name):
            return name if name.startswith("MASTER") else "keys-group"
        case ("KEYS", _, name):
            return "key.new" if name.endswith(".new") else "key"
        case ("unfinished", _):
            return "mark"
        case ("trash", _):
            return "removed-user"
        case ("trash", _, name):
            return f"removed-{_in_user(name)}"
    return os.path.relpath(path, root)


def _in_user(name: str) -> str:
    return next((known for pattern, known in _IN_USER if pattern.fullmatch(name)), name)


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
